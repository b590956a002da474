import type { Http2ServerResponse } from "node:http2";
import { expect, it } from "vitest";
import { stripHopHeaders } from "./hop-headers.ts";

it("leaves out the headers of one hop, however they are written", () => {
  const written: unknown[] = [];
  const response = {
    writeHead: (...args: readonly unknown[]) => void written.push(["writeHead", ...args]),
    setHeader: (...args: readonly unknown[]) => void written.push(["setHeader", ...args]),
  } as unknown as Http2ServerResponse;
  stripHopHeaders(response);
  response.setHeader("Connection", "close");
  response.setHeader("x-own", "1");
  response.writeHead(200, {
    "Keep-Alive": "5",
    "transfer-encoding": "chunked",
    upgrade: "x",
    "content-type": "text/plain",
  });
  response.writeHead(204, "No Content", { connection: "close", "x-own": "2" });
  response.writeHead(404);
  expect(written).toEqual([
    ["setHeader", "x-own", "1"],
    ["writeHead", 200, { "content-type": "text/plain" }],
    ["writeHead", 204, { "x-own": "2" }],
    ["writeHead", 404, undefined],
  ]);
});
