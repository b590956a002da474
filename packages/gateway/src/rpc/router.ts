import {
  Code,
  ConnectError,
  createConnectRouter,
  createContextKey,
  createContextValues,
  type HandlerContext,
  type Interceptor,
} from "@connectrpc/connect";
import {
  compressionGzip,
  universalRequestFromNodeRequest,
  universalResponseToNodeResponse,
} from "@connectrpc/connect-node";
import type { Principal } from "@chartroom/domain";
import type { HeaderSource } from "@chartroom/protocol";
import type { Authenticate } from "../agent/ports.ts";
import type { Call, Rpc } from "../face/rpc.ts";
import { answer } from "../http/answer.ts";
import { headerSource, type HttpHandler, ignoreErrors } from "../http/types.ts";
import { fromThrown, toConnectError } from "./failure.ts";

export interface RpcRouter {
  /** The handler of a path, when a call is served under it. */
  find(path: string): HttpHandler | undefined;
}

const callerKey = createContextKey<Principal | undefined>(undefined);
/** Those of the request itself: `Headers` has none of HTTP/2's pseudo-headers, and throws when it is asked for one. */
const headersKey = createContextKey<HeaderSource>(() => undefined);

export interface RpcPorts {
  readonly authenticate: Authenticate;
  /** Bounds one message. */
  readonly readMaxBytes: number;
  /** Aborted when the server closes. */
  readonly shutdown: AbortSignal;
  readonly report: (cause: unknown) => void;
}

/**
 * Serves unary calls and small streams through the RPC library: protobuf and JSON, gzip, Connect, gRPC-Web and gRPC.
 * The caller is known before a body is read.
 */
export function createRpcRouter(rpcs: readonly Rpc[], ports: RpcPorts): RpcRouter {
  const gate = async (context: HandlerContext): Promise<void> => {
    try {
      const caller = await ports.authenticate(context.values.get(headersKey));
      if (!caller.ok) throw toConnectError(caller.error);
      context.values.set(callerKey, caller.value);
    } catch (thrown) {
      throw fromThrown(thrown, ports.report);
    }
  };
  const router = createConnectRouter({
    acceptCompression: [compressionGzip],
    readMaxBytes: ports.readMaxBytes,
    requestGate: gate,
    interceptors: [atBorder(ports.report)],
    shutdownSignal: ports.shutdown,
  });
  for (const { method, implement } of rpcs) router.rpc(method, implement(callOf));
  const handlers = new Map(router.handlers.map((handler) => [handler.requestPath, handler]));
  return {
    find(path) {
      const handler = handlers.get(path);
      if (handler === undefined) return undefined;
      return (request, response) => {
        ignoreErrors(response);
        void (async () => {
          try {
            const values = createContextValues().set(headersKey, headerSource(request));
            await universalResponseToNodeResponse(
              await handler(universalRequestFromNodeRequest(request, response, undefined, values)),
              response,
            );
          } catch {
            // the client went away in the middle of its answer, or sent no host
            answer(response, 400, {}, "");
          }
        })();
      };
    },
  };
}

/** Turns what a handler throws into what a caller may see, before and during a stream of answers. */
function atBorder(report: (cause: unknown) => void): Interceptor {
  async function* guarded<T>(messages: AsyncIterable<T>): AsyncIterable<T> {
    try {
      yield* messages;
    } catch (thrown) {
      throw fromThrown(thrown, report);
    }
  }
  return (next) => async (request) => {
    try {
      const response = await next(request);
      return response.stream ? { ...response, message: guarded(response.message) } : response;
    } catch (thrown) {
      throw fromThrown(thrown, report);
    }
  };
}

function callOf(context: HandlerContext): Call {
  const principal = context.values.get(callerKey);
  if (principal === undefined) throw new ConnectError("no caller", Code.Unauthenticated);
  return {
    principal,
    signal: context.signal,
    header: context.values.get(headersKey),
    origin: new URL(context.url).origin,
  };
}
