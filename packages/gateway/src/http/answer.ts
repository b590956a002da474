import type { Failure } from "@chartroom/domain";
import { connectError, encodeFrame, endStreamFrame, httpStatus } from "@chartroom/protocol";
import type { OutgoingHeaders } from "../stream/outlet.ts";
import { type HttpResponse, ignoreErrors, writeHead } from "./types.ts";

const NOTHING = new Uint8Array(0);

/** Answers with a whole body. A client that went away is none to answer. */
export function answer(
  response: HttpResponse,
  status: number,
  headers: OutgoingHeaders,
  body: Uint8Array | string,
): void {
  if (response.destroyed || response.headersSent) return;
  ignoreErrors(response);
  writeHead(response, status, { ...headers, "content-length": String(Buffer.byteLength(body)) });
  response.end(body);
}

/** The answer of a unary call that gives an empty message. */
export function answerEmpty(response: HttpResponse): void {
  answer(response, 200, { "content-type": "application/proto" }, NOTHING);
}

/** The same for a client that framed its unary call as a stream. */
export function answerEmptyFramed(response: HttpResponse): void {
  const body = Buffer.concat([encodeFrame(0, NOTHING), endStreamFrame({ kind: "completed" })]);
  answer(response, 200, { "content-type": "application/connect+proto" }, body);
}

/** A Connect unary error: its HTTP status and its JSON form with `ErrorDetails` (wire section 12). */
export function answerFailure(response: HttpResponse, failure: Failure): void {
  const error = connectError(failure);
  answer(response, httpStatus(error.code), { "content-type": "application/json" }, JSON.stringify(error));
}

/** The same for a client that framed its unary call as a stream. */
export function answerFailureFramed(response: HttpResponse, failure: Failure): void {
  answer(response, 200, { "content-type": "application/connect+proto" }, endStreamFrame({ kind: "error", failure }));
}
