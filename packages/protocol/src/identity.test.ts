import { fc } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import {
  type IdentityParser,
  parseAgentSessionId,
  parseConversationId,
  parseInjectionId,
  parseMessageId,
  parseModelId,
  parseOptional,
  parseRequestId,
  parseToolCallId,
  parseWireRunId,
  streamIdOf,
} from "./identity.ts";
import { wireFailure } from "./result.ts";

const STRICT: readonly (readonly [string, IdentityParser<string>])[] = [
  ["conversation_id", parseConversationId],
  ["request_id", parseRequestId],
  ["message_id", parseMessageId],
  ["injection_id", parseInjectionId],
  ["run_id", parseWireRunId],
  ["agent_session_id", parseAgentSessionId],
];
const ALL: typeof STRICT = [...STRICT, ["tool_call_id", parseToolCallId], ["model_id", parseModelId]];

const reason = (parse: IdentityParser<string>, text: string): string => {
  const result = parse(text, "field");
  if (result.ok) return "accepted";
  return result.error.kind === "identity" ? result.error.reason : result.error.kind;
};

describe.each(ALL)("%s", (_, parse) => {
  it.each([
    ["", "empty"],
    [".", "dots"],
    ["..", "dots"],
    ["....", "dots"],
    ["x".repeat(10_240), "tooLong"],
    ["a\0b", "characters"],
    ["a\u0001b", "characters"],
    ["a\u007fb", "characters"],
    ["a\tb", "characters"],
    ["a\r\nb", "characters"],
    ["é", "characters"],
    ["\ud800", "characters"],
    ["a\u202eb", "characters"],
    [" a", "characters"],
    ["a ", "characters"],
    ["a\n", "characters"],
  ])("refuses %j (ID-11)", (text, expected) => {
    expect(reason(parse, text)).toBe(expected);
  });

  it("takes a UUID and gives it back unchanged", () => {
    const text = "3f0c1b1e-6f3e-4a3b-9c52-0a1b2c3d4e5f";
    expect(parse(text, "field")).toEqual({ ok: true, value: text });
  });

  it("never throws, and never shows the value", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", minLength: 8, maxLength: 600 }), (text) => {
        const result = parse(text, "field");
        const shown = result.ok ? "" : JSON.stringify([result.error, wireFailure(result.error)]);
        expect(shown.includes(text)).toBe(false);
      }),
    );
  });
});

describe.each(STRICT)("%s, being an id of its own,", (_, parse) => {
  it.each([
    "a/b",
    "../../etc/passwd",
    "a\\b",
    "'; DROP TABLE conversation; --",
    "a b",
    "a#2",
    "a%2fb",
    "<b>",
    "a\nb",
    '"',
  ])("refuses %j (ID-11)", (text) => {
    expect(reason(parse, text)).toBe("characters");
  });

  it("takes 128 characters and not one more", () => {
    expect(reason(parse, "a".repeat(128))).toBe("accepted");
    expect(reason(parse, "a".repeat(129))).toBe("tooLong");
  });

  it.each(["conv-0001", "msg_01ABC", "bc-1.2:3@host+x=y~z", "..a", "0"])("takes %j", (text) => {
    expect(reason(parse, text)).toBe("accepted");
  });
});

describe("tool_call_id", () => {
  it.each(["call_0", "toolu_01/x", "call_abc\nfc_0123", "call_abc fc_0123"])("takes %j", (text) => {
    expect(reason(parseToolCallId, text)).toBe("accepted");
  });
});

describe("model_id", () => {
  it.each(["default", "vendor/name:variant", "name[effort=high, fast=true]", "gpt 5"])("takes %j", (text) => {
    expect(reason(parseModelId, text)).toBe("accepted");
  });
});

describe("parseOptional", () => {
  it("takes absent and empty as none, and does not let a bad id pass", () => {
    expect(parseOptional(parseWireRunId, undefined, "run_id")).toEqual({ ok: true, value: undefined });
    expect(parseOptional(parseWireRunId, "", "run_id")).toEqual({ ok: true, value: undefined });
    expect(parseOptional(parseWireRunId, "..", "run_id")).toEqual({
      ok: false,
      error: { kind: "identity", field: "run_id", reason: "dots" },
    });
  });
});

describe("streamIdOf", () => {
  it("names one use of a request id", () => {
    const request = parseRequestId("r-1", "request_id");
    expect(request.ok && streamIdOf(request.value, 3)).toBe("r-1#3");
  });
});
