import type { HistoryId } from "@chartroom/domain";

/** What can be wrong with a history. */
export type ProblemKind =
  | "orphan-result"
  | "duplicate-result"
  | "missing-result"
  | "duplicate-call-id"
  | "unsafe-call-id"
  | "unsafe-tool-name"
  | "invalid-arguments"
  | "empty-message"
  | "thinking-only"
  | "missing-thinking"
  | "late-system"
  | "no-first-user"
  | "broken-text"
  | "missing-image"
  | "text-after-call"
  | "unreadable-part"
  | "unreadable-message"
  | "unreadable-pending-call";

/** One finding: where it is, and what projection does about it. The rows stay as they are. */
export interface Problem {
  readonly kind: ProblemKind;
  readonly message: HistoryId;
  /** The call concerned, where it is one. */
  readonly call?: string;
}

/** What projection (or, for the last four, import) does about each kind, in words for people. */
export const HEALING: Record<ProblemKind, string> = {
  "orphan-result": "A tool result without its call is shown to the model as plain text.",
  "duplicate-result": "Only the first result of a call is used.",
  "missing-result": "A call without a result is closed with a note that none was recorded.",
  "duplicate-call-id": "A call id that was used before gets a number behind it, in the call and in its result.",
  "unsafe-call-id":
    "A call id that a provider would refuse is replaced by a digest of it, in the call and in its result.",
  "unsafe-tool-name": "Characters that a provider would refuse in a tool's name become underscores.",
  "invalid-arguments": "Arguments that are not a JSON object are wrapped into one, as text.",
  "empty-message": "A message without content is left out.",
  "thinking-only": "A message that holds nothing but reasoning gets a short text behind it.",
  "missing-thinking": "A message without reasoning gets an empty reasoning block, because the vendor demands one.",
  "late-system": "A system message behind the first ones is shown as a note.",
  "no-first-user": "A history that does not begin with the user gets a short message of the user before it.",
  "broken-text": "Halves of surrogate pairs become U+FFFD.",
  "missing-image": "A picture that is not stored is replaced by a note.",
  "text-after-call": "Text that came behind a tool call is read as if it had come before.",
  "unreadable-part": "A part of a kind that is not known is left out.",
  "unreadable-message": "A message that cannot be read is left out.",
  "unreadable-pending-call": "A pending call that cannot be read is left out.",
};
