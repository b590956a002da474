import type { ConversationId } from "@chartroom/domain";
import { describe, expect } from "vitest";
import { test } from "../support/database.ts";
import { call, hang, say, scriptedModels } from "../support/scripted-provider.ts";
import { expectFailed, expectFinished, runStatuses } from "../support/wire-checks.ts";
import { readAnswer, unique, WIRE_TRANSPORTS } from "../support/wire-client.ts";
import { startWireServer } from "../support/wire-server.ts";

describe.each(WIRE_TRANSPORTS)("identity over %s", (transport) => {
  describe("same request, same conversation", () => {
    test("same event while it lives: idempotent, one message, one Run; a second downlink takes over (ID-04)", async ({
      node,
    }) => {
      const gate = Promise.withResolvers<void>();
      const models = scriptedModels(hang(["one "], gate.promise, say("two")));
      const server = await startWireServer(node.store, models);
      const person = server.client({ transport });
      const request = person.runRequest("Count", { messageId: "m-1" });
      const stream = person.stream();
      const first = stream.down;
      await stream.send(request);
      await first.says("one ");
      const second = await stream.reopen(request);
      // over appends the repeat comes with a number of its own, and with its old one
      if (transport === "sse") {
        await stream.send(request);
        await stream.send(request, { seqno: 0 });
      }
      await second.says("one ");
      await first.over();
      gate.resolve();
      await second.over();
      expectFailed(first, "aborted");
      expectFinished(second);
      expect(second.text).toBe("one two");
      expect(models.requests).toHaveLength(1);
      expect(await runStatuses(node.store, person.conversationId)).toEqual(["completed"]);
      await server.stop();
    });

    test.for([0, 1])(
      "a new wire run after the end: a new generation with an empty output, its sequence from %i; its tool results count (ID-05)",
      async (from, { node }) => {
        const models = scriptedModels(
          say("First."),
          call({ name: "Read", args: { path: "/ws/demo/a.ts" } }),
          say("Second."),
        );
        const server = await startWireServer(node.store, models);
        const person = server.client({ transport });
        person.onExec = (exec) => readAnswer(exec);
        const stream = person.stream();
        stream.seqno = from;
        await stream.send(person.runRequest("one", { runId: "wire-1" }));
        await stream.down.over();
        expect(stream.down.text).toBe("First.");
        stream.open();
        stream.seqno = from;
        await stream.send(person.runRequest("two", { runId: "wire-2" }));
        await stream.down.over();
        expectFinished(stream.down);
        expect(stream.down.text).toBe("Second.");
        expect(JSON.stringify(models.requests[2]?.messages)).toContain("1|A");
        expect(await runStatuses(node.store, person.conversationId)).toEqual(["completed", "completed"]);
        await server.stop();
      },
    );

    test("another message while it lives: the next generation supersedes the Run, each has its own output", async ({
      node,
    }) => {
      const models = scriptedModels(hang(["Old"]), say("New."));
      const server = await startWireServer(node.store, models);
      const person = server.client({ transport });
      const stream = person.stream();
      const first = stream.down;
      await stream.send(person.runRequest("one"));
      await first.says("Old");
      // a downlink of the request id before the message would be one of the Run that lives
      if (transport === "run") stream.open();
      stream.seqno = 0;
      await stream.send(person.runRequest("two"));
      if (transport === "sse") stream.open();
      await Promise.all([first.over(), stream.down.over()]);
      expectFailed(first, "aborted");
      expectFinished(stream.down);
      expect(stream.down.text).toBe("New.");
      expect(await runStatuses(node.store, person.conversationId)).toEqual(["superseded", "completed"]);
      await server.stop();
    });
  });

  describe("same request, another conversation", () => {
    test.for(["lives", "is over"])(
      "while its Run %s: a conflict, both conversations untouched (ID-03)",
      async (state, { node }) => {
        const gate = Promise.withResolvers<void>();
        const models = scriptedModels(hang(["one "], gate.promise, say("two")));
        const server = await startWireServer(node.store, models);
        const person = server.client({ transport });
        const stream = person.stream();
        const first = stream.down;
        await stream.send(person.runRequest("Count"));
        await first.says("one ");
        if (state === "is over") {
          gate.resolve();
          await first.over();
        }
        const other = unique("conversation");
        const mine = person.conversationId;
        person.conversationId = other;
        const refused = transport === "run" ? stream.open() : undefined;
        const reply = await stream.send(person.runRequest("intrude"), { mayFail: true });
        if (refused) {
          await refused.over();
          expectFailed(refused, "failed_precondition");
        } else {
          expect(JSON.parse(String(reply?.body))).toMatchObject({ code: "failed_precondition" });
        }
        gate.resolve();
        await first.over();
        expectFinished(first);
        expect(first.text).toBe("one two");
        expect(await node.store.inspect(other as ConversationId)).toBeUndefined();
        expect(await runStatuses(node.store, mine)).toEqual(["completed"]);
        expect(models.requests).toHaveLength(1);
        await server.stop();
      },
    );
  });

  test("a Run request without a conversation id: refused where nothing is bound, else the bound one (ID-01, ID-02)", async ({
    node,
  }) => {
    const models = scriptedModels(say("First."), say("Second."));
    const server = await startWireServer(node.store, models);
    const person = server.client({ transport });
    const nameless = (text: string) => {
      const request = person.runRequest(text);
      if (request.message?.case === "runRequest")
        delete (request.message.value as { conversationId?: string }).conversationId;
      return request;
    };
    const unbound = person.stream();
    const reply = await unbound.send(nameless("lost"), { mayFail: true });
    await unbound.down.over();
    expectFailed(unbound.down, "invalid_argument");
    if (transport === "sse") expect(reply?.status).toBeGreaterThanOrEqual(200);
    expect(models.requests).toHaveLength(0);
    expect(await node.store.inspect(unbound.requestId as ConversationId)).toBeUndefined();

    const bound = person.stream();
    await bound.send(person.runRequest("one"));
    await bound.down.over();
    bound.open();
    bound.seqno = 0;
    await bound.send(nameless("two"));
    await bound.down.over();
    expectFinished(bound.down);
    expect(await runStatuses(node.store, person.conversationId)).toEqual(["completed", "completed"]);
    await server.stop();
  });

  test("two Run requests at once that nothing tells apart: the second is refused (ID-16)", async ({ node }) => {
    const gate = Promise.withResolvers<void>();
    const models = scriptedModels(hang(["Busy"], gate.promise, say(".")));
    const server = await startWireServer(node.store, models);
    const person = server.client({ transport });
    const start = (detail: string) =>
      person.action({
        case: "backgroundTaskCompletionAction",
        value: { completions: [{ taskId: "t", title: "t", detail }] },
      });
    const stream = person.stream();
    const first = stream.down;
    await stream.send(start("one"));
    await first.says("Busy");
    const second = transport === "run" ? stream.open() : undefined;
    const reply = await stream.send(start("two"), { mayFail: true });
    if (second) {
      await second.over();
      expectFailed(second, "failed_precondition");
    } else expect(JSON.parse(String(reply?.body))).toMatchObject({ code: "failed_precondition" });
    gate.resolve();
    await first.over();
    expectFinished(first);
    expect(models.requests).toHaveLength(1);
    await server.stop();
  });

  test("another member's conversation and request ids are not found; its own are its own", async ({ node }) => {
    const models = scriptedModels(hang(["Secret"]), say("Mine."));
    const server = await startWireServer(node.store, models);
    const ada = server.client({ transport, token: "ada" });
    const adas = ada.stream();
    await adas.send(ada.runRequest("Go"));
    await adas.down.says("Secret");
    const bob = server.client({ transport, token: "bob" });
    bob.conversationId = ada.conversationId;
    const intruding = bob.stream();
    await intruding.send(bob.runRequest("Read along"), { mayFail: true });
    await intruding.down.over();
    expectFailed(intruding.down, "not_found");
    // the same request id of another member is another exchange
    bob.conversationId = unique("conversation");
    const own = bob.stream({ requestId: adas.requestId });
    await own.send(bob.runRequest("Mine"));
    await own.down.over();
    expect(own.down.text).toBe("Mine.");
    expect(adas.down.closed).toBe(false);
    await server.stop();
  });
});
