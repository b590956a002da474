import { Code, ConnectError } from "@connectrpc/connect";
import { codeFromString } from "@connectrpc/connect/protocol-connect";
import type { Failure } from "@chartroom/domain";
import { aiserver, connectCode, errorDetails, fromBinary } from "@chartroom/protocol";
import { CallError } from "../face/rpc.ts";
import { FAILURES } from "../failures.ts";

/** A failure as the RPC library throws it: code, title, and `ErrorDetails` as its detail. */
export function toConnectError(failure: Failure, cause?: unknown): ConnectError {
  const value = fromBinary(aiserver.ErrorDetailsSchema, errorDetails(failure));
  const code = codeFromString(connectCode(failure.code)) ?? Code.Unknown;
  return new ConnectError(failure.title, code, undefined, [{ desc: aiserver.ErrorDetailsSchema, value }], cause);
}

/** The handlers' border: what a handler throws, as the caller may see it. What nobody expected is reported. */
export function fromThrown(thrown: unknown, report: (cause: unknown) => void): ConnectError {
  if (thrown instanceof ConnectError) return thrown;
  if (thrown instanceof CallError) return toConnectError(thrown.failure, thrown);
  report(thrown);
  return toConnectError(FAILURES.internal, thrown);
}
