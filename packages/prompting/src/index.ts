export { type ContextOptions, contextSections } from "./context.ts";
export { compactionPrompt, type PlainPrompt, summaryText, type Survivors } from "./summary.ts";
export { PROMPT_VERSION, type PromptVersion, systemPrompt, type SystemPromptInput } from "./system.ts";
export { cleanTitle, titlePrompt } from "./title.ts";
export { planText, RESUME_TEXT, turnText, type TurnNote } from "./turn.ts";
export { completionText, injectionParts, userParts } from "./user.ts";
