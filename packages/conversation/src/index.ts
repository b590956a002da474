export { ConversationService } from "./conversations.ts";
export type { ConversationDeps } from "./deps.ts";
export { failure } from "./failures.ts";
export { type ConversationSettings, defaultSettings, settingsProblems } from "./settings.ts";
