import type { ExecAnswer, ExecArgs, ToolVariant } from "../wire.ts";
import { ask, done, unexpected, type Outcome, type ToolProgram } from "./program.ts";

export interface Single {
  readonly card: ToolVariant;
  readonly args: ExecArgs;
  readonly exclusive?: string;
  /** The outcome of an answer; `undefined`: not the answer to this exec; `"wait"`: the result is still to come. */
  complete(answer: ExecAnswer, atMs: number): Outcome | "wait" | undefined;
  failed(text: string): ToolVariant;
}

/** The program of a tool that is one exec with one result. */
export function single({ card, args, exclusive, complete, failed }: Single): ToolProgram {
  const fail = (text: string): Outcome => ({ text, isError: true, tool: failed(text) });
  return {
    card,
    ...(exclusive !== undefined && { exclusive }),
    start: () => ask({ key: "exec", args }),
    answer(_key, answer, atMs) {
      const outcome = complete(answer, atMs);
      if (outcome === "wait") return { kind: "stay" };
      return done(outcome ?? fail(unexpected(answer)));
    },
    failed: (_key, why) => done(fail(why)),
    reissue: (open) => open,
    interrupted: (_reason, text) => fail(text),
  };
}
