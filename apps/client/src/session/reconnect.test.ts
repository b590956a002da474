import { blobId, blobIdBytes } from "@chartroom/protocol";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { only, resultOf, say, SETTINGS, Stage } from "../../test/clients.ts";
import { ManualClock } from "../../test/manual-clock.ts";
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
        await run.seen();
        return lose(run);
      }
      expect(request.action?.action.case).toBe("userMessageAction");
      run.text("Hello!");
      run.turnEnded();
      run.end();
    }, setting);
    const client = await stage.client(server, setting);
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
        await run.seen();
        return run.drop();
      }
      expect(request.action?.action).toMatchObject({ case: "resumeAction", value: { requestContext: {} } });
      expect(request.conversationState).toMatchObject(checkpoint);
      run.text("after the drop.");
      run.turnEnded();
      run.end();
    }, setting);
    const client = await stage.client(server, setting);
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
      await run.seen();
      run.drop();
    }, setting);
    const client = await stage.client(server, setting);
    const events = await say(client, await client.newConversation("demo"), "Go");
    expect(resultOf(events)).toMatchObject({ outcome: "completed", attempts: 1, text: "done" });
  });
});

describe("time", () => {
  it("passes with a heartbeat of the client every 5 s, and one of each action that is open", async () => {
    const clock = new ManualClock();
    const server = await stage.serve(async (run) => {
      await run.next("runRequest");
      const value = { command: "sleep 1000", toolCallId: "call_s" };
      run.send({
        case: "execServerMessage",
        value: { id: 7, execId: "call_s", message: { case: "shellStreamArgs", value } },
      });
      await run.next("execClientMessage");
      await run.seen();
      clock.advance(15_000);
      await run.heartbeats(3);
      const beats = run.received.flatMap(({ message }) =>
        message.case === "execClientControlMessage" ? [message.value.message] : [],
      );
      expect(beats).toMatchObject(Array.from({ length: 3 }, () => ({ case: "heartbeat", value: { id: 7 } })));
      run.turnEnded();
      run.end();
    });
    const client = await stage.client(server, undefined, { clock });
    const events = await say(client, await client.newConversation("demo"), "Go");
    expect(resultOf(events).outcome).toBe("completed");
  });

  it("without a frame for 30 s the stream is given up, and another one is opened after a while", async () => {
    const clock = new ManualClock();
    const server = await stage.serve(async (run) => {
      await run.next("runRequest");
      if (server.runs.length === 1) {
        run.update({ case: "heartbeat", value: {} });
        await run.seen();
        clock.advance(31_000);
        await run.gone;
        clock.advance(1_200);
      } else {
        run.turnEnded();
        run.end();
      }
    });
    const client = await stage.client(server, undefined, { clock, limits: {} });
    const events = await say(client, await client.newConversation("demo"), "Go");
    expect(only(events, "stalled")).toHaveLength(1);
    expect(only(events, "retry")).toMatchObject([
      { reason: "Connection stalled: Nothing came from the server for 30 s.", from: "message" },
    ]);
    expect(resultOf(events)).toMatchObject({ outcome: "completed", attempts: 2 });
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

  it("a token that no header can hold: the client does not even open", async () => {
    const server = await stage.serve(() => undefined);
    await expect(stage.client(server, undefined, { token: "a\nb" })).rejects.toThrow("the token has characters");
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
