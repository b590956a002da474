import { create, fromJson, toBinary } from "@bufbuild/protobuf";
import type { UplinkMessage } from "@chartroom/domain";
import {
  decodeAppend,
  decodeEndStream,
  decodeUplink,
  endStreamFrame,
  FLAG_END_STREAM,
  type Frame,
  FrameReader,
} from "@chartroom/protocol";
import { BidiAppendRequestSchema } from "@chartroom/protocols/aiserver";
import { describe, expect, it } from "vitest";
import { exchanges, messageBytes, type Step } from "./exchange.ts";

/** What a client says in an exchange, as domain values by kind. */
function uplink(step: Step): UplinkMessage {
  const bytes = messageBytes(step);
  const result = decodeUplink(bytes ?? new Uint8Array());
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
}

const kindOf = (message: UplinkMessage): string => {
  switch (message.kind) {
    case "run":
      return `run ${message.request.action.kind}`;
    case "action":
      return `action ${message.action.kind}`;
    case "execControl":
      return `execControl ${message.control.kind}`;
    case "kv":
      return `kv ${message.reply.kind}`;
    default:
      return message.kind;
  }
};

const SET = "kv set";
const DONE = ["exec", "execControl close"];
const EXPECTED: Readonly<Record<string, readonly string[]>> = {
  cancel: ["run userMessage", "exec", "action cancel"],
  "mcp-tool": ["run userMessage", ...DONE],
  "parallel-tool-calls": ["run userMessage", ...DONE, ...DONE, ...DONE],
  "plain-text-turn": ["run userMessage", SET, SET, "heartbeat", SET, SET, SET, SET],
  "provider-error": ["run userMessage"],
  "read-tool": ["run userMessage", ...DONE],
  reconnect: ["run userMessage", SET, SET, "run resume", "kv get", ...DONE],
  "shell-stream": ["run userMessage", "exec", "exec", "execControl heartbeat", "exec", ...DONE],
  "soft-interrupt": ["run userMessage", "exec", "action inject", ...DONE],
  "subagent-task": ["run userMessage", "run userMessage", ...DONE],
};

describe.each(exchanges)("$id", (exchange) => {
  const clientSteps = exchange.steps.filter((step) => step.from === "client" && step.message !== undefined);
  const frames = exchange.steps.filter((step) => step.frameHex !== undefined);

  it("reads what the client says", () => {
    expect(clientSteps.map((step) => kindOf(uplink(step)))).toEqual(EXPECTED[exchange.id]);
  });

  it("reads each append as it goes over the wire", () => {
    const appends = exchange.steps.filter((step) => step.bidiAppend !== undefined);
    for (const step of appends) {
      const body = toBinary(BidiAppendRequestSchema, fromJson(BidiAppendRequestSchema, step.bidiAppend ?? null));
      const append = decodeAppend(body);
      expect(append).toMatchObject({
        ok: true,
        value: { requestId: step.bidiAppend?.requestId.requestId, seqno: Number(step.bidiAppend?.appendSeqno) },
      });
      expect(append.ok && Buffer.compare(append.value.message, messageBytes(step) ?? new Uint8Array())).toBe(0);
    }
  });

  it.each([1, 2, 3, 7, 64, 1 << 20])("is cut into its frames when it comes in chunks of %i bytes", (size) => {
    for (const requestId of new Set(frames.map((step) => step.requestId))) {
      for (const from of ["client", "server"] as const) {
        const mine = frames.filter((step) => step.from === from && step.requestId === requestId);
        const stream = Buffer.concat(mine.map((step) => Buffer.from(step.frameHex ?? "", "hex")));
        const reader = new FrameReader(from === "client" ? "request" : "connect");
        const read: Frame[] = [];
        for (let at = 0; at < stream.byteLength; at += size) {
          const result = reader.push(stream.subarray(at, at + size));
          if (!result.ok) throw new Error(JSON.stringify(result.error));
          read.push(...result.value);
        }
        expect(reader.end().ok).toBe(true);
        const payloads = mine.map((step) => step.frameHex?.slice(10) ?? "");
        expect(read.map((frame) => Buffer.from(frame.payload).toString("hex"))).toEqual(payloads);
      }
    }
  });

  it("ends as it says", () => {
    const ends = frames.filter((step) => step.frameHex?.startsWith("02"));
    for (const step of ends) {
      const end = decodeEndStream(Buffer.from(step.frameHex ?? "", "hex").subarray(5));
      const kind = JSON.stringify(step.json).includes('"error"') ? "error" : "completed";
      expect(end).toMatchObject({ ok: true, value: { kind } });
    }
    expect(ends.length).toBe(exchange.id === "subagent-task" ? 2 : 1);
  });
});

it("ends a completed stream with the bytes of the examples", () => {
  const success = exchanges
    .flatMap((exchange) => exchange.steps)
    .find((step) => step.json !== undefined && JSON.stringify(step.json) === "{}");
  expect(Buffer.from(endStreamFrame({ kind: "completed" })).toString("hex")).toBe(success?.frameHex);
  expect(endStreamFrame({ kind: "completed" })[0]).toBe(FLAG_END_STREAM);
});

it("ends a failed stream as the example does", () => {
  const failed = exchanges
    .find((exchange) => exchange.id === "provider-error")
    ?.steps.find((step) => step.json !== undefined);
  const failure = {
    code: "PROVIDER_SERVER",
    title: "Provider Error",
    detail: "Upstream returned 503",
    retryable: true,
  } as const;
  const frame = endStreamFrame({ kind: "error", failure });
  expect(JSON.parse(Buffer.from(frame.subarray(5)).toString())).toEqual(failed?.json);
});

it("reads an append without a message as an empty one", () => {
  const body = toBinary(BidiAppendRequestSchema, create(BidiAppendRequestSchema, { requestId: { requestId: "r-1" } }));
  expect(decodeAppend(body)).toMatchObject({ ok: true, value: { seqno: 0 } });
});
