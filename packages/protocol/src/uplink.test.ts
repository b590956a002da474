import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import type { Action, RunRequest, UplinkMessage } from "@chartroom/domain";
import { AgentClientMessageSchema } from "@chartroom/protocols/agent/v1/agent_service";
import type { ConversationActionSchema } from "@chartroom/protocols/agent/v1/conversation_action";
import type { AgentRunRequestSchema } from "@chartroom/protocols/agent/v1/run_request";
import { UserMessageSchema } from "@chartroom/protocols/agent/v1/user_message";
import { fc } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import { blobId, blobIdBytes } from "./blob.ts";
import { wrap } from "./bytes.ts";
import type { Decoded } from "./result.ts";
import { appendKind, decodeUplink, execClientMessage, interactionResponse } from "./uplink.ts";

type ClientBody = NonNullable<MessageInitShape<typeof AgentClientMessageSchema>["message"]>;
type ActionBody = NonNullable<MessageInitShape<typeof ConversationActionSchema>["action"]>;
type RunInit = MessageInitShape<typeof AgentRunRequestSchema>;

const clientBytes = (message: ClientBody): Uint8Array =>
  toBinary(AgentClientMessageSchema, create(AgentClientMessageSchema, { message }));
const decode = (message: ClientBody): Decoded<UplinkMessage> => decodeUplink(clientBytes(message));

function run(init: RunInit): RunRequest {
  const result = decode({ case: "runRequest", value: init as never });
  if (!result.ok || result.value.kind !== "run") throw new Error(JSON.stringify(result));
  return result.value.request;
}

function live(action: ActionBody): Decoded<Action> {
  const result = decode({ case: "conversationAction", value: { action } });
  if (!result.ok) return result;
  if (result.value.kind !== "action") throw new Error(result.value.kind);
  return { ok: true, value: result.value.action };
}

const message = { text: "Say hello", messageId: "msg-1" };

