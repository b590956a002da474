import type { AgentMode } from "@chartroom/domain";

export interface TurnNote {
  /** When the turn began, as text at the user's place: `2026-11-30 23:59`. Frozen with the message. */
  readonly time?: string;
  readonly mode: AgentMode;
  /** The mode of the turn before, when it was another. */
  readonly previousMode?: AgentMode;
  /** Further remarks, one a line. */
  readonly remarks?: readonly string[];
}

/** The runtime message of a turn; stored like any other message, so that it never changes afterwards. */
export function turnText(note: TurnNote): string {
  const changed = note.previousMode !== undefined && note.previousMode !== note.mode;
  const lines = [
    ...(note.time === undefined ? [] : [`Time: ${note.time}`]),
    `Mode: ${note.mode}`,
    ...(changed ? [`The user has switched from ${note.previousMode} mode to ${note.mode} mode.`] : []),
    ...(note.remarks ?? []),
  ];
  return ["<turn>", ...lines, "</turn>"].join("\n");
}

/** Said when a Run goes on after an answer that was cut off. */
export const RESUME_TEXT =
  "<turn>\nThe answer above was cut off. Go on with the task where it stopped, without repeating what is there already.\n</turn>";

/** Said when the user lets a plan be carried out. */
export function planText(plan: string, path: string | undefined): string {
  const where = path === undefined ? "" : ` path="${path}"`;
  return `<plan${where}>\n${plan.trim()}\n</plan>\n\nCarry out this plan.`;
}
