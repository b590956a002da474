import { toBinary } from "@bufbuild/protobuf";
import { blobId, blobIdBytes, wrap } from "@chartroom/protocol";
import { AgentMode, AgentRunRequestSchema } from "@chartroom/protocols/agent";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { eventually } from "../../test/eventually.ts";
import { eventsOf, only, resultOf, say, SETTINGS, Stage } from "../../test/clients.ts";
import type { FakeRun } from "../../test/fake-server.ts";

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

describe.each(SETTINGS.slice(0, 2))("a dropped connection over $name", (setting) => {
  const ways: [string, (run: FakeRun) => void][] = [
    ["breaks", (run) => run.drop()],
    ["ends without a word", (run) => run.cut()],
    ["ends cleanly without the end of the turn", (run) => run.end()],
    ["ends with an error that may be retried", (run) => run.end(failure(true))],
  ];

  it.each(ways)("that %s: the original request goes out again under a new request id", async (_way, lose) => {
    const server = await stage.serve(async (run) => {
      const request = await run.next("runRequest");
      if (server.runs.length === 1) {
        run.text("Hel");
        await run.heartbeats(1);
        return lose(run);
      }
      expect(request.action?.action.case).toBe("userMessageAction");
      run.text("Hello!");
      run.turnEnded();
      run.end();
    }, setting);
    const client = await stage.client(server, setting, { heartbeatMs: 20 });
    const events = await say(client, await client.newConversation("demo"), "Say hello");
    expect(only(events, "text").map(({ text }) => text)).toEqual(["Hel", "lo!"]);
    expect(only(events, "retry")).toMatchObject([{ attempt: 2, from: "message" }]);
    expect(resultOf(events)).toMatchObject({ outcome: "completed", attempts: 2, text: "Hello!" });
    const [first, second] = server.runs;
    expect(second?.requestId).not.toBe(first?.requestId);
    expect(second?.headers["x-original-request-id"]).toBe(first?.requestId);
    const [one, two] = server.runs.map((run) => run.received[0]?.message);
    if (one?.case !== "runRequest" || two?.case !== "runRequest") throw new Error("no run request");
    const messageId = (request: typeof one) =>
      request.value.action?.action.case === "userMessageAction"
        ? request.value.action.action.value.userMessage?.messageId
        : "";
    expect(messageId(two)).toBe(messageId(one));
    expect(two.value.conversationId).toBe(one.value.conversationId);
    expect(two.value.runId).not.toBe(one.value.runId);
  });

  it("after a checkpoint: it is resumed from there, and nothing is shown twice", async () => {
    const checkpoint = { pendingToolCalls: ["pending"], rootPromptMessagesJson: [id] };
    const server = await stage.serve(async (run) => {
      const request = await run.next("runRequest");
      if (server.runs.length === 1) {
        run.text("before. ");
        run.send({ case: "conversationCheckpointUpdate", value: checkpoint });
        run.text("after ");
        await run.heartbeats(1);
        return run.drop();
      }
      expect(request.action?.action).toMatchObject({ case: "resumeAction", value: { requestContext: {} } });
      expect(request.conversationState).toMatchObject(checkpoint);
      run.text("after the drop.");
      run.turnEnded();
      run.end();
    }, setting);
    const client = await stage.client(server, setting, { heartbeatMs: 20 });
    const events = await say(client, await client.newConversation("demo"), "Go");
    expect(only(events, "text").map(({ text }) => text)).toEqual(["before. ", "after ", "the drop."]);
    expect(resultOf(events)).toMatchObject({ outcome: "completed", text: "before. after the drop." });
  });

  it("TR-06: a command that runs meanwhile goes on and runs once", async () => {
    const command = "echo x >> runs; echo early; until [ -e gate ]; do sleep 0.02; done; echo late";
    const exec = {
      execId: "call_1",
      message: { case: "shellStreamArgs" as const, value: { command, toolCallId: "call_1" } },
    };
    const server = await stage.serve(async (run) => {
      await run.next("runRequest");
      if (server.runs.length === 1) {
        run.send({ case: "execServerMessage", value: { id: 1, ...exec } });
        await run.next("execClientMessage");
        await run.next("execClientMessage");
        return run.drop();
      }
      await stage.write("gate", "");
      const answer = await run.exec(5, exec);
      expect(answer.at(-2)?.message).toMatchObject({
        value: { id: 5, message: { case: "shellResult", value: { result: { value: { stdout: "early\nlate\n" } } } } },
      });
      run.turnEnded();
      run.end();
    }, setting);
    const client = await stage.client(server, setting);
    const events = await say(client, await client.newConversation("demo"), "Go");
    expect(resultOf(events).outcome).toBe("completed");
    expect(await stage.text("runs")).toBe("x\n");
  });

  it("gives up after its retries", async () => {
    const server = await stage.serve((run) => run.drop(), setting);
    const client = await stage.client(server, setting, { limits: { retries: 2, connectRetries: 2, baseDelayMs: 1 } });
    const events = await say(client, await client.newConversation("demo"), "Go");
    expect(resultOf(events)).toMatchObject({ outcome: "failed", attempts: 3, error: { kind: "lost" } });
  });

  it("a turn that was complete is complete though the end of its stream got lost", async () => {
    const server = await stage.serve(async (run) => {
      await run.next("runRequest");
      run.text("done");
      run.turnEnded();
      await run.heartbeats(1);
      run.drop();
    }, setting);
    const client = await stage.client(server, setting, { heartbeatMs: 20 });
    const events = await say(client, await client.newConversation("demo"), "Go");
    expect(resultOf(events)).toMatchObject({ outcome: "completed", attempts: 1, text: "done" });
  });
});

