import { create, fromBinary as strictFromBinary, toBinary } from "@bufbuild/protobuf";
import { fc } from "@fast-check/vitest";
import { AgentClientMessageSchema, AgentServerMessageSchema } from "@chartroom/protocols/agent/v1/agent_service";
import { ConversationStateStructureSchema } from "@chartroom/protocols/agent/v1/conversation_state";
import { ShellStreamStdoutSchema } from "@chartroom/protocols/agent/v1/tool_shell";
import { describe, expect, it } from "vitest";
import { wrap } from "./bytes.ts";
import { fromBinary } from "./from-binary.ts";
import { repairText } from "./repair-text.ts";
import { clientBytes, MESSAGE } from "./uplink.fixture.ts";
import { decodeUplink, execClientMessage } from "./uplink.ts";

/** A text that stands for bytes no text field may hold. */
const MARK = "@@@@";
const BROKEN = Uint8Array.of(0x61, 0xff, 0xc3, 0x28);
const REPAIRED = "a\ufffd\ufffd(";

/** The bytes with `BROKEN` wherever the mark is: lengths stay as they are. */
function broken(bytes: Uint8Array): Uint8Array {
  const copy = Buffer.from(bytes);
  for (let at = copy.indexOf(MARK); at >= 0; at = copy.indexOf(MARK)) copy.set(BROKEN, at);
  return copy;
}

const hex = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString("hex");

describe("TL-11: text that is not UTF-8", () => {
  it("in a command's output is replaced, and the answer is taken", () => {
    const bytes = broken(
      clientBytes({
        case: "execClientMessage",
        value: {
          id: 7,
          execId: "call-1",
          message: { case: "shellStream", value: { event: { case: "stdout", value: { data: `x${MARK}y` } } } },
        },
      }),
    );
    expect(() => strictFromBinary(AgentClientMessageSchema, bytes)).toThrow(/.+/);
    const result = decodeUplink(bytes);
    if (!result.ok || result.value.kind !== "exec") throw new Error(JSON.stringify(result));
    expect(result.value.reply.execId).toBe(7);
    expect(execClientMessage(result.value.reply).message).toMatchObject({
      case: "shellStream",
      value: { event: { case: "stdout", value: { data: `x${REPAIRED}y` } } },
    });
  });

  it("in a user message is replaced, also in the bytes that are kept of it", () => {
    const bytes = broken(
      clientBytes({
        case: "runRequest",
        value: {
          conversationId: "conv-1",
          action: {
            action: {
              case: "userMessageAction",
              value: {
                userMessage: { ...MESSAGE, text: MARK, selectedContext: { files: [{ path: MARK, content: "c" }] } },
              },
            },
          },
        },
      }),
    );
    const result = decodeUplink(bytes);
    if (!result.ok || result.value.kind !== "run") throw new Error(JSON.stringify(result));
    const { action } = result.value.request;
    if (action.kind !== "userMessage") throw new Error(action.kind);
    expect(action.message.text).toBe(REPAIRED);
    expect(() =>
      strictFromBinary(AgentClientMessageSchema, result.value.kind === "run" ? result.value.raw : bytes),
    ).not.toThrow();
    expect(Buffer.from(action.message.wire).includes("\ufffd")).toBe(true);
  });

  it("in an id is refused: no id is made of another", () => {
    for (const field of ["conversationId", "runId", "agentSessionId"] as const) {
      const bytes = broken(clientBytes({ case: "runRequest", value: { conversationId: "conv-1", [field]: MARK } }));
      expect(decodeUplink(bytes)).toMatchObject({ ok: false, error: { kind: "identity", reason: "characters" } });
    }
    const message = broken(
      clientBytes({
        case: "conversationAction",
        value: {
          action: { case: "userMessageAction", value: { userMessage: { text: "hi", messageId: MARK } } },
        },
      }),
    );
    expect(decodeUplink(message)).toMatchObject({ ok: false, error: { kind: "identity", field: "message_id" } });
  });

  it("in keys and values of maps and in lists is replaced", () => {
    const state = create(ConversationStateStructureSchema, {
      readPaths: ["/good", MARK],
      subagentThreads: { [MARK]: "one", two: MARK },
      fileStatesV2: { [MARK]: { content: Uint8Array.of(0xff) } },
    });
    const read = fromBinary(
      ConversationStateStructureSchema,
      broken(toBinary(ConversationStateStructureSchema, state)),
    );
    expect(read.readPaths).toEqual(["/good", REPAIRED]);
    expect(read.subagentThreads).toEqual({ [REPAIRED]: "one", two: REPAIRED });
    expect(read.fileStatesV2[REPAIRED]?.content).toHaveLength(1);
  });

  it("leaves byte fields and unknown fields as they came", () => {
    const harness = Uint8Array.of(0xff, 0xfe, 0xc3, 0x28);
    const unknown = wrap([400], Uint8Array.of(0xff, 0xc3));
    const request = Buffer.concat([wrap([13], harness), unknown, wrap([5], BROKEN)]);
    const bytes = wrap([1], request);
    const repaired = repairText(AgentClientMessageSchema, bytes);
    expect(repaired).toEqual(
      wrap([1], Buffer.concat([wrap([13], harness), unknown, wrap([5], Buffer.from(REPAIRED))])),
    );
    const read = fromBinary(AgentClientMessageSchema, bytes);
    expect(Buffer.from(toBinary(AgentClientMessageSchema, read)).includes(Buffer.from(unknown))).toBe(true);
    expect(hex(read.message.case === "runRequest" ? read.message.value.harness : undefined)).toBe(hex(harness));
  });

  it("is all that is repaired: bytes that are no message are refused as before", () => {
    expect(() => fromBinary(AgentServerMessageSchema, Uint8Array.of(0x0a, 5))).toThrow(/.+/);
    expect(() =>
      fromBinary(
        AgentServerMessageSchema,
        Buffer.concat([broken(wrap([1, 1, 1], Buffer.from(MARK))), Uint8Array.of(0x0a, 9)]),
      ),
    ).toThrow(/.+/);
    expect(repairText(AgentClientMessageSchema, clientBytes({ case: "clientHeartbeat", value: {} }))).toBeUndefined();
  });

  it("reads as a text decoder reads it, whatever the bytes", () => {
    const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (data) => {
        const read = fromBinary(ShellStreamStdoutSchema, wrap([1], data));
        expect(read.data).toBe(decoder.decode(data));
      }),
      { numRuns: 2000 },
    );
  });
});
