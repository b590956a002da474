import type { Clock, Conversations, DomainEventListener, Entropy } from "@chartroom/domain";
import { aiserver, encodeUpdate, fromAppendRequest, wireFailure } from "@chartroom/protocol";
import { handleBidiAppend, isPlainAppend, takeAppend } from "./agent/bidi-append.ts";
import type { AgentPorts, Authenticate } from "./agent/ports.ts";
import { handleRun } from "./agent/run.ts";
import { handleRunSse } from "./agent/run-sse.ts";
import { Exchanges } from "./exchange/exchanges.ts";
import type { ExchangePorts } from "./exchange/exchange.ts";
import { CallError, type Rpc, unary } from "./face/rpc.ts";
import type { Apis } from "./face/index.ts";
import { FAILURES } from "./failures.ts";
import { answerFailure } from "./http/answer.ts";
import { discardBody } from "./http/body.ts";
import { type Address, createPort, type TlsIdentity } from "./http/port.ts";
import { headerSource, type HttpRequest, type HttpResponse, ignoreErrors, pathOf } from "./http/types.ts";
import { GATEWAY_LIMITS, type GatewayLimits } from "./limits.ts";
import { createRestApp, type Readiness } from "./rest/app.ts";
import { createRpcRouter } from "./rpc/router.ts";
import type { Transport } from "./stream/transport.ts";
import { isRpc, Unserved } from "./unserved.ts";

export interface GatewayOptions {
  readonly conversations: Conversations;
  readonly authenticate: Authenticate;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly apis: readonly Apis[];
  /** What `/readyz` says. */
  readonly readiness: () => Readiness | Promise<Readiness>;
  readonly events: DomainEventListener;
  /** With it, the port also speaks TLS. */
  readonly tls?: TlsIdentity;
  readonly limits?: Partial<GatewayLimits>;
  /** Takes errors that nobody expected, for the log; the caller gets `internal` without a word of them. */
  readonly report: (cause: unknown) => void;
}

export interface Gateway {
  /** Opens the port; 0 takes a free one. Rejects with the system's error when it cannot. */
  listen(host: string, port: number): Promise<Address>;
  /**
   * Takes no new Run and ends the streams that wait for one, as `unavailable`. Runs that are open go on: what their clients
   * send over HTTP/1.1 may still need a new connection.
   */
  refuse(): void;
  /**
   * Takes no new connection and no new Run, ends the streams that wait for one as `unavailable`, and lets what runs end
   * for at most `ms`. Whoever owns the conversations ends their streams.
   */
  drain(ms: number): Promise<void>;
  /** Closes everything at once. */
  close(): Promise<void>;
}

const RUN = "/agent.v1.AgentService/Run";
const RUN_SSE = "/agent.v1.AgentService/RunSSE";
const BIDI_APPEND = "/aiserver.v1.BidiService/BidiAppend";

/** Composes the gateway: the port, the agent's streams, the other calls, REST. */
export function createGateway(options: GatewayOptions): Gateway {
  const limits: GatewayLimits = { ...GATEWAY_LIMITS, ...options.limits };
  const shutdown = new AbortController();
  const { report } = options;
  let draining = false;
  const exchangePorts: ExchangePorts = {
    conversations: options.conversations,
    events: options.events,
    clock: options.clock,
    entropy: options.entropy,
    limits,
    heartbeat: encodeUpdate({ kind: "heartbeat" }),
    turnEnded: encodeUpdate({ kind: "turnEnded", usage: {} }),
    draining: () => draining,
    report,
  };
  const waiting = new Set<Transport>();
  const exchanges = new Exchanges(exchangePorts);
  const ports: AgentPorts = { ...exchangePorts, exchanges, waiting, authenticate: options.authenticate };
  const rpcs = [appendRpc(ports), ...options.apis.flatMap((api) => api.rpcs)];
  const rpc = createRpcRouter(rpcs, {
    authenticate: options.authenticate,
    readMaxBytes: 2 * limits.messageBytes + 1024,
    shutdown: shutdown.signal,
    report,
  });
  const routes = options.apis.flatMap((api) => api.rest ?? []);
  const rest = createRestApp(options.readiness, routes, report);
  const unserved = new Unserved(options.events);

  const authenticated = async (request: HttpRequest, response: HttpResponse): Promise<void> => {
    const caller = await options.authenticate(headerSource(request));
    if (!caller.ok) {
      await discardBody(request, response);
      answerFailure(response, caller.error);
    } else if (isRpc(request)) await unserved.handle(request, response);
    else rest.serve(request, response, caller.value);
  };
  const route = (request: HttpRequest, response: HttpResponse): Promise<void> | void => {
    const path = pathOf(request);
    const post = request.method === "POST";
    if (post && path === BIDI_APPEND && isPlainAppend(request)) return handleBidiAppend(request, response, ports);
    if (post && path === RUN_SSE) return handleRunSse(request, response, ports);
    if (post && path === RUN) return handleRun(request, response, ports);
    if (path === "/healthz") return rest.health(request, response);
    const served = rpc.find(path);
    return served === undefined ? authenticated(request, response) : served(request, response);
  };
  const port = createPort(
    (request, response) => {
      ignoreErrors(request);
      // what is not expected of a handler ends its call, not the process
      void (async () => route(request, response))().catch((cause: unknown) => {
        report(cause);
        answerFailure(response, FAILURES.internal);
      });
    },
    options.clock,
    options.tls,
  );

  const refuse = (): void => {
    draining = true;
    for (const transport of waiting) transport.fail(FAILURES.draining);
  };
  return {
    listen: (host, number) => port.listen(host, number),
    refuse,
    async drain(ms) {
      refuse();
      await port.drain(ms);
      exchanges.close();
    },
    async close() {
      draining = true;
      shutdown.abort();
      await port.close();
      exchanges.close();
    },
  };
}

/** Appends in JSON, gRPC-Web and gRPC. */
function appendRpc(ports: AgentPorts): Rpc {
  return unary(aiserver.BidiService.method.bidiAppend, async (request, call) => {
    const append = fromAppendRequest(request);
    if (!append.ok) throw new CallError(wireFailure(append.error));
    const failure = await takeAppend(append.value, call.principal, call.header, ports);
    if (failure !== undefined) throw new CallError(failure);
    return {};
  });
}
