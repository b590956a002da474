export type { Authenticate } from "./agent/ports.ts";
export type { Apis } from "./face/index.ts";
export { createGateway, type Gateway, type GatewayOptions } from "./gateway.ts";
export type { Address, TlsIdentity } from "./http/port.ts";
export { GATEWAY_LIMITS, type GatewayLimits } from "./limits.ts";
export type { Readiness } from "./rest/app.ts";