describe("what a client must bear", () => {
  it("a server that is not there", async () => {
    const server = await stage.serve(() => undefined);
    await server.close();
    for (const transport of ["h1", "h2"] as const) {
      const client = await stage.client(server, { name: "", transport });
      const events = await say(client, await client.newConversation("demo"), "Go");
      expect(resultOf(events)).toMatchObject({
        outcome: "failed",
        attempts: 3,
        error: { kind: "unreachable", title: "Server unreachable" },
      });
    }
  });

  it("a certificate that nobody vouches for", async () => {
    const server = await stage.serve(() => undefined, { name: "", transport: "h2", tls: true });
    for (const transport of ["h1", "h2"] as const) {
      const client = await stage.client(server, { name: "", transport });
      expect(await client.models()).toMatchObject({
        ok: false,
        failure: { kind: "unreachable", title: "Certificate not trusted", retryable: false },
      });
      const events = await say(client, await client.newConversation("demo"), "Go");
      expect(resultOf(events)).toMatchObject({ outcome: "failed", attempts: 1 });
    }
  });

  it("a port that speaks something else", async () => {
    const server = await stage.serve(() => undefined);
    const crossed = { ...server.url, h2: server.url.h1, h1: server.url.h2 };
    for (const transport of ["h1", "h2"] as const) {
      const client = await stage.client(server, { name: "", transport }, { url: crossed[transport] });
      const events = await say(client, await client.newConversation("demo"), "Go");
      expect(resultOf(events)).toMatchObject({ outcome: "failed" });
    }
  });

  it("frames that are no messages", async () => {
    const broken: [string, Uint8Array][] = [
      ["flags", Uint8Array.of(0x40, 0, 0, 0, 0)],
      ["a message", Uint8Array.of(0, 0, 0, 0, 2, 0xff, 0xff)],
      ["an end", Uint8Array.of(2, 0, 0, 0, 1, 0x7b)],
      ["gzip", Uint8Array.of(1, 0, 0, 0, 2, 1, 2)],
    ];
    for (const [, bytes] of broken) {
      const server = await stage.serve((run) => run.raw(bytes));
      const client = await stage.client(server);
      const events = await say(client, await client.newConversation("demo"), "Go");
      expect(resultOf(events)).toMatchObject({ outcome: "failed", attempts: 1, error: { kind: "protocol" } });
    }
  });

  it("a command with no answer to a cancel: it ends by itself", async () => {
    const server = await stage.serve(async (run) => {
      await run.next("runRequest");
      run.text("...");
    });
    const client = await stage.client(server, undefined, { limits: { cancelMs: 1 } });
    const turn = client.runTurn(await client.newConversation("demo"), { kind: "message", text: "Go" });
    for await (const event of turn) if (event.type === "text") turn.cancel();
    expect(await turn.result).toMatchObject({ outcome: "cancelled" });
  });
});

