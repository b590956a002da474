import { describe, expect } from "vitest";
import { test } from "../support/database.ts";
import { call, hang, say, scriptedModels } from "../support/scripted-provider.ts";
import { expectFailed, expectFinished, runStatuses } from "../support/wire-checks.ts";
import { readAnswer, unique, WIRE_TRANSPORTS } from "../support/wire-client.ts";
import { startWireServer } from "../support/wire-server.ts";

describe("RunSSE and its appends", () => {
  test("the downlink before any append gets all from the first frame, headers and a heartbeat at once (TR-04)", async ({
    node,
  }) => {
    const server = await startWireServer(node.store, scriptedModels(say("Hel", "lo.")));
    const person = server.client({ transport: "sse" });
    const stream = person.stream();
    await stream.down.sees("interactionUpdate.heartbeat");
    await stream.send(person.runRequest("Say hello"));
    await stream.down.over();
    expectFinished(stream.down);
    expect(stream.down.text).toBe("Hello.");
    await server.stop();
  });

  test("the downlink after the first append gets all from the first frame; no model is asked before it is there", async ({
    node,
  }) => {
    const models = scriptedModels(say("Hel", "lo."));
    const server = await startWireServer(node.store, models);
    const person = server.client({ transport: "sse" });
    const stream = person.stream({ downlink: false });
    await stream.send(person.runRequest("Say hello"));
    expect(await runStatuses(node.store, person.conversationId)).toEqual(["running"]);
    expect(models.requests).toHaveLength(0);
    stream.open();
    await stream.down.over();
    expectFinished(stream.down);
    expect(stream.down.text).toBe("Hello.");
    await server.stop();
  });

  test("appends in any order, twice, and with a gap that closes later are applied once each, in order (TR-01)", async ({
    node,
  }) => {
    const models = scriptedModels(
      call({ name: "Read", args: { path: "/ws/demo/a.ts" } }, { name: "Read", args: { path: "/ws/demo/b.ts" } }),
      say("Read."),
    );
    const server = await startWireServer(node.store, models);
    const person = server.client({ transport: "sse" });
    person.acknowledges = false;
    const stream = person.stream();
    stream.seqno = 1;
    await stream.send(person.runRequest("Read both"));
    await stream.down.until(() => stream.down.execs.length === 2, "two execs");
    const [a, b] = stream.down.execs;
    const results = [a, b].map((exec) => ({
      message: {
        case: "execClientMessage",
        value: { id: exec!.id, execId: exec!.execId, message: readAnswer(exec!, `${exec!.id}`)! },
      },
    })) as Parameters<typeof stream.send>[0][];
    // 3 before 2, each twice
    const late = [stream.send(results[1]!, { seqno: 3 }), stream.send(results[1]!, { seqno: 3 })];
    await Promise.all([stream.send(results[0]!, { seqno: 2 }), stream.send(results[0]!, { seqno: 2 }), ...late]);
    person.acknowledges = true;
    stream.seqno = 4;
    await stream.acknowledge();
    await stream.down.over();
    expectFinished(stream.down);
    expect(stream.down.kinds.filter((kind) => kind === "interactionUpdate.toolCallCompleted")).toHaveLength(2);
    expect(models.requests).toHaveLength(2);
    await server.stop();
  });

  test("a downlink whose request id nobody knows waits a bounded time and gets a clear error, never another chat (ID-08, TR-02)", async ({
    node,
  }) => {
    const models = scriptedModels(hang(["Private"]));
    const server = await startWireServer(node.store, models, { limits: { waitMs: 300 } });
    const other = server.client({ transport: "sse" });
    const living = other.stream();
    await living.send(other.runRequest("Go"));
    await living.down.says("Private");
    const person = server.client({ transport: "sse" });
    const stream = person.stream();
    await stream.down.over();
    expectFailed(stream.down, "deadline_exceeded");
    expect(stream.down.text).toBe("");
    expect(living.down.closed).toBe(false);
    await server.stop();
  });
});