describe("a Run request", () => {
  it("is read with its ids, model, tools and message", () => {
    const request = run({
      conversationId: "conv-1",
      runId: "run-1",
      agentSessionId: "session-1",
      conversationGroupId: "conv-0",
      subagentTypeName: "explore",
      customSystemPrompt: "Be brief.",
      requestedModel: { modelId: "m-1", maxMode: true, parameters: [{ id: "effort", value: "high" }] },
      modelDetails: { modelId: "m-2" },
      mcpTools: {
        mcpTools: [
          {
            name: "tracker-search",
            toolName: "search",
            providerIdentifier: "tracker",
            inputSchemaJson: '{"type":"object"}',
          },
        ],
      },
      action: { action: { case: "userMessageAction", value: { userMessage: message } } },
    });
    expect(request).toMatchObject({
      conversationId: "conv-1",
      wireRunId: "run-1",
      agentSessionId: "session-1",
      conversationGroupId: "conv-0",
      subagentTypeName: "explore",
      customSystemPrompt: "Be brief.",
      model: { modelId: "m-1", maxMode: true, parameters: { effort: "high" } },
      mcpTools: [
        { name: "tracker-search", toolName: "search", providerIdentifier: "tracker", inputSchema: { type: "object" } },
      ],
      action: {
        kind: "userMessage",
        message: { messageId: "msg-1", text: "Say hello", mode: "agent", simulated: false },
      },
      prefetched: [],
    });
    expect(request.state).toHaveLength(0);
  });

  it("has no ids when the client gives none or empty ones", () => {
    const request = run({ runId: "", agentSessionId: "", conversationGroupId: "" });
    expect(Object.keys(request).toSorted()).toEqual(["action", "mcpTools", "model", "prefetched", "state"]);
    expect(request.model).toEqual({ modelId: "default", maxMode: false, parameters: {} });
    expect(request.action).toEqual({ kind: "unsupported", name: "none" });
  });

  it("takes the older model choice when there is no newer one", () => {
    expect(run({ modelDetails: { modelId: "m-2", maxMode: true } }).model).toMatchObject({
      modelId: "m-2",
      maxMode: true,
    });
  });

  it.each([
    [{ conversationId: "" }, "conversation_id", "empty"],
    [{ conversationId: ".." }, "conversation_id", "dots"],
    [{ conversationId: "a/b" }, "conversation_id", "characters"],
    [{ conversationId: "x".repeat(10_240) }, "conversation_id", "tooLong"],
    [{ runId: "a b" }, "run_id", "characters"],
    [{ agentSessionId: "'; --" }, "agent_session_id", "characters"],
    [{ conversationGroupId: "a\0" }, "conversation_group_id", "characters"],
    [{ requestedModel: { modelId: "a\u0007" } }, "model_id", "characters"],
    [
      { action: { action: { case: "userMessageAction", value: { userMessage: { text: "t" } } } } },
      "message_id",
      "empty",
    ],
  ] as const)("is refused with a bad id: %j (ID-11)", (init, field, reason) => {
    expect(decode({ case: "runRequest", value: init as never })).toEqual({
      ok: false,
      error: { kind: "identity", field, reason },
    });
  });

  it("keeps the state and the message byte for byte, with fields in any order and unknown ones", () => {
    // number 400 before number 2: no writer of ours would give these bytes
    const state = Uint8Array.from([0x82, 0x19, 1, 7, 0x0a, 1, 9]);
    const user = Uint8Array.from([0x12, 1, 0x6d, 0x82, 0x19, 1, 7, 0x0a, 1, 0x74]);
    const userAction = Uint8Array.from([0x0a, user.length, ...user]);
    const action = Uint8Array.from([0x0a, userAction.length, ...userAction]);
    const body = Uint8Array.from([0x0a, state.length, ...state, 0x12, action.length, ...action]);
    const result = decodeUplink(Uint8Array.from([0x0a, body.length, ...body]));
    if (!result.ok || result.value.kind !== "run" || result.value.request.action.kind !== "userMessage")
      throw new Error();
    expect(Buffer.from(result.value.request.state)).toEqual(Buffer.from(state));
    expect(Buffer.from(result.value.request.action.message.wire)).toEqual(Buffer.from(user));
    expect(result.value.request.action.message).toMatchObject({ messageId: "m", text: "t" });
  });

  it("merges what protobuf merges when the message comes in two pieces", () => {
    const first = clientBytes({
      case: "runRequest",
      value: { conversationId: "conv-1", conversationState: { agentType: "a" } },
    });
    const second = clientBytes({
      case: "runRequest",
      value: { runId: "run-1", conversationState: { readPaths: ["/p"] } },
    });
    const result = decodeUplink(Buffer.concat([first, second]));
    if (!result.ok || result.value.kind !== "run") throw new Error();
    expect(result.value.request).toMatchObject({ conversationId: "conv-1", wireRunId: "run-1" });
    expect(result.value.request.state.byteLength).toBeGreaterThan(5);
  });

  it("keeps prefetched blobs whose hash fits, whichever field holds it", () => {
    const data = Buffer.from("content");
    const id = blobIdBytes(blobId(data));
    const request = run({
      preFetchedBlobs: [
        { id, value: data },
        { id: data, value: id },
        { id, value: Buffer.from("other") },
      ],
    });
    expect(request.prefetched).toEqual([
      { id: blobId(data), data: expect.anything() },
      { id: blobId(data), data: expect.anything() },
    ]);
  });

  it("is stored as it came, but never with the provider keys of the user", () => {
    const plain = clientBytes({ case: "runRequest", value: { conversationId: "conv-1" } });
    const kept = decodeUplink(plain);
    expect(kept.ok && kept.value.kind === "run" && kept.value.raw === plain).toBe(true);
    const credentials = { case: "apiKeyCredentials", value: { apiKey: "sk-secret" } } as const;
    const withKeys = decode({
      case: "runRequest",
      value: {
        conversationId: "conv-1",
        requestedModel: { modelId: "m-1", credentials },
        modelDetails: { modelId: "m-1", credentials },
        selectedSubagentModels: [{ modelId: "m-2", credentials }],
        selectedSubagentModelDetails: [{ modelId: "m-2", credentials }],
        subagentModelOverrides: [
          { subagentType: "explore", selection: { case: "model", value: { modelId: "m-3", credentials } as never } },
        ],
      },
    });
    if (!withKeys.ok || withKeys.value.kind !== "run") throw new Error();
    expect(Buffer.from(withKeys.value.raw).includes("sk-secret")).toBe(false);
    expect(Buffer.from(withKeys.value.raw).includes("m-3")).toBe(true);
  });
});