describe("blobs and the checkpoint", () => {
  it("come back to the server in the next turn, also from another start of the client", async () => {
    // a field that this schema does not know must survive, so the checkpoint is kept as bytes
    const unknown = Uint8Array.from([0xf2, 0x3f, 1, 7]);
    const state = Buffer.concat([wrap([1], id), unknown]);
    const server = await stage.serve(async (run) => {
      const request = await run.next("runRequest");
      if (server.runs.length === 1) {
        run.send({
          case: "kvServerMessage",
          value: { id: 1, message: { case: "setBlobArgs", value: { blobId: id, blobData: data } } },
        });
        await run.next("kvClientMessage");
        run.raw(Buffer.concat([Uint8Array.of(0, 0, 0, 0, wrap([3], state).length), wrap([3], state)]));
      } else {
        const bytes = Buffer.from(toBinary(AgentRunRequestSchema, request));
        expect(bytes.includes(state)).toBe(true);
        const ask = (blob: Uint8Array) => {
          run.send({
            case: "kvServerMessage",
            value: { id: 2, message: { case: "getBlobArgs", value: { blobId: blob } } },
          });
          return run.next("kvClientMessage");
        };
        expect((await ask(id)).message).toMatchObject({
          case: "getBlobResult",
          value: { blobData: Buffer.from(data) },
        });
        const missing = (await ask(new Uint8Array(32))).message;
        expect(missing.value).not.toHaveProperty("blobData.length");
        run.send({
          case: "kvServerMessage",
          value: { id: 3, message: { case: "setBlobArgs", value: { blobId: id, blobData: id } } },
        });
        expect((await run.next("kvClientMessage")).message).toMatchObject({
          case: "setBlobResult",
          value: { error: { message: "the data does not hash to the blob id" } },
        });
      }
      run.turnEnded();
      run.end();
    });
    const first = await stage.client(server);
    const conversation = await first.newConversation("demo");
    await say(first, conversation, "One");
    const second = await stage.client(server);
    const again = await second.resumeConversation();
    expect(again?.id).toBe(conversation.id);
    expect(again?.record).toMatchObject({ title: "One", model: "demo", openTurn: undefined });
    if (again === undefined) throw new Error("not found");
    expect(resultOf(await say(second, again, "Two")).outcome).toBe("completed");
  });

  it("a turn that a crash cut off is taken up again", async () => {
    const server = await stage.serve(async (run) => {
      const request = await run.next("runRequest");
      if (server.runs.length === 1) {
        run.send({ case: "conversationCheckpointUpdate", value: { pendingToolCalls: ["p"] } });
        return;
      }
      expect(request.action?.action.case).toBe("resumeAction");
      expect(run.headers["x-original-request-id"]).toBe(server.runs[0]?.requestId);
      run.text("went on");
      run.turnEnded();
      run.end();
    });
    const first = await stage.client(server);
    const conversation = await first.newConversation("demo");
    first.runTurn(conversation, { kind: "message", text: "Long work" });
    const second = await stage.client(server);
    await eventually(async () => (await second.resumeConversation(conversation.id))?.openTurn?.checkpointed).toBe(true);
    const again = await second.resumeConversation(conversation.id);
    if (again === undefined) throw new Error("not found");
    expect(again.openTurn).toMatchObject({ text: "Long work", checkpointed: true });
    const events = await eventsOf(second.runTurn(again, { kind: "resume" }));
    expect(resultOf(events)).toMatchObject({ outcome: "completed", text: "went on" });
    expect(again.openTurn).toBeUndefined();
  });
});

