import { create, toBinary } from "@bufbuild/protobuf";
import { AgentClientMessageSchema } from "@chartroom/protocols/agent/v1/agent_service";
import { BidiAppendRequestSchema } from "@chartroom/protocols/aiserver/v1/bidi_service";
import { fc } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import { wrap } from "./bytes.ts";
import { decodeMessage } from "./decode.ts";

/** Queued user messages without content: two bytes each on the wire, an object each in memory. */
const flood = (count: number): Uint8Array =>
  wrap([1, 2, 1], Buffer.concat(Array.from({ length: count }, () => Uint8Array.of(0x22, 0))));
const refused = { ok: false, error: { kind: "malformed", what: "AgentClientMessage" } };

describe("decodeMessage", () => {
  it("reads what is one, and says what is not", () => {
    const message = create(AgentClientMessageSchema, { message: { case: "clientHeartbeat", value: {} } });
    const result = decodeMessage(AgentClientMessageSchema, toBinary(AgentClientMessageSchema, message));
    expect(result.ok && result.value.message.case).toBe("clientHeartbeat");
    expect(decodeMessage(AgentClientMessageSchema, Uint8Array.of(0x0a, 5))).toEqual(refused);
  });

  it("counts the fields of all levels", () => {
    expect(decodeMessage(AgentClientMessageSchema, flood(50), 53).ok).toBe(true);
    expect(decodeMessage(AgentClientMessageSchema, flood(53), 53)).toEqual(refused);
    expect(decodeMessage(AgentClientMessageSchema, flood(54), 57).ok).toBe(true);
  });

  it("counts fields that the schema does not know", () => {
    const unknown = Buffer.concat(Array.from({ length: 100 }, () => Uint8Array.of(0x78, 1)));
    expect(decodeMessage(BidiAppendRequestSchema, unknown, 100).ok).toBe(true);
    expect(decodeMessage(BidiAppendRequestSchema, unknown, 99).ok).toBe(false);
  });

  it("does not count what is in texts and byte fields", () => {
    const data = flood(500);
    const bytes = toBinary(BidiAppendRequestSchema, create(BidiAppendRequestSchema, { dataBinary: data }));
    expect(decodeMessage(BidiAppendRequestSchema, bytes, 1).ok).toBe(true);
  });

  it("refuses a flood of 32 MiB before it becomes objects", () => {
    const before = process.memoryUsage().heapUsed;
    expect(
      decodeMessage(AgentClientMessageSchema, wrap([1, 2, 1], Buffer.alloc(32 * 1024 * 1024, Uint8Array.of(0x22, 0)))),
    ).toEqual(refused);
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(300 * 1024 * 1024);
  });

  it("agrees with itself, counted or not, on random bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        const plain = decodeMessage(AgentClientMessageSchema, bytes);
        // with few fields allowed the count runs first; it may only refuse more
        const counted = decodeMessage(AgentClientMessageSchema, bytes, 20);
        expect(counted.ok && !plain.ok).toBe(false);
      }),
    );
  });
});
