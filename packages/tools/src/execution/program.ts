import type { InterruptReason } from "@chartroom/domain";
import type { agent, ExecAnswer, ExecArgs, ToolVariant } from "../wire.ts";

/** An exec that the client is to carry out. `key` is unique within the call. */
export interface Request {
  readonly key: string;
  readonly args: ExecArgs;
}

export interface Picture {
  readonly data: Uint8Array;
  readonly mimeType: string;
  readonly name?: string;
}

/** How a call ended. */
export interface Outcome {
  /** For the model; complete, the projection cuts it. */
  readonly text: string;
  readonly isError: boolean;
  /** For the card: arguments and result. */
  readonly tool: ToolVariant;
  readonly picture?: Picture;
}

/**
 * What an answer leads to. `stay`: the request goes on (a stream's event); `answered`: it is done and others are still open;
 * `ask`: it is done and these follow; `done`: the call has ended.
 */
export type Step =
  | {
      readonly kind: "stay";
      readonly deltas?: readonly agent.ToolCallDelta["delta"][];
      readonly hooks?: readonly agent.HookAdditionalContext[];
    }
  | { readonly kind: "answered" }
  | { readonly kind: "ask"; readonly requests: readonly Request[] }
  | { readonly kind: "done"; readonly outcome: Outcome };

/**
 * What is particular to one tool, as a machine over answers: no ids of a stream, no settling, no frames; those are the
 * execution's. It is asked only about requests that are open.
 */
export interface ToolProgram {
  /** The tool case with all its arguments, without a result. */
  readonly card: ToolVariant;
  /** What no other call may change at the same time. */
  readonly exclusive?: string;
  start(atMs: number): Extract<Step, { kind: "ask" | "done" }>;
  answer(key: string, answer: ExecAnswer, atMs: number): Step;
  /** The request ended without an answer: thrown, closed, or not understood. `why` is for the model. */
  failed(key: string, why: string, atMs: number): Step;
  /** What to ask on a new stream for what is open on the old one; they replace it. */
  reissue(open: readonly Request[]): readonly Request[];
  /** The call is closed from outside. */
  interrupted(reason: InterruptReason, text: string, atMs: number): Outcome;
}

export const ask = (...requests: Request[]) => ({ kind: "ask", requests }) as const;
export const done = (outcome: Outcome) => ({ kind: "done", outcome }) as const;

/** The client answered with another kind of result than it was asked for, or with none that is known. */
export function unexpected(answer: ExecAnswer): string {
  return answer.case === undefined
    ? "The client answered without a result that this server understands."
    : `The client answered with ${answer.case}, in which there is no result for this tool.`;
}
