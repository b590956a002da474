export { ConversationService } from "./conversations.ts";
export type { ConversationDeps } from "./deps.ts";
export { failure } from "./failures.ts";
export { faultText } from "./fault-text.ts";
export { replay, type ReplayDifference, type ReplayResult } from "./activation/replay.ts";
export { type ConversationSettings, defaultSettings, settingsProblems } from "./settings.ts";
