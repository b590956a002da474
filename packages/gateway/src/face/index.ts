export { type Call, CallError, type Rpc, serverStream, unary } from "./rpc.ts";
export type { RestEnv, RestRoutes } from "./rest.ts";
/** The wire's own messages and services: `agent.AgentService.method.nameAgent`. */
export { agent, aiserver } from "@chartroom/protocol";
export type { MessageInitShape, MessageShape } from "@chartroom/protocol";

import type { RestRoutes } from "./rest.ts";
import type { Rpc } from "./rpc.ts";

/** What a set of APIs adds to the gateway. */
export interface Apis {
  readonly rpcs: readonly Rpc[];
  readonly rest?: RestRoutes;
}