describe("while a turn runs", () => {
  it("a line is sent as a user message and becomes part of it", async () => {
    const server = await stage.serve(async (run) => {
      await run.next("runRequest");
      run.text("Working. ");
      const { action } = await run.next("conversationAction");
      if (action.case !== "userMessageAction") throw new Error(`got ${action.case}`);
      expect(action.value.userMessage).toMatchObject({ text: "Stop that", mode: AgentMode.AGENT });
      run.update({ case: "userMessageAppended", value: { userMessage: action.value.userMessage } as never });
      run.text("Stopped.");
      run.turnEnded();
      run.end();
    });
    const client = await stage.client(server);
    const turn = client.runTurn(await client.newConversation("demo"), { kind: "message", text: "Go" });
    await (await server.run(0)).heartbeats(0);
    const sent = turn.say("Stop that");
    const events = await eventsOf(turn);
    expect(only(events, "message.sent")).toEqual([{ type: "message.sent", ...sent }]);
    expect(only(events, "message.appended")).toEqual([{ type: "message.appended", ...sent }]);
    expect(resultOf(events)).toMatchObject({ text: "Working. Stopped.", unsent: [] });
  });

  it("a follow-up on the same stream goes on after the end of the turn", async () => {
    const server = await stage.serve(async (run) => {
      await run.next("runRequest");
      run.text("One. ");
      run.turnEnded();
      const { action } = await run.next("conversationAction");
      if (action.case !== "userMessageAction") throw new Error(`got ${action.case}`);
      run.update({ case: "userMessageAppended", value: { userMessage: action.value.userMessage } as never });
      run.text("Two.");
      run.turnEnded();
      run.end();
    });
    const client = await stage.client(server);
    const turn = client.runTurn(await client.newConversation("demo"), { kind: "message", text: "Go" });
    turn.say("And then?");
    expect(await turn.result).toMatchObject({ outcome: "completed", text: "One. Two.", unsent: [] });
  });

  it("a message that the server did not take is given back", async () => {
    const server = await stage.serve(async (run) => {
      await run.next("runRequest");
      await run.next("conversationAction");
      run.turnEnded();
      run.end();
    });
    const client = await stage.client(server);
    const turn = client.runTurn(await client.newConversation("demo"), { kind: "message", text: "Go" });
    const sent = turn.say("Too late");
    expect((await turn.result).unsent).toEqual([sent]);
    expect(turn.say("Even later")).toBeUndefined();
  });

  it("a message survives a drop: it goes out again on the new stream under its id", async () => {
    const server = await stage.serve(async (run) => {
      await run.next("runRequest");
      const { action } = await run.next("conversationAction");
      if (server.runs.length === 1) return run.drop();
      if (action.case !== "userMessageAction") throw new Error(`got ${action.case}`);
      run.update({ case: "userMessageAppended", value: { userMessage: action.value.userMessage } as never });
      run.turnEnded();
      run.end();
    });
    const client = await stage.client(server);
    const turn = client.runTurn(await client.newConversation("demo"), { kind: "message", text: "Go" });
    const sent = turn.say("Also this");
    const events = await eventsOf(turn);
    expect(only(events, "message.appended")).toEqual([{ type: "message.appended", ...sent }]);
    expect(resultOf(events)).toMatchObject({ outcome: "completed", attempts: 2, unsent: [] });
  });

  it("an injection names the run, and its states are told", async () => {
    const server = await stage.serve(async (run) => {
      const request = await run.next("runRequest");
      run.text("x");
      const { action } = await run.next("conversationAction");
      if (action.case !== "injectContextAction") throw new Error(`got ${action.case}`);
      const { injectionId, expectedRunId, payload } = action.value;
      expect(expectedRunId).toBe(request.runId);
      expect(payload).toMatchObject({ case: "userContext", value: { userMessage: { text: "Note" } } });
      run.update({
        case: "contextInjectionState",
        value: { injectionId, state: { state: { case: "rejected", value: { reason: "no" } } } },
      });
      run.turnEnded();
      run.end();
    });
    const client = await stage.client(server);
    const turn = client.runTurn(await client.newConversation("demo"), { kind: "message", text: "Go" });
    let injectionId = "";
    const events = [];
    for await (const event of turn) {
      if (event.type === "text") injectionId = turn.inject("Note");
      events.push(event);
    }
    expect(only(events, "injection")).toEqual([{ type: "injection", injectionId, state: "rejected", reason: "no" }]);
  });

  it("questions of the server are answered, each once", async () => {
    const server = await stage.serve(async (run) => {
      await run.next("runRequest");
      const ask = (id: number, query: object) => {
        run.send({ case: "interactionQuery", value: { id, query } as never });
        return run.next("interactionResponse");
      };
      const question = { id: "q", prompt: "?", options: [{ id: "a", label: "A" }] };
      expect(
        await ask(1, { case: "askQuestionInteractionQuery", value: { args: { questions: [question] } } }),
      ).toMatchObject({
        id: 1,
        result: {
          value: { result: { result: { case: "success", value: { answers: [{ selectedOptionIds: ["a"] }] } } } },
        },
      });
      expect(await ask(2, { case: "webSearchRequestQuery", value: { args: { searchTerm: "x" } } })).toMatchObject({
        id: 2,
        result: { case: "webSearchRequestResponse", value: { result: { case: "approved" } } },
      });
      expect(await ask(3, { case: "switchModeRequestQuery", value: { args: { targetModeId: "plan" } } })).toMatchObject(
        {
          id: 3,
          result: { value: { result: { case: "approved" } } },
        },
      );
      expect(
        await ask(4, { case: "createPlanRequestQuery", value: { args: { name: "A plan", plan: "# Plan" } } }),
      ).toMatchObject({
        id: 4,
        result: {
          value: { result: { result: { case: "success" }, planUri: expect.stringMatching(/^file:.*-a-plan\.md$/) } },
        },
      });
      expect(await ask(5, { case: "mcpAuthRequestQuery", value: {} })).toMatchObject({
        id: 5,
        result: { value: { result: { case: "rejected" } } },
      });
      expect(await ask(6, { case: "setupVmEnvironmentArgs", value: {} })).toMatchObject({ id: 6, result: {} });
      run.turnEnded();
      run.end();
    });
    const client = await stage.client(server);
    const conversation = await client.newConversation("demo");
    const events = await say(client, conversation, "Go");
    expect(resultOf(events)).toMatchObject({ outcome: "completed" });
    expect(only(events, "query").map(({ kind, outcome }) => `${kind} ${outcome}`)).toEqual([
      "askQuestion success",
      "webSearch approved",
      "switchMode approved",
      "createPlan success",
      "mcpAuth rejected",
      "setupVmEnvironment rejected",
    ]);
    expect(conversation.mode).toBe("plan");
  });

  it("a subagent is a run of its own, whose last words are the result", async () => {
    const server = await stage.serve(async (run) => {
      const request = await run.next("runRequest");
      if (request.subagentTypeName === undefined) {
        const args = {
          toolCallId: "call_task",
          subagentType: "explore",
          modelId: "other",
          prompt: "Find it",
          rootParentConversationId: request.conversationId ?? "",
        };
        const [answer] = await run.exec(1, { execId: "call_task", message: { case: "subagentArgs", value: args } });
        expect(answer?.message.value).toMatchObject({
          message: {
            case: "subagentResult",
            value: { result: { case: "success", value: { finalMessage: "Found.", toolCallCount: 1 } } },
          },
        });
      } else {
        expect(request).toMatchObject({
          subagentTypeName: "explore",
          requestedModel: { modelId: "other" },
          action: { action: { value: { userMessage: { text: "Find it" } } } },
        });
        expect(run.headers).toMatchObject({
          "x-parent-request-id": server.runs[0]?.requestId,
          "x-parent-agent-tool-call-id": "call_task",
        });
        run.update({
          case: "toolCallStarted",
          value: { callId: "c", toolCall: { tool: { case: "readToolCall", value: {} } } } as never,
        });
        run.text("Found.");
      }
      run.turnEnded();
      run.end();
    });
    const client = await stage.client(server);
    const events = await say(client, await client.newConversation("demo"), "Go");
    expect(resultOf(events)).toMatchObject({ outcome: "completed" });
    expect(only(events, "subagent").map(({ event }) => event.type)).toContain("text");
    expect(await client.conversations()).toHaveLength(1);
  });

  it("the end of a command in the background is reported on the live stream", async () => {
    const server = await stage.serve(async (run) => {
      await run.next("runRequest");
      await run.exec(1, {
        execId: "call_bg",
        message: { case: "shellStreamArgs", value: { command: "exit 3", isBackground: true, toolCallId: "call_bg" } },
      });
      const { action } = await run.next("conversationAction");
      expect(action).toMatchObject({
        case: "backgroundTaskCompletionAction",
        value: { completions: [{ taskId: "1", toolCallId: "call_bg", detail: "exit code 3" }] },
      });
      run.turnEnded();
      run.end();
    });
    const client = await stage.client(server);
    const conversation = await client.newConversation("demo");
    const turn = client.runTurn(conversation, { kind: "message", text: "Go" });
    conversation.shells.onBackgroundEnd((end) => expect(turn.report([end])).toBe(true));
    expect(await turn.result).toMatchObject({ outcome: "completed" });
    expect(turn.report([])).toBe(false);
  });

  it("a summary is asked for and shown", async () => {
    const server = await stage.serve(async (run) => {
      expect((await run.next("runRequest")).action?.action.case).toBe("summarizeAction");
      run.update({ case: "summaryStarted", value: {} });
      run.update({ case: "summary", value: { summary: "Short." } });
      run.update({ case: "summaryCompleted", value: {} });
      run.turnEnded();
      run.end();
    });
    const client = await stage.client(server);
    const events = await eventsOf(client.runTurn(await client.newConversation("demo"), { kind: "summarize" }));
    expect(events.map(({ type }) => type).filter((type) => type.startsWith("summary"))).toEqual([
      "summary.started",
      "summary",
      "summary.completed",
    ]);
  });
});
