import type { RunCall, TransportOptions } from "./transport.ts";

export const CLIENT_VERSION = "0.1.0";

export const BAD_TOKEN = "the token has characters that no token has";

/** Whether a value can be sent in a header: printable, without spaces. */
export function fitsHeader(value: string): boolean {
  return /^[\x21-\x7e]+$/.test(value);
}

/** Headers of every call (wire section 2.5). */
export function commonHeaders(options: TransportOptions): Record<string, string> {
  return {
    ...(options.token === undefined ? {} : { authorization: `Bearer ${options.token}` }),
    "user-agent": `chartroom-client/${CLIENT_VERSION}`,
    "x-cursor-client-type": "cli",
    "x-cursor-client-version": `chartroom-${CLIENT_VERSION}`,
    "x-cursor-timezone": Intl.DateTimeFormat().resolvedOptions().timeZone,
    "x-ghost-mode": "true",
    "x-session-id": options.sessionId,
  };
}

/** Headers that name a run stream; also on each of its appends. */
export function runHeaders(call: RunCall): Record<string, string> {
  return {
    "x-request-id": call.requestId,
    ...(call.originalRequestId === call.requestId ? {} : { "x-original-request-id": call.originalRequestId }),
    ...(call.parent === undefined
      ? {}
      : { "x-parent-request-id": call.parent.requestId, "x-parent-agent-tool-call-id": call.parent.toolCallId }),
  };
}

/** The content type of a stream, in Connect or gRPC-Web (wire section 2.4). */
export function streamHeaders(grpcWeb: boolean): Record<string, string> {
  return grpcWeb
    ? { "content-type": "application/grpc-web+proto", "x-grpc-web": "1", accept: "application/grpc-web+proto" }
    : { "content-type": "application/connect+proto", "connect-protocol-version": "1" };
}

export function unaryHeaders(grpcWeb: boolean): Record<string, string> {
  return grpcWeb ? streamHeaders(true) : { "content-type": "application/proto", "connect-protocol-version": "1" };
}
