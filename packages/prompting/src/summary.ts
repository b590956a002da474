/** A model call without tools: a system text and one user message. */
export interface PlainPrompt {
  readonly system: string;
  readonly user: string;
}

const SUMMARY_SYSTEM =
  "You write the memory of a coding agent whose conversation has become too long. What you write replaces the conversation: the agent will know of it only what stands in your text. Call no tools and do not go on with the task.";

const SUMMARY_TASK = `Summarise the conversation above for the agent that will go on with it. Keep facts exact: paths, names, commands, numbers, error messages, decisions and their reasons. Leave out what no longer matters. Write under these headings, and leave out a heading that has nothing under it:

## Request
What the user wants, in their own words where the wording matters, with every later change of mind and every instruction that still holds.

## State
What has been done and what came of it. Files created, changed or deleted, each with what was changed. What has been checked and how.

## Findings
What was learned about the code, the environment and the cause of problems, with places. Attempts that failed, and why.

## Open
What remains to be done, in order, and the very next step. Questions that are open to the user.`;

/** The prompt of a compaction: a system text, and what stands behind the conversation in its last, a user's, message. */
export function compactionPrompt(): { readonly system: string; readonly instruction: string } {
  return { system: SUMMARY_SYSTEM, instruction: SUMMARY_TASK };
}

/** What must survive a compaction word for word. */
export interface Survivors {
  readonly goal?: string;
  readonly plan?: string;
  readonly todos?: readonly { readonly content: string; readonly status: string }[];
}

/** The summary as the agent reads it, with goal, plan and to-dos behind it as they are. */
export function summaryText(summary: string, survivors: Survivors = {}): string {
  const todos = (survivors.todos ?? []).map((todo) => `- [${todo.status}] ${todo.content}`).join("\n");
  return [
    `<summary>\nThe conversation before this point, summarised:\n\n${summary.trim()}\n</summary>`,
    ...(survivors.goal === undefined ? [] : [`<goal>\n${survivors.goal.trim()}\n</goal>`]),
    ...(survivors.plan === undefined ? [] : [`<plan>\n${survivors.plan.trim()}\n</plan>`]),
    ...(todos === "" ? [] : [`<todos>\n${todos}\n</todos>`]),
  ].join("\n\n");
}
