import { blobId, blobIdBytes } from "@chartroom/protocol";
import { AgentMode } from "@chartroom/protocols/agent";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { eventually } from "../../test/eventually.ts";
import { eventsOf, only, resultOf, say, SETTINGS, Stage } from "../../test/clients.ts";

vi.setConfig({ testTimeout: 30_000 });

let stage: Stage;
beforeEach(async () => {
  stage = await Stage.open();
});
afterEach(() => stage.close());

const failure = (retryable: boolean) => ({
  code: "PROVIDER_SERVER" as const,
  title: "Provider Error",
  detail: "Upstream returned 503",
  retryable,
});
const data = new Uint8Array(Buffer.from('{"role":"system","content":"x"}'));
const id = blobIdBytes(blobId(data));

describe.each(SETTINGS)("a turn over $name", (setting) => {
  it("is a message, a stream of updates, a checkpoint, and a clean end", async () => {
    const server = await stage.serve(async (run) => {
      const request = await run.next("runRequest");
      expect(request.action?.action).toMatchObject({
        case: "userMessageAction",
        value: {
          userMessage: { text: "Say hello", mode: AgentMode.AGENT },
          requestContext: { env: { workspacePaths: [stage.folder] } },
        },
      });
      expect(request).toMatchObject({ requestedModel: { modelId: "demo" }, conversationId: expect.any(String) });
      run.send({
        case: "kvServerMessage",
        value: { id: 1, message: { case: "setBlobArgs", value: { blobId: id, blobData: data } } },
      });
      expect((await run.next("kvClientMessage")).message).toMatchObject({ case: "setBlobResult", value: {} });
      run.update({ case: "heartbeat", value: {} });
      run.update({ case: "thinkingDelta", value: { text: "Hm." } });
      run.update({ case: "thinkingCompleted", value: { thinkingDurationMs: 420 } });
      run.text("Hel");
      run.text("lo!");
      run.update({ case: "tokenDelta", value: { tokens: 3 } });
      run.send({
        case: "conversationCheckpointUpdate",
        value: { rootPromptMessagesJson: [id], tokenDetails: { usedTokens: 120, maxTokens: 200000 } },
      });
      run.turnEnded();
      run.end();
    }, setting);
    const client = await stage.client(server, setting);
    const conversation = await client.newConversation("demo");
    const events = await say(client, conversation, "Say hello");
    expect(events.filter((event) => event.type !== "turn.started")).toEqual([
      { type: "thinking", text: "Hm." },
      { type: "thinking.completed", durationMs: 420 },
      { type: "text", text: "Hel" },
      { type: "text", text: "lo!" },
      { type: "tokens", output: 3 },
      { type: "checkpoint", usedTokens: 120, maxTokens: 200000 },
      { type: "turn.ended", inputTokens: 100, outputTokens: 20 },
      {
        type: "result",
        outcome: "completed",
        conversation: conversation.id,
        requestId: server.runs[0]?.requestId,
        attempts: 1,
        text: "Hello!",
        usage: { inputTokens: 100, outputTokens: 20 },
        unsent: [],
      },
    ]);
    expect(server.runs[0]?.headers).toMatchObject({
      authorization: "Bearer token-1",
      "x-cursor-client-type": "cli",
      "x-ghost-mode": "true",
    });
    expect(server.runs[0]?.headers).not.toHaveProperty("x-original-request-id");
  });

  it("carries out a tool and gives its result", async () => {
    await stage.write("README.md", "# Demo\n");
    const server = await stage.serve(async (run) => {
      await run.next("runRequest");
      const answer = await run.exec(1, {
        execId: "call_1",
        message: { case: "readArgs", value: { path: "README.md" } },
      });
      expect(answer.map(({ message }) => message)).toMatchObject([
        {
          case: "execClientMessage",
          value: {
            id: 1,
            execId: "call_1",
            message: { case: "readResult", value: { result: { value: { totalLines: 1 } } } },
          },
        },
        { case: "execClientControlMessage", value: { message: { case: "streamClose", value: { id: 1 } } } },
      ]);
      run.turnEnded();
      run.end();
    }, setting);
    const client = await stage.client(server, setting);
    const events = await say(client, await client.newConversation("demo"), "Read");
    expect(only(events, "exec.completed")).toMatchObject([{ kind: "read", toolCallId: "call_1", outcome: "success" }]);
    expect(resultOf(events).outcome).toBe("completed");
  });

  it("shows an error of the server with its title, and does not try again", async () => {
    const server = await stage.serve((run) => run.end(failure(false)), setting);
    const client = await stage.client(server, setting);
    const events = await say(client, await client.newConversation("demo"), "Hi");
    expect(resultOf(events)).toMatchObject({
      outcome: "failed",
      attempts: 1,
      error: { kind: "server", title: "Provider Error", detail: "Upstream returned 503", retryable: false },
    });
  });

  it("is refused before it begins", async () => {
    const server = await stage.serve(() => undefined, setting);
    server.refuse = { code: "UNAUTHENTICATED", title: "Not signed in", detail: "Bring a token", retryable: false };
    const client = await stage.client(server, setting);
    const events = await say(client, await client.newConversation("demo"), "Hi");
    expect(resultOf(events)).toMatchObject({
      outcome: "failed",
      error: { code: "unauthenticated", title: "Not signed in", detail: "Bring a token" },
    });
    expect(await client.models()).toMatchObject({ ok: false, failure: { title: "Not signed in" } });
  });

  it("knows the server's models", async () => {
    const server = await stage.serve(() => undefined, setting);
    const client = await stage.client(server, setting);
    expect(await client.models()).toEqual({ ok: true, models: [{ id: "demo", name: "Demo" }] });
    expect(await client.defaultModel()).toEqual({ ok: true, model: { id: "demo", name: "Demo" } });
  });

  it("stops when it is cancelled, and the server hears of open commands", async () => {
    const server = await stage.serve(async (run) => {
      await run.next("runRequest");
      run.send({
        case: "execServerMessage",
        value: {
          id: 1,
          execId: "call_sh",
          message: { case: "shellStreamArgs", value: { command: "echo ready; sleep 1000", toolCallId: "call_sh" } },
        },
      });
      const { action } = await run.next("conversationAction");
      expect(action).toMatchObject({
        case: "cancelAction",
        value: {
          reason: "cancelled by the user",
          interruptedPendingToolCallResolutions: {
            resolutions: [
              {
                toolCallId: "call_sh",
                resolution: { value: { result: { value: { aborted: true, stdout: "ready\n" } } } },
              },
            ],
          },
        },
      });
      run.end({ code: "CANCELLED", title: "run was cancelled", detail: "", retryable: false });
    }, setting);
    const client = await stage.client(server, setting);
    const turn = client.runTurn(await client.newConversation("demo"), { kind: "message", text: "Build" });
    const run = await server.run(0);
    await eventually(() =>
      run.received.some((message) => JSON.stringify(message.message.value, noBigInt).includes("ready")),
    ).toBe(true);
    turn.cancel();
    const events = await eventsOf(turn);
    expect(resultOf(events)).toMatchObject({ outcome: "cancelled" });
    expect(resultOf(events)).not.toHaveProperty("error");
  });
});

const noBigInt = (_key: string, value: unknown) => (typeof value === "bigint" ? Number(value) : value);
