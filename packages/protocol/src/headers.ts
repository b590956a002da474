import type { RequestId, ToolCallId } from "@chartroom/domain";
import { parseOptional, parseRequestId, parseToolCallId } from "./identity.ts";
import { type Decoded, err, ok } from "./result.ts";

/** What a call says about itself in its headers (wire section 2.5). */
export interface CallHeaders {
  /** The bearer token; absent when there is none or it is not a bearer token. */
  readonly bearer?: string;
  readonly requestId?: RequestId;
  /** First request id of a chain of retries. */
  readonly originalRequestId?: RequestId;
  /** Both parent headers, or neither. */
  readonly parent?: { readonly requestId: RequestId; readonly callId: ToolCallId };
  /** `cli-<date>-<hash>`, or the version of the IDE. */
  readonly clientVersion?: string;
  readonly clientType?: string;
  readonly sessionId?: string;
  /** Privacy mode. */
  readonly ghostMode: boolean;
  /** IANA zone. */
  readonly timeZone?: string;
}

/** Gives the value of a header by its lower-case name. */
export type HeaderSource = (name: string) => string | undefined;

const MAX_NOTE = 128;
const MAX_TOKEN = 8192;

/**
 * Reads the headers of a call. A bad request id or only one of the two parent headers is an error;
 * a note (version, type, session, zone) that is too long or not printable is left out.
 */
export function parseHeaders(header: HeaderSource): Decoded<CallHeaders> {
  const requestId = parseOptional(parseRequestId, header("x-request-id"), "x-request-id");
  if (!requestId.ok) return requestId;
  const original = parseOptional(parseRequestId, header("x-original-request-id"), "x-original-request-id");
  if (!original.ok) return original;
  const parent = parseParent(header);
  if (!parent.ok) return parent;
  const bearer = parseBearer(header("authorization"));
  return ok({
    ...(bearer === undefined ? {} : { bearer }),
    ...(requestId.value === undefined ? {} : { requestId: requestId.value }),
    ...(original.value === undefined ? {} : { originalRequestId: original.value }),
    ...(parent.value === undefined ? {} : { parent: parent.value }),
    ...note("clientVersion", header("x-cursor-client-version")),
    ...note("clientType", header("x-cursor-client-type")),
    ...note("sessionId", header("x-session-id")),
    ...note("timeZone", header("x-cursor-timezone")),
    ghostMode: header("x-ghost-mode")?.toLowerCase() === "true",
  });
}

function parseParent(header: HeaderSource): Decoded<CallHeaders["parent"]> {
  const requestId = parseOptional(parseRequestId, header("x-parent-request-id"), "x-parent-request-id");
  if (!requestId.ok) return requestId;
  const callId = parseOptional(parseToolCallId, header("x-parent-agent-tool-call-id"), "x-parent-agent-tool-call-id");
  if (!callId.ok) return callId;
  if (requestId.value !== undefined && callId.value !== undefined) {
    return ok({ requestId: requestId.value, callId: callId.value });
  }
  if (requestId.value === undefined && callId.value === undefined) return ok(undefined);
  const lonely = requestId.value === undefined ? "x-parent-agent-tool-call-id" : "x-parent-request-id";
  return err({ kind: "identity", field: lonely, reason: "pair" });
}

/** The token of `authorization: Bearer <token>`; `undefined` when there is none. */
export function parseBearer(authorization: string | undefined): string | undefined {
  if (authorization === undefined || authorization.length > MAX_TOKEN) return undefined;
  return /^bearer +([\x21-\x7e]+) *$/i.exec(authorization)?.[1];
}

function note<Name extends string>(name: Name, value: string | undefined): { readonly [K in Name]?: string } {
  const fine = value !== undefined && value.length <= MAX_NOTE && /^[\x20-\x7e]+$/.test(value);
  return (fine ? { [name]: value } : {}) as { readonly [K in Name]?: string };
}
