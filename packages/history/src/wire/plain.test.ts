import { agent, create, toBinary } from "@chartroom/protocol";
import { expect, test } from "vitest";
import { EMPTY_VIEW } from "../view.ts";
import { encodeCheckpoint } from "./encode.ts";
import { readPlainHistory } from "./plain.ts";
import { readState } from "./state.ts";

const message = (value: agent.ConversationHistoryMessage["message"]) =>
  create(agent.ConversationHistoryMessageSchema, { message: value });
const text = (value: string) =>
  ({ case: "text", value: create(agent.ConversationHistoryTextContentSchema, { text: value }) }) as const;

const history = toBinary(
  agent.ConversationHistorySchema,
  create(agent.ConversationHistorySchema, {
    messages: [
      message({
        case: "user",
        value: create(agent.ConversationHistoryUserMessageSchema, {
          content: [
            create(agent.ConversationHistoryUserContentSchema, { content: text("look") }),
            create(agent.ConversationHistoryUserContentSchema, {
              content: {
                case: "image",
                value: create(agent.ConversationHistoryImageContentSchema, { data: "AQID", mimeType: "image/png" }),
              },
            }),
          ],
        }),
      }),
      message({
        case: "assistant",
        value: create(agent.ConversationHistoryAssistantMessageSchema, {
          content: [
            create(agent.ConversationHistoryAssistantContentSchema, {
              content: {
                case: "reasoning",
                value: create(agent.ConversationHistoryReasoningContentSchema, { text: "hm", signature: "s" }),
              },
            }),
            create(agent.ConversationHistoryAssistantContentSchema, { content: text("I look.") }),
            create(agent.ConversationHistoryAssistantContentSchema, {
              content: {
                case: "toolCall",
                value: create(agent.ConversationHistoryToolCallSchema, {
                  toolCallId: "c",
                  toolName: "Read",
                  argsJson: '{ "a": 1 }',
                }),
              },
            }),
          ],
        }),
      }),
      message({
        case: "tool",
        value: create(agent.ConversationHistoryToolMessageSchema, {
          toolCallId: "c",
          toolName: "Read",
          isError: true,
          content: [create(agent.ConversationHistoryToolResultContentSchema, { content: text("gone") })],
        }),
      }),
      message({ case: undefined }),
    ],
  }),
);

test("plain messages become canonical ones, pictures stored", () => {
  const read = readPlainHistory(history)!;
  expect(read.messages.map((item) => item.role)).toEqual(["user", "assistant", "tool"]);
  expect(read.messages[0]!.content).toMatchObject({
    parts: [{ text: "look" }, { type: "image", blob: read.blobs[0]!.id }],
  });
  expect(read.messages[1]!.content).toMatchObject({
    record: {
      blocks: [{ type: "thinking", replay: { vendor: "foreign:" } }, { text: "I look." }],
      calls: [{ id: "c", arguments: '{ "a": 1 }' }],
    },
  });
  expect(read.messages[2]!.content).toMatchObject({ result: { callId: "c", text: "gone", isError: true } });
});

test("they have ids of their own, the same each time, and root prompt messages like all others", () => {
  const [once, twice] = [readPlainHistory(history)!, readPlainHistory(history)!];
  expect(once).toEqual(twice);
  expect(new Set(once.messages.map((item) => item.id)).size).toBe(3);
  const made = encodeCheckpoint({
    system: "sys",
    view: { ...EMPTY_VIEW, messages: once.messages },
    blob: (id) => once.blobs.find((blob) => blob.id === id)?.data,
    mode: "agent",
  });
  const state = made.ok ? readState(made.state) : undefined;
  expect(state?.ok && state.outline.roots).toHaveLength(4);
  expect(state?.ok && state.outline.turns).toHaveLength(1);
});

test("bytes that are no history", () => {
  expect(readPlainHistory(new Uint8Array([0xff]))).toBeUndefined();
});
