import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import type { BlobId, ConversationId, InjectionId, InjectionState, Update } from "@chartroom/domain";
import { AgentServerMessageSchema } from "@chartroom/protocols/agent/v1/agent_service";
import { RequestContextSchema } from "@chartroom/protocols/agent/v1/request_context";
import { ExecClientMessageSchema } from "@chartroom/protocols/agent/v1/exec";
import { fc } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import { clientCodec } from "./client-codec.ts";
import { encodeUpdate } from "./update.ts";
import { execReply } from "./uplink.ts";

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
const generated = (init: MessageInitShape<typeof AgentServerMessageSchema>): string =>
  hex(toBinary(AgentServerMessageSchema, create(AgentServerMessageSchema, init)));

type InteractionBody = Extract<
  NonNullable<MessageInitShape<typeof AgentServerMessageSchema>["message"]>,
  { case: "interactionUpdate" }
>["value"]["message"];
const interaction = (message: NonNullable<InteractionBody>): string =>
  generated({ message: { case: "interactionUpdate", value: { message } } });

describe("text and thinking, written by hand,", () => {
  const textArbitrary = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.string({ unit: "grapheme", minLength: 100, maxLength: 400 }),
  );

  it("are the bytes of the generated code", () => {
    fc.assert(
      fc.property(textArbitrary, (text) => {
        expect(hex(encodeUpdate({ kind: "text", text }))).toBe(interaction({ case: "textDelta", value: { text } }));
        expect(hex(encodeUpdate({ kind: "thinking", text }))).toBe(
          interaction({ case: "thinkingDelta", value: { text } }),
        );
      }),
    );
  });

  it.each([0, 1, 127, 128, 16_383, 16_384, 2_097_152])("are so at a length of %i bytes", (length) => {
    const text = "x".repeat(length);
    expect(hex(encodeUpdate({ kind: "text", text }))).toBe(interaction({ case: "textDelta", value: { text } }));
  });

  it("are the bytes of the example exchange", () => {
    expect(hex(encodeUpdate({ kind: "text", text: "Hel" }))).toBe("0a070a050a0348656c");
    expect(hex(encodeUpdate({ kind: "heartbeat" }))).toBe("0a026a00");
    expect(hex(encodeUpdate({ kind: "thinkingCompleted", durationMs: 420 }))).toBe("0a052a0308a403");
    expect(hex(encodeUpdate({ kind: "tokens", tokens: 3 }))).toBe("0a0442020803");
  });

  it("mend half a surrogate pair where the generated code would refuse it", () => {
    for (const text of ["\ud83d", "a\udc00b"]) {
      const mended = { text: text.toWellFormed() };
      expect(hex(encodeUpdate({ kind: "text", text }))).toBe(interaction({ case: "textDelta", value: mended }));
      expect(hex(encodeUpdate({ kind: "text", text, serverNotice: true }))).toBe(
        interaction({ case: "textDelta", value: { ...mended, isServerNotice: true } }),
      );
      expect(hex(encodeUpdate({ kind: "thinking", text }))).toBe(interaction({ case: "thinkingDelta", value: mended }));
    }
  });
});

