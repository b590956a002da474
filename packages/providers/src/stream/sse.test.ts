import { StringDecoder } from "node:string_decoder";
import { describe, expect, it } from "vitest";
import { SseParser, type ServerSentEvent } from "./sse.ts";

const STREAM =
  "\ufeff: comment\n\ndata: one\n\nevent: named\ndata:two\ndata: lines\n\r\n\n\nid: 3\nretry: 5\nevent: empty\n\ndata: Grüße 🙂\r\n\r\ndata:  spaced\n\n";
const EVENTS: readonly ServerSentEvent[] = [
  { event: "", data: "one" },
  { event: "named", data: "two\nlines" },
  { event: "", data: "Grüße 🙂" },
  { event: "", data: " spaced" },
];

function parse(pieces: readonly Buffer[]): readonly ServerSentEvent[] {
  const parser = new SseParser();
  const decoder = new StringDecoder("utf8");
  return [...pieces.flatMap((piece) => parser.push(decoder.write(piece))), ...parser.end()];
}

describe("SseParser", () => {
  const bytes = Buffer.from(STREAM, "utf8");

  it("reads a stream in one piece", () => {
    expect(parse([bytes])).toEqual(EVENTS);
  });

  it("reads it cut at every byte, and byte by byte", () => {
    for (let at = 0; at <= bytes.length; at++) {
      expect(parse([bytes.subarray(0, at), bytes.subarray(at)]), `cut at ${at}`).toEqual(EVENTS);
    }
    expect(parse([...bytes].map((byte) => Buffer.of(byte)))).toEqual(EVENTS);
  });

  it("gives the last event also when its blank line is missing", () => {
    expect(parse([Buffer.from("data: a\n\ndata: b")])).toEqual([
      { event: "", data: "a" },
      { event: "", data: "b" },
    ]);
    expect(parse([Buffer.from("data: a\r\n")])).toEqual([{ event: "", data: "a" }]);
  });

  it("does not take a stream without line ends for ever", () => {
    const parser = new SseParser();
    const mega = "x".repeat(8 * 1024 * 1024);
    expect(() => {
      for (let n = 0; n < 9; n++) parser.push(mega);
    }).toThrow(RangeError);
  });
});
