import { fromBinary, type MessageInitShape } from "@bufbuild/protobuf";
import type { Action } from "@chartroom/domain";
import type { ConversationActionSchema } from "@chartroom/protocols/agent/v1/conversation_action";
import { UserMessageSchema } from "@chartroom/protocols/agent/v1/user_message";
import { describe, expect, it } from "vitest";
import type { Decoded } from "./result.ts";
import { decodeClient, MESSAGE } from "./uplink.fixture.ts";
import { decodeUplink } from "./uplink.ts";

type ActionBody = NonNullable<MessageInitShape<typeof ConversationActionSchema>["action"]>;

function live(action: ActionBody): Decoded<Action> {
  const result = decodeClient({ case: "conversationAction", value: { action } });
  if (!result.ok) return result;
  if (result.value.kind !== "action") throw new Error(result.value.kind);
  return { ok: true, value: result.value.action };
}

describe("actions", () => {
  it("read a user message with what was queued before it and the results of stopped calls", () => {
    const result = live({
      case: "userMessageAction",
      value: {
        userMessage: { ...MESSAGE, mode: 3, isSimulatedMsg: true },
        prependUserMessages: [
          { text: "one", messageId: "msg-a" },
          { text: "two", messageId: "msg-b" },
        ],
        interruptedPendingToolCallResolutions: {
          resolutions: [{ toolCallId: "call_1", resolution: { case: "taskResult", value: {} } }, { toolCallId: "" }],
        },
        conversationHistory: {},
        requestContext: { cloudRule: "rule" },
      },
    });
    expect(result).toMatchObject({
      ok: true,
      value: {
        kind: "userMessage",
        message: { mode: "plan", simulated: true },
        prepend: [
          { messageId: "msg-a", text: "one" },
          { messageId: "msg-b", text: "two" },
        ],
        resolutions: [{ callId: "call_1" }],
        context: { cloudRule: "rule" },
        plainHistory: new Uint8Array(),
      },
    });
    if (!result.ok || result.value.kind !== "userMessage") throw new Error();
    expect(result.value.prepend.map((each) => fromBinary(UserMessageSchema, each.wire).text)).toEqual(["one", "two"]);
  });

  it("name the blob that holds a long text", () => {
    const id = Buffer.alloc(32, 0xab);
    expect(
      live({ case: "userMessageAction", value: { userMessage: { messageId: "msg-1", textBlobId: id } } }),
    ).toMatchObject({
      value: { message: { text: "", textBlob: "ab".repeat(32) } },
    });
  });

  it.each<[ActionBody, object]>([
    [{ case: "resumeAction", value: {} }, { kind: "resume" }],
    [
      { case: "resumeAction", value: { requestContext: { cloudRule: "r" } } },
      { kind: "resume", context: { cloudRule: "r" } },
    ],
    [
      { case: "cancelAction", value: { reason: "user" } },
      { kind: "cancel", reason: "user", resolutions: [] },
    ],
    [{ case: "summarizeAction", value: {} }, { kind: "summarize" }],
    [
      { case: "userMessageAction", value: { userMessage: { text: " /summarize\n", messageId: "msg-1" } } },
      { kind: "summarize", messageId: "msg-1" },
    ],
    [
      { case: "userMessageAction", value: { userMessage: { text: "/summarize the file", messageId: "msg-1" } } },
      { kind: "userMessage", message: { text: "/summarize the file" } },
    ],
    [
      {
        case: "userMessageAction",
        value: {
          userMessage: { text: "/summarize", messageId: "msg-1" },
          prependUserMessages: [{ text: "first this", messageId: "msg-0" }],
        },
      },
      { kind: "userMessage", message: { text: "/summarize" }, prepend: [{ text: "first this" }] },
    ],
    [
      { case: "startPlanAction", value: { userMessage: MESSAGE, isSpec: true } },
      { kind: "startPlan", spec: true, message: { text: "Say hello" } },
    ],
    [
      { case: "cancelSubagentAction", value: { subagentId: "agent-1" } },
      { kind: "cancelSubagent", subagentId: "agent-1" },
    ],
    [
      {
        case: "asyncAskQuestionCompletionAction",
        value: {
          originalToolCallId: "call_1",
          originalArgs: {
            questions: [
              {
                id: "q1",
                prompt: "Colour?",
                options: [
                  { id: "o1", label: "Red" },
                  { id: "o2", label: "Blue" },
                ],
              },
              { id: "q2", prompt: "Why?" },
            ],
          },
          result: {
            result: {
              case: "success",
              value: {
                answers: [
                  { questionId: "q1", selectedOptionIds: ["o1", "o2"] },
                  { questionId: "q2", freeformText: "It fits." },
                ],
              },
            },
          },
        },
      },
      { kind: "asyncAnswer", callId: "call_1", text: "Colour?: Red, Blue\nWhy?: It fits." },
    ],
    [
      {
        case: "injectContextAction",
        value: {
          injectionId: "i-1",
          expectedRunId: "run-1",
          payload: { case: "userContext", value: { userMessage: MESSAGE } },
        },
      },
      {
        kind: "inject",
        injection: {
          injectionId: "i-1",
          expectedRunId: "run-1",
          payload: { type: "user", message: { messageId: "msg-1" } },
        },
      },
    ],
    [
      {
        case: "injectContextAction",
        value: { injectionId: "i-1", payload: { case: "systemContext", value: { producer: "p", content: "c" } } },
      },
      {
        kind: "inject",
        injection: { injectionId: "i-1", expectedRunId: "", payload: { type: "system", producer: "p", content: "c" } },
      },
    ],
    [
      { case: "injectContextAction", value: { injectionId: "i-1" } },
      { kind: "unsupported", name: "injectContextAction" },
    ],
    [
      { case: "shellCommandAction", value: {} },
      { kind: "unsupported", name: "shellCommandAction" },
    ],
    [
      { case: "goalContinuationAction", value: {} },
      { kind: "unsupported", name: "goalContinuationAction" },
    ],
  ])("read %j", (action, expected) => {
    expect(live(action)).toMatchObject({ ok: true, value: expected });
  });

  it("read the ends of background tasks", () => {
    const result = live({
      case: "backgroundTaskCompletionAction",
      value: {
        completions: [
          {
            taskId: "t1",
            kind: 1,
            status: 1,
            title: "build",
            detail: "ok",
            outputPath: "/o",
            toolCallId: "call_1",
            reason: 1,
          },
          { taskId: "t2", kind: 2, status: 2, subagentId: "agent-1" },
          { taskId: "t3", kind: 2, status: 3 },
          { taskId: "t4", kind: 9 as 0, status: 1, reason: 2 },
        ],
      },
    });
    expect(result).toEqual({
      ok: true,
      value: {
        kind: "backgroundCompletion",
        completions: [
          {
            taskKind: "shell",
            status: "completed",
            taskId: "t1",
            callId: "call_1",
            title: "build",
            detail: "ok",
            outputPath: "/o",
          },
          { taskKind: "subagent", status: "failed", taskId: "t2", subagentId: "agent-1", title: "", detail: "" },
          { taskKind: "subagent", status: "cancelled", taskId: "t3", title: "", detail: "" },
          { taskKind: "other", status: "progress", taskId: "t4", title: "", detail: "" },
        ],
      },
    });
  });

  it("make a simulated message of a plan, with the same id on a retry", () => {
    const action: ActionBody = {
      case: "executePlanAction",
      value: { plan: { plan: "1. Do it" }, planFilePath: "/ws/p.md", executionMode: 1, planId: "p-1" },
    };
    const first = live(action);
    const second = live(action);
    if (!first.ok || first.value.kind !== "executePlan" || !second.ok || second.value.kind !== "executePlan")
      throw new Error();
    expect(first.value.message.simulated).toBe(true);
    expect(first.value.message.text).toContain("1. Do it");
    expect(first.value.message.messageId).toMatch(/^plan-[0-9a-f]{64}$/);
    expect(second.value.message.messageId).toBe(first.value.message.messageId);
    expect(fromBinary(UserMessageSchema, first.value.message.wire).executePlanInfo?.planId).toBe("p-1");
    expect(live({ case: "executePlanAction", value: { kickoffMessageId: "msg-k" } })).toMatchObject({
      value: { message: { messageId: "msg-k" } },
    });
  });

  it.each<[ActionBody, object]>([
    [
      { case: "userMessageAction", value: {} },
      { kind: "missing", field: "user_message" },
    ],
    [
      { case: "userMessageAction", value: { userMessage: MESSAGE, prependUserMessages: [{ text: "x" }] } },
      { kind: "identity", field: "message_id", reason: "empty" },
    ],
    [
      { case: "injectContextAction", value: { injectionId: "a b" } },
      { kind: "identity", field: "injection_id", reason: "characters" },
    ],
    [
      { case: "cancelSubagentAction", value: {} },
      { kind: "missing", field: "subagent_id" },
    ],
    [
      { case: "asyncAskQuestionCompletionAction", value: {} },
      { kind: "identity", field: "original_tool_call_id", reason: "empty" },
    ],
  ])("refuse %j", (action, error) => {
    expect(live(action)).toEqual({ ok: false, error });
  });

  it("name an action of a newer client by its number", () => {
    const result = decodeUplink(Uint8Array.from([0x22, 3, 0xc2, 0x3e, 0]));
    expect(result).toMatchObject({
      ok: true,
      value: { kind: "action", action: { kind: "unsupported", name: "action 1000" } },
    });
  });
});