describe("a prewarm", () => {
  it("is a Run request without a Run", () => {
    const result = decode({
      case: "prewarmRequest",
      value: { conversationId: "conv-1", requestedModel: { modelId: "m-1" } },
    });
    expect(result).toMatchObject({
      ok: true,
      value: {
        kind: "prewarm",
        request: { conversationId: "conv-1", action: { kind: "unsupported", name: "prewarm" } },
      },
    });
  });

  it("keeps its state, and reads a harness that is not UTF-8", () => {
    const result = decode({
      case: "prewarmRequest",
      value: { harness: Uint8Array.of(0xff), conversationState: { readPaths: ["/p"] } },
    });
    expect(result.ok && result.value.kind === "prewarm" && Buffer.from(result.value.request.state).includes("/p")).toBe(
      true,
    );
  });
});

describe("actions", () => {
  it("read a user message with what was queued before it and the results of stopped calls", () => {
    const result = live({
      case: "userMessageAction",
      value: {
        userMessage: { ...message, mode: 3, isSimulatedMsg: true },
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
      { case: "startPlanAction", value: { userMessage: message, isSpec: true } },
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
          payload: { case: "userContext", value: { userMessage: message } },
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
      { case: "userMessageAction", value: { userMessage: message, prependUserMessages: [{ text: "x" }] } },
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

describe("answers and control messages", () => {
  it("hand the exec answer through to those who know it", () => {
    const result = decode({
      case: "execClientMessage",
      value: { id: 5, message: { case: "readResult", value: { result: { case: "success", value: { path: "/p" } } } } },
    });
    if (!result.ok || result.value.kind !== "exec") throw new Error();
    expect(result.value.reply.execId).toBe(5);
    expect(execClientMessage(result.value.reply).message.case).toBe("readResult");
  });

  it("hand the answer of the user through to those who know it", () => {
    const result = decode({
      case: "interactionResponse",
      value: { id: 6, result: { case: "switchModeRequestResponse", value: {} } },
    });
    if (!result.ok || result.value.kind !== "query") throw new Error();
    expect(result.value.reply.queryId).toBe(6);
    expect(interactionResponse(result.value.reply).result.case).toBe("switchModeRequestResponse");
  });

  it.each<[ClientBody, object]>([
    [
      { case: "execClientControlMessage", value: { message: { case: "streamClose", value: { id: 1 } } } },
      { kind: "execControl", control: { kind: "close", execId: 1 } },
    ],
    [
      { case: "execClientControlMessage", value: { message: { case: "heartbeat", value: { id: 2 } } } },
      { kind: "execControl", control: { kind: "heartbeat", execId: 2 } },
    ],
    [
      {
        case: "execClientControlMessage",
        value: { message: { case: "throw", value: { id: 3, error: "no", stackTrace: "s" } } },
      },
      { kind: "execControl", control: { kind: "throw", execId: 3, message: "no" } },
    ],
    [{ case: "execClientControlMessage", value: {} }, { kind: "unknown" }],
    [
      { case: "kvClientMessage", value: { id: 1, message: { case: "setBlobResult", value: {} } } },
      { kind: "kv", reply: { kind: "set", kvId: 1 } },
    ],
    [
      {
        case: "kvClientMessage",
        value: { id: 2, message: { case: "setBlobResult", value: { error: { message: "disk full" } } } },
      },
      { kind: "kv", reply: { kind: "set", kvId: 2, error: "disk full" } },
    ],
    [
      { case: "kvClientMessage", value: { id: 3, message: { case: "getBlobResult", value: {} } } },
      { kind: "kv", reply: { kind: "get", kvId: 3, data: new Uint8Array() } },
    ],
    [{ case: "kvClientMessage", value: {} }, { kind: "unknown" }],
    [{ case: "clientHeartbeat", value: {} }, { kind: "heartbeat" }],
  ])("read %j", (body, expected) => {
    expect(decode(body)).toEqual({ ok: true, value: expected });
  });

  it("take an empty message, and one of a newer kind, as unknown", () => {
    expect(decodeUplink(new Uint8Array())).toEqual({ ok: true, value: { kind: "unknown" } });
    expect(decodeUplink(Uint8Array.from([0xc2, 0x3e, 1, 0]))).toEqual({ ok: true, value: { kind: "unknown" } });
  });
});

describe("appendKind", () => {
  it("tells what opens a stream and what is alive", () => {
    const kindOf = (body: ClientBody): string => {
      const result = decode(body);
      return result.ok ? appendKind(result.value) : "error";
    };
    expect(kindOf({ case: "runRequest", value: {} })).toBe("run");
    expect(kindOf({ case: "prewarmRequest", value: {} })).toBe("prewarm");
    expect(kindOf({ case: "clientHeartbeat", value: {} })).toBe("heartbeat");
    expect(kindOf({ case: "kvClientMessage", value: {} })).toBe("other");
    expect(kindOf({ case: "conversationAction", value: {} })).toBe("other");
  });
});

describe("hostile bytes", () => {
  const seeds = [
    clientBytes({
      case: "runRequest",
      value: {
        conversationId: "conv-1",
        conversationState: { readPaths: ["/a"] },
        action: {
          action: {
            case: "userMessageAction",
            value: {
              userMessage: { ...message, selectedContext: { files: [{ path: "/f", content: "c" }] } },
              requestContext: {
                env: { shell: "sh" },
                projectLayouts: [{ absPath: "/ws", childrenDirs: [{ absPath: "/ws/a" }] }],
              },
            },
          },
        },
      },
    }),
    clientBytes({
      case: "conversationAction",
      value: { action: { case: "executePlanAction", value: { plan: { plan: "p" } } } },
    }),
    clientBytes({
      case: "kvClientMessage",
      value: { id: 1, message: { case: "getBlobResult", value: { blobData: Buffer.from("b") } } },
    }),
  ];
  const isClean = (bytes: Uint8Array): boolean => {
    const result = decodeUplink(bytes);
    return result.ok || ["malformed", "identity", "missing"].includes(result.error.kind);
  };

  it("give a message or a tagged error, never an exception", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
        expect(isClean(bytes)).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });

  it("do so too when they are nearly right", () => {
    const edit = fc.record({ at: fc.nat(), byte: fc.integer({ min: 0, max: 255 }), cut: fc.boolean() });
    fc.assert(
      fc.property(fc.constantFrom(...seeds), fc.array(edit, { minLength: 1, maxLength: 6 }), (seed, edits) => {
        let bytes = Uint8Array.from(seed);
        for (const { at, byte, cut } of edits) {
          const place = at % (bytes.byteLength + 1);
          if (cut) bytes = Uint8Array.from([...bytes.subarray(0, place), ...bytes.subarray(place + 1)]);
          else bytes[place] = byte;
        }
        expect(isClean(bytes)).toBe(true);
      }),
      { numRuns: 5000 },
    );
  });

  it("do so when nested without end", () => {
    // run_request, action, user_message_action, request_context, project_layouts, children_dirs and so on
    const bytes = wrap([1, 2, 1, 2, 13, ...Array.from({ length: 20_000 }, () => 2)], Buffer.from([0x0a, 1, 0x61]));
    expect(decodeUplink(bytes)).toEqual({ ok: false, error: { kind: "malformed", what: "AgentClientMessage" } });
  });
});
