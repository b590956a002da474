import type { HandlerContext, MethodImpl } from "@connectrpc/connect";
import type { Failure, Principal } from "@chartroom/domain";
import type { MessageInitShape, MessageShape, DescMessage } from "@chartroom/protocol";

type Method = HandlerContext["method"];
type MethodOf<Kind extends Method["methodKind"], I extends DescMessage, O extends DescMessage> = Method & {
  readonly methodKind: Kind;
  readonly input: I;
  readonly output: O;
};

/** What a handler knows of a call. */
export interface Call {
  readonly principal: Principal;
  /** Aborted when the caller is gone, the call's time is over, or the server closes. */
  readonly signal: AbortSignal;
  /** Gives a request header by its lower-case name. */
  readonly header: (name: string) => string | undefined;
  /** Scheme, host and port under which the caller reached the server; behind a proxy, what the proxy used. */
  readonly origin: string;
}

/** A served call, as the gateway registers it. */
export interface Rpc {
  readonly method: Method;
  /** `call`: makes what a handler knows from the library's own context. */
  readonly implement: (call: (context: HandlerContext) => Call) => MethodImpl<Method>;
}

/** The one error of a handler: the caller gets `failure` with its Connect code and `ErrorDetails`. Anything else is `internal`. */
export class CallError extends Error {
  readonly failure: Failure;
  constructor(failure: Failure, cause?: unknown) {
    super(failure.title, { cause });
    this.name = "CallError";
    this.failure = failure;
  }
}

/** Serves a unary call, in protobuf and JSON, over Connect, gRPC-Web and gRPC. */
export function unary<I extends DescMessage, O extends DescMessage>(
  method: MethodOf<"unary", I, O>,
  handler: (request: MessageShape<I>, call: Call) => MessageInitShape<O> | Promise<MessageInitShape<O>>,
): Rpc {
  return {
    method,
    implement: (call) =>
      ((request: MessageShape<I>, context: HandlerContext) => handler(request, call(context))) as MethodImpl<Method>,
  };
}

/** Serves a call with one request and a stream of answers. */
export function serverStream<I extends DescMessage, O extends DescMessage>(
  method: MethodOf<"server_streaming", I, O>,
  handler: (request: MessageShape<I>, call: Call) => AsyncIterable<MessageInitShape<O>>,
): Rpc {
  return {
    method,
    implement: (call) =>
      ((request: MessageShape<I>, context: HandlerContext) => handler(request, call(context))) as MethodImpl<Method>,
  };
}
