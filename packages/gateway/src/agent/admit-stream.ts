import type { Failure, Principal } from "@chartroom/domain";
import { FAILURES } from "../failures.ts";
import { answer } from "../http/answer.ts";
import { discardBody } from "../http/body.ts";
import { headerSource, type HttpRequest, type HttpResponse, isHttp2 } from "../http/types.ts";
import { type Dialect, dialectOf, FRAME_ENCODING_HEADER, knownEncoding } from "../stream/dialect.ts";
import { refuseStream, STREAM_TYPE, type StreamMethod } from "./open-stream.ts";
import type { AgentPorts } from "./ports.ts";

/** A stream call whose caller is known and whose headers can be served. */
export interface AdmittedStream {
  readonly dialect: Dialect;
  readonly principal: Principal;
}

/**
 * Lets a stream call in; `undefined` when it is not, and then it has been answered: with status 415 in no known dialect,
 * else with a terminal in its own.
 */
export async function admitStream(
  request: HttpRequest,
  response: HttpResponse,
  method: StreamMethod,
  ports: AgentPorts,
): Promise<AdmittedStream | undefined> {
  const dialect = dialectOf(request.headers["content-type"], isHttp2(response));
  if (dialect === undefined) {
    request.resume();
    const headers = {
      "content-type": "text/plain; charset=utf-8",
      "accept-post": Object.values(STREAM_TYPE).join(", "),
    };
    answer(response, 415, headers, "");
    return undefined;
  }
  const caller = await ports.authenticate(headerSource(request));
  const refused = caller.ok ? refusedByHeaders(request, dialect) : caller.error;
  if (caller.ok && refused === undefined) return { dialect, principal: caller.value };
  await discardBody(request, response);
  refuseStream(response, dialect, method, refused ?? FAILURES.internal);
  return undefined;
}

/** What the headers of a stream call already rule out. */
function refusedByHeaders(request: HttpRequest, dialect: Dialect): Failure | undefined {
  return knownEncoding(headerSource(request)(FRAME_ENCODING_HEADER[dialect])) ? undefined : FAILURES.encoding;
}