describe("other updates", () => {
  const injection = (state: InjectionState): Update => ({
    kind: "injectionState",
    injectionId: "i-1" as InjectionId,
    state,
  });
  const injected = (state: object) =>
    interaction({ case: "contextInjectionState", value: { injectionId: "i-1", state: { state: state as never } } });

  it.each<[string, Update, string]>([
    [
      "a notice",
      { kind: "text", text: "n", serverNotice: true },
      interaction({ case: "textDelta", value: { text: "n", isServerNotice: true } }),
    ],
    ["the start of a summary", { kind: "summaryStarted" }, interaction({ case: "summaryStarted", value: {} })],
    ["a summary", { kind: "summary", text: "s" }, interaction({ case: "summary", value: { summary: "s" } })],
    ["the end of a summary", { kind: "summaryCompleted" }, interaction({ case: "summaryCompleted", value: {} })],
    ["the end without counts", { kind: "turnEnded", usage: {} }, interaction({ case: "turnEnded", value: {} })],
    [
      "the end with counts, where zero is a count",
      { kind: "turnEnded", usage: { inputTokens: 12, outputTokens: 0, reasoningTokens: 3 } },
      interaction({ case: "turnEnded", value: { inputTokens: 12n, outputTokens: 0n, reasoningTokens: 3n } }),
    ],
    [
      "a duration out of range",
      { kind: "thinkingCompleted", durationMs: -1.5 },
      interaction({ case: "thinkingCompleted", value: {} }),
    ],
    ["queued", injection({ kind: "queued" }), injected({ case: "queued", value: {} })],
    [
      "queued for the next turn",
      injection({ kind: "queuedForNextTurn" }),
      injected({ case: "queuedForNextTurn", value: {} }),
    ],
    ["cancelled", injection({ kind: "cancelled" }), injected({ case: "cancelled", value: {} })],
    ["rejected", injection({ kind: "rejected", reason: "r" }), injected({ case: "rejected", value: { reason: "r" } })],
    [
      "delivered",
      injection({ kind: "delivered", step: 2, batchId: "b", atMs: 1_767_225_600_000 }),
      injected({ case: "delivered", value: { step: 2, deliveryBatchId: "b", deliveredAtMs: 1_767_225_600_000n } }),
    ],
  ])("%s", (_, update, bytes) => {
    expect(hex(encodeUpdate(update))).toBe(bytes);
  });

  it("carry a user message as it came, unknown fields and all", () => {
    const message = Uint8Array.from([0x0a, 1, 0x61, 0xc2, 0x3e, 2, 7, 7]);
    const bytes = encodeUpdate({ kind: "userMessageAppended", message });
    expect(hex(bytes)).toBe(`0a0c320a0a08${hex(message)}`);
    const decoded = fromBinary(AgentServerMessageSchema, bytes);
    expect(hex(toBinary(AgentServerMessageSchema, decoded))).toBe(hex(bytes));
  });
});

describe("clientCodec", () => {
  const blob = "ab".repeat(32) as BlobId;

  it("writes blob requests", () => {
    const id = Buffer.from(blob, "hex");
    const data = Buffer.from("data");
    expect(hex(clientCodec.setBlob(7, blob, data))).toBe(
      generated({
        message: {
          case: "kvServerMessage",
          value: { id: 7, message: { case: "setBlobArgs", value: { blobId: id, blobData: data } } },
        },
      }),
    );
    expect(hex(clientCodec.getBlob(8, blob))).toBe(
      generated({
        message: { case: "kvServerMessage", value: { id: 8, message: { case: "getBlobArgs", value: { blobId: id } } } },
      }),
    );
  });

  it("writes an abort, and a request for the context of the client", () => {
    expect(hex(clientCodec.abort(3))).toBe("2a040a020803");
    const message = fromBinary(
      AgentServerMessageSchema,
      clientCodec.requestContext(4, "conv-1" as ConversationId),
    ).message;
    expect(message).toMatchObject({
      case: "execServerMessage",
      value: { id: 4, message: { case: "requestContextArgs", value: { notesSessionId: "conv-1" } } },
    });
  });

  it("wraps a checkpoint without looking into it", () => {
    const state = Uint8Array.from([0xca, 0x3e, 1, 9]);
    expect(hex(clientCodec.checkpoint(state))).toBe(`1a04${hex(state)}`);
    expect(hex(clientCodec.checkpoint(new Uint8Array()))).toBe("1a00");
  });

  it("reads the context that a client answers, or says why there is none", () => {
    const reply = (init: MessageInitShape<typeof ExecClientMessageSchema>["message"]) =>
      execReply(create(ExecClientMessageSchema, { id: 4, ...(init === undefined ? {} : { message: init }) }));
    const success = {
      case: "success",
      value: { requestContext: create(RequestContextSchema, { cloudRule: "Be brief." }) },
    } as const;
    expect(
      clientCodec.decodeRequestContext(reply({ case: "requestContextResult", value: { result: success } })),
    ).toMatchObject({
      ok: true,
      value: { cloudRule: "Be brief.", rules: [] },
    });
    const refused = { case: "rejected", value: { reason: "secret reason" } } as const;
    const answer = clientCodec.decodeRequestContext(
      reply({ case: "requestContextResult", value: { result: refused } }),
    );
    expect(answer).toMatchObject({ ok: false, error: { code: "PREPARE_FAILED" } });
    expect(JSON.stringify(answer)).not.toContain("secret");
    expect(clientCodec.decodeRequestContext(reply(undefined)).ok).toBe(false);
    expect(clientCodec.decodeRequestContext(reply({ case: "lsResult", value: {} })).ok).toBe(false);
  });

  it("tells a stored message that cannot be read as an invalid request", () => {
    expect(clientCodec.decodeUplink(Uint8Array.of(0xff))).toEqual({
      ok: false,
      error: {
        code: "INVALID_REQUEST",
        title: "Invalid request",
        detail: "The message could not be read as AgentClientMessage.",
        retryable: false,
      },
    });
  });
});
