import type { StreamEnd } from "@chartroom/protocol";
import type { ClientFailure } from "./failure.ts";

/** One attempt of one run (wire section 2.5). */
export interface RunCall {
  readonly requestId: string;
  /** First request id of a chain of retries; left out when it is this very one. */
  readonly originalRequestId: string;
  /** Only on a subagent's own run. */
  readonly parent?: { readonly requestId: string; readonly toolCallId: string };
}

/** What a run stream brings, in this order: `opened` once, messages, then exactly one `end` or `lost`. */
export type Inbound =
  | { readonly kind: "opened" }
  /** A serialized `AgentServerMessage`. */
  | { readonly kind: "message"; readonly bytes: Uint8Array }
  | { readonly kind: "end"; readonly end: StreamEnd }
  | { readonly kind: "lost"; readonly failure: ClientFailure };

export interface RunStream {
  /** Sends a serialized `AgentClientMessage`; what comes after the end is dropped. */
  send(message: Uint8Array): void;
  /** Ends the stream on this side; nothing is brought any more. */
  close(): void;
}

/** How this client reaches its server. */
export interface Transport {
  open(call: RunCall, listener: (event: Inbound) => void): RunStream;
  /** A unary call with a bare message in and out; `path` is `/<package>.<Service>/<Method>`. */
  unary(path: string, message: Uint8Array): Promise<UnaryAnswer>;
  close(): void;
}

export type UnaryAnswer =
  | { readonly ok: true; readonly message: Uint8Array }
  | { readonly ok: false; readonly failure: ClientFailure };

export interface TransportOptions {
  /** `http://host:port` or `https://host:port`. */
  readonly url: URL;
  readonly token: string | undefined;
  /** gRPC-Web in place of Connect (wire section 2.4). */
  readonly grpcWeb: boolean;
  /** PEM of the authority that signed the server's certificate. */
  readonly ca: string | undefined;
  /** `x-session-id`. */
  readonly sessionId: string;
}

export const RUN = "/agent.v1.AgentService/Run";
export const RUN_SSE = "/agent.v1.AgentService/RunSSE";
export const BIDI_APPEND = "/aiserver.v1.BidiService/BidiAppend";
export const UNARY_TIMEOUT_MS = 20_000;
