import type { Terminal } from "@chartroom/domain";
import { endStreamFrame, trailersFrame } from "@chartroom/protocol";
import type { Dialect } from "./dialect.ts";
import type { OutgoingHeaders } from "./outlet.ts";

/** A terminal in a transport's own form: last bytes of the body, and trailers after it. */
export interface EncodedTerminal {
  readonly tail: Uint8Array;
  readonly trailers?: OutgoingHeaders;
}

const NOTHING = new Uint8Array(0);
const HEADER_BYTES = 5;

export function encodeTerminal(dialect: Dialect, terminal: Terminal): EncodedTerminal {
  switch (dialect) {
    case "connect":
      return { tail: endStreamFrame(terminal) };
    case "grpcWeb":
      return { tail: trailersFrame(terminal) };
    case "grpc":
      return { tail: NOTHING, trailers: trailersOf(trailersFrame(terminal).subarray(HEADER_BYTES)) };
  }
}

/** The trailers that gRPC-Web carries as text, as real ones. */
function trailersOf(text: Uint8Array): OutgoingHeaders {
  const lines = Buffer.from(text).toString("latin1").split("\r\n");
  return Object.fromEntries(
    lines
      .filter((line) => line !== "")
      .map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim()]),
  );
}
