import type { MessageInitShape } from "@bufbuild/protobuf";
import type { RunRequest } from "@chartroom/domain";
import type { AgentRunRequestSchema } from "@chartroom/protocols/agent/v1/run_request";
import { describe, expect, it } from "vitest";
import { blobId, blobIdBytes } from "./blob.ts";
import { type ClientBody, clientBytes, decodeClient, MESSAGE } from "./uplink.fixture.ts";
import { appendKind, decodeUplink, execClientMessage, interactionResponse } from "./uplink.ts";

type RunInit = MessageInitShape<typeof AgentRunRequestSchema>;

function run(init: RunInit): RunRequest {
  const result = decodeClient({ case: "runRequest", value: init as never });
  if (!result.ok || result.value.kind !== "run") throw new Error(JSON.stringify(result));
  return result.value.request;
}

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
      action: { action: { case: "userMessageAction", value: { userMessage: MESSAGE } } },
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
    expect(decodeClient({ case: "runRequest", value: init as never })).toEqual({
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
    const withKeys = decodeClient({
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
    const result = decodeClient({
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
    const result = decodeClient({
      case: "prewarmRequest",
      value: { harness: Uint8Array.of(0xff), conversationState: { readPaths: ["/p"] } },
    });
    expect(result.ok && result.value.kind === "prewarm" && Buffer.from(result.value.request.state).includes("/p")).toBe(
      true,
    );
  });
});

describe("answers and control messages", () => {
  it("hand the exec answer through to those who know it", () => {
    const result = decodeClient({
      case: "execClientMessage",
      value: { id: 5, message: { case: "readResult", value: { result: { case: "success", value: { path: "/p" } } } } },
    });
    if (!result.ok || result.value.kind !== "exec") throw new Error();
    expect(result.value.reply.execId).toBe(5);
    expect(execClientMessage(result.value.reply).message.case).toBe("readResult");
  });

  it("hand the answer of the user through to those who know it", () => {
    const result = decodeClient({
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
    expect(decodeClient(body)).toEqual({ ok: true, value: expected });
  });

  it("take an empty message, and one of a newer kind, as unknown", () => {
    expect(decodeUplink(new Uint8Array())).toEqual({ ok: true, value: { kind: "unknown" } });
    expect(decodeUplink(Uint8Array.from([0xc2, 0x3e, 1, 0]))).toEqual({ ok: true, value: { kind: "unknown" } });
  });
});

describe("appendKind", () => {
  it("tells what opens a stream and what is alive", () => {
    const kindOf = (body: ClientBody): string => {
      const result = decodeClient(body);
      return result.ok ? appendKind(result.value) : "error";
    };
    expect(kindOf({ case: "runRequest", value: {} })).toBe("run");
    expect(kindOf({ case: "prewarmRequest", value: {} })).toBe("prewarm");
    expect(kindOf({ case: "clientHeartbeat", value: {} })).toBe("heartbeat");
    expect(kindOf({ case: "kvClientMessage", value: {} })).toBe("other");
    expect(kindOf({ case: "conversationAction", value: {} })).toBe("other");
  });
});