describe.each(WIRE_TRANSPORTS)("a downlink over %s", (transport) => {
  test("that was lost and opened again for the same request id sees all of the Run once (TR-06)", async ({ node }) => {
    const gate = Promise.withResolvers<void>();
    const models = scriptedModels(hang(["one ", "two "], gate.promise, say("three")));
    const server = await startWireServer(node.store, models);
    const person = server.client({ transport });
    const request = person.runRequest("Count");
    const stream = person.stream();
    await stream.send(request);
    await stream.down.says("one two ");
    stream.lose();
    await stream.down.over();
    expect(stream.down.ends).toEqual([]);
    await stream.reopen(request);
    await stream.down.says("one two ");
    gate.resolve();
    await stream.down.over();
    expectFinished(stream.down);
    expect(stream.down.text).toBe("one two three");
    expect(models.requests).toHaveLength(1);
    await server.stop();
  });

  test("that is the second one replaces the first, which ends as aborted; the Run goes on", async ({ node }) => {
    const gate = Promise.withResolvers<void>();
    const server = await startWireServer(node.store, scriptedModels(hang(["one "], gate.promise, say("two"))));
    const person = server.client({ transport });
    const request = person.runRequest("Count");
    const stream = person.stream();
    const first = stream.down;
    await stream.send(request);
    await first.says("one ");
    const second = await stream.reopen(request);
    await first.over();
    expectFailed(first, "aborted");
    await second.says("one ");
    gate.resolve();
    await second.over();
    expectFinished(second);
    await server.stop();
  });

  test("that comes late, after the end, gets the whole output and the terminal again", async ({ node }) => {
    const models = scriptedModels(say("The ", "answer."));
    const server = await startWireServer(node.store, models);
    const person = server.client({ transport });
    const request = person.runRequest("Ask");
    const stream = person.stream();
    await stream.send(request);
    await stream.down.over();
    const first = stream.down;
    await stream.reopen(request);
    await stream.down.over();
    expectFinished(stream.down);
    expect(stream.down.text).toBe("The answer.");
    // the frames of a stream are of that stream: no exec, no blob again
    expect(stream.down.kinds.filter((kind) => kind.startsWith("kvServerMessage"))).toEqual([]);
    expect(first.late).toBe(0);
    expect(models.requests).toHaveLength(1);
    await server.stop();
  });

  test("that comes long after the end, to a process that never saw the Run, is answered from the store and never waits (TR-05)", async ({
    openNode,
  }) => {
    const first = await openNode();
    const models = scriptedModels(call({ name: "Read", args: { path: "/ws/demo/a.ts" } }), say("The ", "answer."));
    const server = await startWireServer(first.store, models);
    const person = server.client({ transport });
    person.onExec = (exec) => readAnswer(exec);
    const request = person.runRequest("Ask");
    const stream = person.stream();
    await stream.send(request);
    await stream.down.over();
    await server.stop();

    const second = await openNode();
    const after = await startWireServer(second.store, models);
    const back = person.twin(after.port);
    const late = back.stream({
      requestId: transport === "sse" ? stream.requestId : unique("request"),
      headers: { "x-original-request-id": stream.requestId },
    });
    // over HTTP/2 a stream cannot come without a Run request: the retry names the first request of its chain
    if (transport === "run") await late.send(request);
    await late.down.over();
    expectFinished(late.down);
    expect(late.down.text).toBe("The answer.");
    expect(late.down.kinds).toContain("interactionUpdate.toolCallCompleted");
    expect(late.down.execs).toEqual([]);
    expect(models.requests).toHaveLength(2);
    expect(await runStatuses(second.store, person.conversationId)).toEqual(["completed"]);
    back.close();
    await after.stop();
  });

  test("of a window that is switched while two Runs work: neither is cancelled (TR-07)", async ({ node }) => {
    const gate = Promise.withResolvers<void>();
    const models = scriptedModels(hang(["Parent"], gate.promise, say(".")), hang(["Child"], gate.promise, say(".")));
    const server = await startWireServer(node.store, models);
    const people = [server.client({ transport }), server.client({ transport })];
    const streams = [];
    for (const person of people) {
      const stream = person.stream();
      await stream.send(person.runRequest("Work", { messageId: `m-${person.conversationId}` }));
      await stream.down.until(() => stream.down.text !== "", "text");
      streams.push(stream);
    }
    for (const stream of streams) stream.lose();
    gate.resolve();
    for (const [index, person] of people.entries()) {
      const back = person.stream();
      await back.send(person.runRequest("Work", { messageId: `m-${person.conversationId}` }));
      await back.down.over();
      expectFinished(back.down);
      expect(back.down.text).toBe(index === 0 ? "Parent." : "Child.");
      expect(await runStatuses(node.store, person.conversationId)).toEqual(["completed"]);
    }
    expect(models.requests).toHaveLength(2);
    await server.stop();
  });
});

