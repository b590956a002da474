export { type ContextOptions, renderContext } from "./context.ts";
export { compactionPrompt, frameSummary, type PlainPrompt, type Survivors } from "./summary.ts";
export { PROMPT_VERSION, type PromptVersion, systemPrompt, type SystemPromptInput } from "./system.ts";
export { cleanTitle, titlePrompt } from "./title.ts";
export { renderPlanExecution, renderTurn, RESUME_TEXT, type TurnNote } from "./turn.ts";
export { renderCompletion, renderInjection, renderUserMessage } from "./user.ts";
