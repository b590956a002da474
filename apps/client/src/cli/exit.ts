import type { TurnResult } from "../session/events.ts";

/** Exit codes of the program (docs/client.md). */
export const EXIT = { ok: 0, failed: 1, usage: 2, unreachable: 3, cancelled: 130 } as const;

export function exitCodeOf({ outcome, error }: Pick<TurnResult, "outcome" | "error">): number {
  if (outcome === "completed") return EXIT.ok;
  if (outcome === "cancelled") return EXIT.cancelled;
  return error?.kind === "unreachable" ? EXIT.unreachable : EXIT.failed;
}