describe("RunSSE of a generation whose Run has ended", () => {
  test("after a message that came once more on it: it gets the Run of that message", async ({ node }) => {
    const models = scriptedModels(say("One."), say("Two."));
    const server = await startWireServer(node.store, models);
    const person = server.client({ transport: "sse" });
    const stream = person.stream();
    await stream.send(person.runRequest("Go"));
    await stream.down.over();
    await stream.say("Go on");
    const down = stream.open();
    await down.over();
    expectFinished(down);
    expect(down.text).toBe("Two.");
    expect(await runStatuses(node.store, person.conversationId)).toEqual(["completed", "completed"]);
    await server.stop();
  });
});

describe("RunSSE of a generation that claimed a Run, at a process that never saw it", () => {
  const ask = { messageId: "m-asked" };

  test("while the Run lives: it is attached, and the Run goes on", async ({ openNode }) => {
    const first = await openNode();
    const server = await startWireServer(first.store, scriptedModels(hang(["Half"])));
    const person = server.client({ transport: "sse" });
    const request = person.runRequest("Ask", ask);
    const opened = person.stream();
    await opened.send(request);
    await opened.down.says("Half");
    const claim = person.stream({ headers: { "x-original-request-id": opened.requestId } });
    await claim.send(request);
    await opened.down.over();
    expectFailed(opened.down, "aborted");
    await server.stop();

    const second = await openNode();
    const models = scriptedModels(say("Whole."));
    const after = await startWireServer(second.store, models);
    const back = person.twin(after.port);
    const late = back.stream({ requestId: claim.requestId });
    await late.down.over();
    expectFinished(late.down);
    expect(late.down.text).toContain("Whole.");
    expect(models.requests).toHaveLength(1);
    expect(await runStatuses(second.store, person.conversationId)).toEqual(["completed"]);
    back.close();
    await after.stop();
  });

  test.for(["claimed while it lived", "answered after its end"] as const)(
    "after the end of the Run, which it had %s: it gets the stored output and the terminal (TR-05)",
    async (how, { openNode }) => {
      const first = await openNode();
      const gate = Promise.withResolvers<void>();
      const server = await startWireServer(first.store, scriptedModels(hang(["The "], gate.promise, say("answer."))));
      const person = server.client({ transport: "sse" });
      const request = person.runRequest("Ask", { messageId: unique("message") });
      const opened = person.stream();
      await opened.send(request);
      await opened.down.says("The ");
      if (how === "answered after its end") {
        gate.resolve();
        await opened.down.over();
      }
      const later = person.stream({ headers: { "x-original-request-id": opened.requestId } });
      await later.send(request);
      gate.resolve();
      await later.down.over();
      expectFinished(later.down);
      await server.stop();

      const second = await openNode();
      const models = scriptedModels(say("never"));
      const after = await startWireServer(second.store, models);
      const back = person.twin(after.port);
      const late = back.stream({ requestId: later.requestId });
      await late.down.over();
      expectFinished(late.down);
      expect(late.down.text).toBe("The answer.");
      expect(models.requests).toEqual([]);
      back.close();
      await after.stop();
    },
  );
});
