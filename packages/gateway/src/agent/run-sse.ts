import {
  decodeRequestId,
  type Decoded,
  FrameReader,
  framePayload,
  inflateBody,
  parseHeaders,
  wireFailure,
} from "@chartroom/protocol";
import type { RequestId } from "@chartroom/domain";
import { FAILURES } from "../failures.ts";
import { readBody } from "../http/body.ts";
import { headerSource, type HttpRequest, type HttpResponse } from "../http/types.ts";
import { admitStream } from "./admit-stream.ts";
import { openStream } from "./open-stream.ts";
import type { AgentPorts } from "./ports.ts";

/** The request holds one id. */
const BODY_LIMIT = 64 * 1024;

/**
 * `RunSSE`: the downlink of a stream whose uplink are appends (wire section 3). Its headers and a heartbeat go out as
 * soon as the caller is known and its small body is read, before anything is known of a Run.
 */
export async function handleRunSse(request: HttpRequest, response: HttpResponse, ports: AgentPorts): Promise<void> {
  const admitted = await admitStream(request, response, "RunSSE", ports);
  if (admitted === undefined) return;
  const header = headerSource(request);
  const body = await readBody(request, BODY_LIMIT);
  if (body.kind === "gone") return;
  const transport = openStream(response, admitted.dialect, "RunSSE", ports);
  if (body.kind === "tooLarge") return transport.fail(FAILURES.tooLarge);
  const headers = parseHeaders(header);
  if (!headers.ok) return transport.fail(wireFailure(headers.error));
  const requestId = await readRequestId(body.bytes, header("content-encoding"));
  if (!requestId.ok) return transport.fail(wireFailure(requestId.error));
  if (!transport.open) return;
  const opened = ports.exchanges.get(admitted.principal, requestId.value);
  if (opened === undefined) transport.fail(FAILURES.tooManyExchanges);
  else opened.exchange.join(transport, headers.value);
}

/** The id in the one envelope of the request; a body that is compressed as a whole is taken as well. */
async function readRequestId(body: Uint8Array, encoding: string | undefined): Promise<Decoded<RequestId>> {
  const plain = await inflateBody(body, encoding, BODY_LIMIT);
  if (!plain.ok) return plain;
  const reader = new FrameReader("request", BODY_LIMIT);
  const frames = reader.push(plain.value);
  if (!frames.ok) return frames;
  const end = reader.end();
  if (!end.ok) return end;
  const [frame] = frames.value;
  if (frame === undefined) return { ok: false, error: { kind: "missing", field: "request_id" } };
  const message = await framePayload(frame, BODY_LIMIT);
  return message.ok ? decodeRequestId(message.value) : message;
}
