import { create, createRegistry, fromBinary, fromJson, toBinary, toJson } from "@bufbuild/protobuf";
import { AgentClientMessageSchema, AgentRunRequestSchema, AgentServerMessageSchema } from "@chartroom/protocols/agent";
import { BidiAppendRequestSchema } from "@chartroom/protocols/aiserver";
import { describe, expect, it } from "vitest";
import { exchanges, messageBytes } from "./exchange.ts";

const registry = createRegistry(AgentClientMessageSchema, AgentServerMessageSchema);
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

function schemaOf(type: string | undefined): typeof AgentClientMessageSchema | typeof AgentServerMessageSchema {
  const schema = registry.getMessage(type ?? "");
  if (schema === undefined) throw new Error(`fixture names an unknown type: ${type}`);
  return schema as typeof AgentClientMessageSchema | typeof AgentServerMessageSchema;
}

/** Bytes of a field with a varint number and a length-delimited payload. */
function field(number: number, payload: Uint8Array): Uint8Array {
  const tag = (number << 3) | 2;
  return Uint8Array.from([(tag & 0x7f) | 0x80, tag >> 7, payload.length, ...payload]);
}

describe("the ten example exchanges", () => {
  it("are all there, each with its messages", () => {
    expect(exchanges.map((exchange) => exchange.id)).toEqual([
      "cancel",
      "mcp-tool",
      "parallel-tool-calls",
      "plain-text-turn",
      "provider-error",
      "read-tool",
      "reconnect",
      "shell-stream",
      "soft-interrupt",
      "subagent-task",
    ]);
    expect(exchanges.flatMap((exchange) => exchange.steps).filter((step) => step.message !== undefined)).toHaveLength(
      131,
    );
  });

  describe.each(exchanges)("$id", (exchange) => {
    const steps = exchange.steps.filter((step) => step.message !== undefined);

    it.each(steps)("step $n ($from) decodes and re-encodes byte for byte", (step) => {
      const bytes = messageBytes(step);
      if (bytes === undefined) throw new Error("the step has no bytes");
      const schema = schemaOf(step.type);
      const decoded = fromBinary(schema, bytes);
      expect(hex(toBinary(schema, decoded))).toBe(hex(bytes));
      expect(toJson(schema, decoded)).toEqual(toJson(schema, fromJson(schema, step.message ?? null)));
      expect(hex(toBinary(schema, fromJson(schema, step.message ?? null)))).toBe(hex(bytes));
    });

    it.each(exchange.steps.filter((step) => step.bidiAppend !== undefined))("step $n goes up as an append", (step) => {
      const append = fromJson(BidiAppendRequestSchema, step.bidiAppend ?? null);
      const again = fromBinary(BidiAppendRequestSchema, toBinary(BidiAppendRequestSchema, append));
      expect(again.data).toBe(step.bidiAppend?.data);
      expect(again.appendSeqno).toBe(BigInt(step.bidiAppend?.appendSeqno ?? -1));
      expect(again.requestId?.requestId).toBe(step.bidiAppend?.requestId.requestId);
    });
  });
});

describe("fields that the schema does not know", () => {
  const unknown = field(400, Buffer.from("from a newer client"));
  const inner = field(29, Buffer.from([1, 2, 3]));

  it("survive at the top level", () => {
    const bytes = Uint8Array.from([
      ...toBinary(AgentClientMessageSchema, create(AgentClientMessageSchema)),
      ...unknown,
    ]);
    expect(hex(toBinary(AgentClientMessageSchema, fromBinary(AgentClientMessageSchema, bytes)))).toBe(hex(bytes));
  });

  it("survive inside a nested message, beside a known field", () => {
    const request = toBinary(AgentRunRequestSchema, create(AgentRunRequestSchema, { conversationId: "conv-1" }));
    const body = Uint8Array.from([...request, ...inner, ...unknown]);
    const bytes = Uint8Array.from([0x0a, body.length, ...body]);
    const decoded = fromBinary(AgentClientMessageSchema, bytes);
    expect(decoded.message.case).toBe("runRequest");
    expect(hex(toBinary(AgentClientMessageSchema, decoded))).toBe(hex(bytes));
  });

  it("survive in a checkpoint inside a server message", () => {
    const bytes = Uint8Array.from([0x1a, unknown.length, ...unknown]);
    const decoded = fromBinary(AgentServerMessageSchema, bytes);
    expect(decoded.message.case).toBe("conversationCheckpointUpdate");
    expect(hex(toBinary(AgentServerMessageSchema, decoded))).toBe(hex(bytes));
  });

  it("keep unknown enum values", () => {
    const bytes = Buffer.from("5063", "hex"); // field 10 (mode) = 99
    const message = Uint8Array.from([0x1a, bytes.length, ...bytes]);
    expect(hex(toBinary(AgentServerMessageSchema, fromBinary(AgentServerMessageSchema, message)))).toBe(hex(message));
  });
});

describe("harness", () => {
  it("keeps bytes that are not UTF-8", () => {
    const harness = Uint8Array.from([0xff, 0xfe, 0x00, 0xc3, 0x28]);
    const bytes = Uint8Array.from([0x0a, harness.length + 2, 0x6a, harness.length, ...harness]);
    const decoded = fromBinary(AgentClientMessageSchema, bytes);
    const request = decoded.message.case === "runRequest" ? decoded.message.value : undefined;
    expect(hex(request?.harness ?? new Uint8Array())).toBe(hex(harness));
    expect(hex(toBinary(AgentClientMessageSchema, decoded))).toBe(hex(bytes));
  });
});
