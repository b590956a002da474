import type { ConversationId } from "@chartroom/domain";
import { agent, create, fromBinary, toBinary } from "@chartroom/protocol";
import { describe, expect } from "vitest";
import { test } from "../support/database.ts";
import { call, hang, say, scriptedModels } from "../support/scripted-provider.ts";
import { expectFailed, expectFinished, runStatuses } from "../support/wire-checks.ts";
import { kindOf, readAnswer, WIRE_TRANSPORTS } from "../support/wire-client.ts";
import { startWireServer } from "../support/wire-server.ts";

describe.each(WIRE_TRANSPORTS)("the end of a Run over %s", (transport) => {
  test("the final checkpoint names only blobs that the client has acknowledged, and comes before turn_ended and the terminal (LC-15)", async ({
    node,
  }) => {
    const models = scriptedModels(
      call({ name: "Read", args: { path: "/ws/demo/a.ts" } }, { name: "Read", args: { path: "/ws/demo/b.ts" } }),
      say("Both ", "read."),
    );
    const server = await startWireServer(node.store, models);
    const person = server.client({ transport });
    person.onExec = (exec) => readAnswer(exec, exec.execId);
    const stream = person.stream();
    await stream.send(person.runRequest("Read both"));
    await stream.down.over();
    expectFinished(stream.down);
    const held = new Set<string>();
    for (const { message } of stream.down.messages) {
      if (message.case === "kvServerMessage" && message.value.message.case === "setBlobArgs")
        held.add(Buffer.from(message.value.message.value.blobId).toString("hex"));
      if (message.case !== "conversationCheckpointUpdate") continue;
      const { rootPromptMessagesJson, turns } = message.value;
      for (const id of [...rootPromptMessagesJson, ...turns]) {
        expect(held).toContain(Buffer.from(id).toString("hex"));
        expect(person.blobs.has(Buffer.from(id).toString("hex"))).toBe(true);
      }
    }
    const state = fromBinary(agent.ConversationStateStructureSchema, person.state);
    expect(state.pendingToolCalls).toEqual([]);
    expect(state.turns).toHaveLength(1);
    await server.stop();
  });

  test("blobs that are never acknowledged hold it for a bounded time; no checkpoint is published, and the next contact gets it first (LC-14)", async ({
    node,
  }) => {
    const models = scriptedModels(say("One."), say("Two."));
    const server = await startWireServer(node.store, models, { settings: { ackMs: 300 } });
    const person = server.client({ transport });
    person.acknowledges = false;
    const stream = person.stream();
    await stream.send(person.runRequest("Go"));
    await stream.down.over();
    expect(stream.down.ends).toEqual([{ kind: "completed" }]);
    expect(stream.down.kinds).not.toContain("conversationCheckpointUpdate");
    expect(await runStatuses(node.store, person.conversationId)).toEqual(["completed"]);

    person.acknowledges = true;
    const next = person.stream();
    await next.send(person.runRequest("Go on"));
    await next.down.over();
    expectFinished(next.down);
    // beside the work, which does not wait for it: the old head is on its way before anything of the new turn
    const { kinds } = next.down;
    expect(kinds.indexOf("kvServerMessage.setBlobArgs")).toBeLessThan(kinds.indexOf("interactionUpdate.textDelta"));
    expect(kinds.filter((kind) => kind === "conversationCheckpointUpdate")).toHaveLength(2);
    expect(JSON.stringify(models.requests.at(-1)?.messages)).toContain("One.");
    await server.stop();
  });

  test("comes exactly once, whatever comes behind it: cancel, message, results, heartbeats", async ({ node }) => {
    const models = scriptedModels(call({ name: "Read", args: { path: "/ws/demo/a.ts" } }), say("Read."));
    const server = await startWireServer(node.store, models);
    const person = server.client({ transport });
    person.onExec = (exec) => readAnswer(exec);
    const stream = person.stream();
    await stream.send(person.runRequest("Read"));
    await stream.down.over();
    const [exec] = stream.down.execs;
    await stream.cancel();
    await stream.answer(exec!, readAnswer(exec!)!);
    await stream.send({ message: { case: "clientHeartbeat", value: {} } });
    await stream.cancel();
    expectFinished(stream.down);
    expect(await runStatuses(node.store, person.conversationId)).toEqual(["completed"]);
    expect(models.requests).toHaveLength(2);
    await server.stop();
  });

  test("losing the connection is none: the Run ends as if it had stayed, and its client gets all of it (invariant 4)", async ({
    node,
  }) => {
    const gate = Promise.withResolvers<void>();
    const models = scriptedModels(hang(["one "], gate.promise, say("two")));
    const server = await startWireServer(node.store, models);
    const person = server.client({ transport });
    const request = person.runRequest("Count");
    const stream = person.stream();
    await stream.send(request);
    await stream.down.says("one ");
    stream.lose();
    await server.met("run.parked");
    gate.resolve();
    await expect.poll(() => runStatuses(node.store, person.conversationId)).toEqual(["completed"]);
    const back = person.stream();
    await back.send(request);
    await back.down.over();
    expectFinished(back.down);
    expect(back.down.text).toBe("one two");
    expect(models.requests).toHaveLength(1);
    await expect
      .poll(async () => (await node.store.inspect(person.conversationId as ConversationId))?.runs[0]?.delivered)
      .toBe(true);
    await server.stop();
  });

  test("a provider that dies after some text: the text stays in history, the client is told, the next turn goes on (LC-04, LC-05)", async ({
    node,
  }) => {
    const dying = async function* () {
      yield [{ type: "text", text: "x".repeat(200) } as const];
      yield [{ type: "call", index: 0, providerId: "call_0" as never, name: "Read" } as const];
      yield [{ type: "failed", failure: { kind: "interrupted", message: "gone", retryable: true } } as const];
    };
    const models = scriptedModels(dying, say("Next."));
    const server = await startWireServer(node.store, models);
    const person = server.client({ transport });
    const stream = person.stream();
    await stream.send(person.runRequest("Go"));
    await stream.down.over();
    expectFailed(stream.down, "unavailable");
    // the card of the call that was never whole is closed
    expect(stream.down.kinds).toContain("interactionUpdate.toolCallCompleted");
    const next = person.stream();
    await next.send(person.runRequest("Go on"));
    await next.down.over();
    expectFinished(next.down);
    expect(JSON.stringify(models.requests.at(-1)?.messages)).toContain("x".repeat(200));
    await server.stop();
  });

  test("output with a byte that is no text is replaced: client and model see the same, the Run goes on (TL-11)", async ({
    node,
  }) => {
    const models = scriptedModels(call({ name: "Shell", args: { command: "cat x" } }), say("Seen."));
    const server = await startWireServer(node.store, models);
    const person = server.client({ transport });
    const stream = person.stream();
    await stream.send(person.runRequest("Show x"));
    await stream.down.sees("execServerMessage.shellStreamArgs");
    const [exec] = stream.down.execs;
    const marked = clientBytes(exec!.id, exec!.execId, "a@b\u0000c\n");
    const at = marked.indexOf("@");
    marked[at] = 0xff;
    await stream.send(marked);
    await stream.answer(exec!, { case: "shellStream", value: { event: { case: "exit", value: {} } } });
    await stream.down.over();
    expectFinished(stream.down);
    const shown = stream.down.messages.flatMap(({ message }) =>
      message.case === "interactionUpdate" && message.value.message.case === "toolCallDelta"
        ? [JSON.stringify(message.value.message.value, (_, value: unknown) => (typeof value === "bigint" ? 0 : value))]
        : [],
    );
    expect(shown.join("")).toContain("a\ufffdb");
    expect(JSON.stringify(models.requests.at(-1)?.messages)).toContain("a\ufffdb");
    expect(stream.down.messages.map(kindOf).at(-1)).toBe("interactionUpdate.turnEnded");
    await server.stop();
  });
});

function clientBytes(id: number, execId: string, data: string): Buffer {
  const message = {
    case: "execClientMessage",
    value: { id, execId, message: { case: "shellStream", value: { event: { case: "stdout", value: { data } } } } },
  } as const;
  return Buffer.from(toBinary(agent.AgentClientMessageSchema, create(agent.AgentClientMessageSchema, { message })));
}
