import { fc } from "@fast-check/vitest";
import { create, toBinary } from "@bufbuild/protobuf";
import { AgentClientMessageSchema } from "@chartroom/protocols/agent/v1/agent_service";
import { AgentRunRequestSchema } from "@chartroom/protocols/agent/v1/run_request";
import { describe, expect, it } from "vitest";
import { fieldPayloads, onlyPayload, wrap, wrapText } from "./bytes.ts";

const pathArbitrary = fc.array(fc.integer({ min: 1, max: 5000 }), { minLength: 1, maxLength: 5 });
const equal = (a: Uint8Array | undefined, b: Uint8Array): boolean => a !== undefined && Buffer.compare(a, b) === 0;

describe("wrap and onlyPayload", () => {
  it("are each other's inverse at any depth and length", () => {
    fc.assert(
      fc.property(pathArbitrary, fc.uint8Array({ maxLength: 40_000 }), (path, payload) => {
        expect(equal(onlyPayload(wrap(path, payload), path), payload)).toBe(true);
      }),
    );
  });

  it("write text as UTF-8", () => {
    fc.assert(
      fc.property(pathArbitrary, fc.string({ unit: "binary" }), (path, text) => {
        expect(equal(wrapText(path, text), wrap(path, Buffer.from(text)))).toBe(true);
      }),
    );
  });

  it("mend half a surrogate pair", () => {
    expect(onlyPayload(wrapText([1], "a\ud83d"), [1])).toEqual(Buffer.from("a\ufffd"));
  });
});

describe("fieldPayloads", () => {
  it("finds the fields of a message that the generated code wrote", () => {
    const request = create(AgentRunRequestSchema, {
      conversationId: "conv-1",
      suggestNextPrompt: true,
      harness: new Uint8Array([255]),
      preFetchedBlobs: [{ id: new Uint8Array([1]) }, { id: new Uint8Array([2]) }],
    });
    const bytes = toBinary(
      AgentClientMessageSchema,
      create(AgentClientMessageSchema, { message: { case: "runRequest", value: request } }),
    );
    const body = onlyPayload(bytes, [1]) ?? new Uint8Array();
    expect(equal(body, toBinary(AgentRunRequestSchema, request))).toBe(true);
    expect(fieldPayloads(body, 5)?.map((each) => Buffer.from(each).toString())).toEqual(["conv-1"]);
    expect(fieldPayloads(body, 17)).toHaveLength(2);
    expect(fieldPayloads(body, 99)).toEqual([]);
    expect(onlyPayload(bytes, [1, 17])).toBeUndefined();
  });

  it("skips fixed-width fields", () => {
    const bytes = Uint8Array.from([0x09, 1, 2, 3, 4, 5, 6, 7, 8, 0x15, 1, 2, 3, 4, 0x1a, 1, 7]);
    expect(fieldPayloads(bytes, 3)).toEqual([Uint8Array.from([7])]);
  });

  it.each([
    ["a tag cut short", [0x80]],
    ["a length cut short", [0x0a, 0x80]],
    ["a payload cut short", [0x0a, 5, 1]],
    ["a fixed field cut short", [0x09, 1]],
    ["a group", [0x0b, 0x0c]],
    ["a varint without end", [0x08, ...Array.from({ length: 12 }, () => 0xff), 1]],
  ])("gives nothing for %s", (_, bytes) => {
    expect(fieldPayloads(Uint8Array.from(bytes), 1)).toBeUndefined();
  });

  it("never throws on random bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.integer({ min: 1, max: 20 }), (bytes, number) => {
        for (const payload of fieldPayloads(bytes, number) ?? [])
          expect(payload.byteLength).toBeLessThan(bytes.byteLength);
      }),
    );
  });
});
