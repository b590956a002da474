import { aiserver, serverStream, unary, type Rpc } from "@chartroom/gateway/face";
import type { ApiOptions } from "./options.ts";

type Echo = { readonly payload: string };

async function* echo({ payload }: Echo): AsyncIterable<Echo> {
  yield { payload };
}

/** Probes. A client that finds `IsConnected` failing takes the network for down and aborts its work (wire section 7.1). */
export function health({ clock }: ApiOptions): readonly Rpc[] {
  const { method } = aiserver.HealthService;
  return [
    unary(aiserver.NetworkService.method.isConnected, () => ({})),
    unary(method.ping, ({ payload }) => ({ payload })),
    unary(method.unary, () => ({ payload: "" })),
    // some clients try it to learn whether a stream over HTTP/1.1 works (wire section 14)
    serverStream(method.stream, echo),
    serverStream(method.streamSSE, echo),
    unary(aiserver.AiService.method.healthCheck, () => ({ status: aiserver.HealthCheckResponse_Status.HEALTHY })),
    unary(aiserver.AiService.method.serverTime, () => {
      const now = clock.now();
      return { receiveTimestamp: now, transmitTimestamp: now };
    }),
  ];
}
