import type {
  AgentServerMessage,
  ConversationStateStructure,
  ExecServerMessage,
  InteractionQuery,
  KvServerMessage,
} from "@chartroom/protocols/agent";
import type { ClientFailure } from "../transport/failure.ts";
import type { SentMessage, TurnEvent, TurnResult, TurnUsage } from "./events.ts";
import { FRESH, type Replay } from "./replay.ts";

/** Time limits and counts of a turn (wire sections 7.1 and 11); milliseconds. */
export interface TurnLimits {
  /** Silence after which a hint is given. */
  readonly adviseMs: number;
  /** Silence after which the stream counts as broken. */
  readonly stallMs: number;
  /** How long the end of the stream may follow the end of the turn. */
  readonly endMs: number;
  /** How long a cancel may take. */
  readonly cancelMs: number;
  readonly baseDelayMs: number;
  readonly maxDelayMs: number;
  /** Part of the delay that chance adds at most. */
  readonly jitter: number;
  readonly retries: number;
  /** Retries while the server was never reached. */
  readonly connectRetries: number;
}

export const DEFAULT_LIMITS: TurnLimits = {
  adviseMs: 20_000,
  stallMs: 30_000,
  endMs: 10_000,
  cancelMs: 10_000,
  baseDelayMs: 1_000,
  maxDelayMs: 60_000,
  jitter: 0.2,
  retries: 10,
  connectRetries: 2,
};

export type Phase =
  /** A stream was asked for, nothing came yet. */
  | "opening"
  | "streaming"
  /** The turn has ended, the end of the stream is due. */
  | "ending"
  /** Between two attempts. */
  | "waiting"
  | "done";

export interface TurnState {
  readonly phase: Phase;
  /** Attempts begun. */
  readonly attempts: number;
  /** Failures since the last checkpoint; the exponent of the delay. */
  readonly failures: number;
  /** The server was reached at least once. */
  readonly reached: boolean;
  /** The run was asked for on the present stream, so that more can be said on it. */
  readonly live: boolean;
  /** A checkpoint of this turn is held that a retry can resume from. */
  readonly resumable: boolean;
  readonly cancelling: boolean;
  /** When the last frame came; once the end is near, when that began. */
  readonly since: number;
  readonly advised: boolean;
  readonly text: string;
  readonly tokens: number;
  readonly usage: TurnUsage;
  readonly replay: Replay;
  /** Sent on the live stream, not yet part of the conversation. */
  readonly pending: readonly SentMessage[];
}

export function initialState(resumable: boolean, now: number): TurnState {
  return {
    phase: "waiting",
    attempts: 0,
    failures: 0,
    reached: false,
    live: false,
    resumable,
    cancelling: false,
    since: now,
    advised: false,
    text: "",
    tokens: 0,
    usage: {},
    replay: FRESH,
    pending: [],
  };
}

/** What happens to a turn. */
export type TurnInput =
  /** Begin, or the delay before a retry is over. */
  | { readonly type: "open" }
  /** The run request went out on the new stream. */
  | { readonly type: "requested" }
  | { readonly type: "opened" }
  | { readonly type: "message"; readonly message: AgentServerMessage; readonly checkpoint: Uint8Array | undefined }
  | { readonly type: "ended" }
  | { readonly type: "failed"; readonly failure: ClientFailure }
  /** Time passes; comes every second. */
  | { readonly type: "tick" }
  | { readonly type: "say"; readonly message: SentMessage }
  | { readonly type: "cancel"; readonly reason: string }
  /** Stop at once, without a word to the server. */
  | { readonly type: "leave" };

/** What must be done, in this order. */
export type TurnEffect =
  | { readonly type: "open"; readonly from: "message" | "resume" }
  | { readonly type: "close" }
  | { readonly type: "wait"; readonly ms: number }
  | { readonly type: "say"; readonly message: SentMessage }
  | { readonly type: "cancel"; readonly reason: string }
  | { readonly type: "exec"; readonly request: ExecServerMessage }
  | { readonly type: "abortExec"; readonly id: number }
  | { readonly type: "settleExec"; readonly toolCallId: string }
  | { readonly type: "kv"; readonly request: KvServerMessage }
  | { readonly type: "query"; readonly query: InteractionQuery }
  | {
      readonly type: "checkpoint";
      readonly bytes: Uint8Array;
      readonly state: ConversationStateStructure;
      /** A retry of this turn may resume from it. */
      readonly resumable: boolean;
    }
  | { readonly type: "emit"; readonly event: TurnEvent }
  | { readonly type: "finish"; readonly result: Omit<TurnResult, "conversation" | "requestId"> };

export interface Step {
  readonly state: TurnState;
  readonly effects: readonly TurnEffect[];
}
