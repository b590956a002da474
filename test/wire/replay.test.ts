import type { ConversationId } from "@chartroom/domain";
import { describe, expect } from "vitest";
import { test } from "../support/database.ts";
import { withResult } from "../support/resume-state.ts";
import { type Answer, call, hang, say, scriptedModels } from "../support/scripted-provider.ts";
import { expectFailed, expectFinished, runStatuses } from "../support/wire-checks.ts";
import { readAnswer, type Reception, WIRE_TRANSPORTS } from "../support/wire-client.ts";
import { startWireServer } from "../support/wire-server.ts";

const read = (path: string) => ({ name: "Read", args: { path: `/ws/demo/${path}` } });
const count = (down: Reception, kind: string): number => down.kinds.filter((each) => each === kind).length;
/** Says something, then asks for tools. */
function talkAndCall(text: string, ...calls: readonly { readonly name: string; readonly args: unknown }[]): Answer {
  return async function* (request, signal) {
    yield [{ type: "text", text }];
    yield* call(...calls)(request, signal);
  };
}

describe.each(WIRE_TRANSPORTS)("replay over %s", (transport) => {
  test("after a resume with a checkpoint begins behind that checkpoint, after the original request at the start of the Run", async ({
    node,
  }) => {
    const models = scriptedModels(talkAndCall("Before. ", read("a.ts")), say("After."));
    for (const way of ["resume", "original"] as const) {
      models.answer(talkAndCall("Before. ", read("a.ts")), say("After."));
      const server = await startWireServer(node.store, models);
      const person = server.client({ transport });
      const request = person.runRequest("Read a.ts");
      const first = person.stream();
      await first.send(request);
      await first.down.sees("conversationCheckpointUpdate");
      first.lose();
      person.onExec = (exec) => readAnswer(exec);
      const second = person.stream({ headers: { "x-original-request-id": first.requestId } });
      await second.send(way === "resume" ? person.runRequest("", { resume: true }) : request);
      await second.down.over();
      expectFinished(second.down);
      expect(second.down.text).toBe(way === "resume" ? "After." : "Before. After.");
      expect(count(second.down, "interactionUpdate.toolCallStarted")).toBe(way === "resume" ? 0 : 1);
      expect(count(second.down, "interactionUpdate.toolCallCompleted")).toBe(1);
      // the exec is issued again, once, never replayed
      expect(second.down.execs).toHaveLength(1);
      expect(second.down.execs[0]?.execId).toBe(first.down.execs[0]?.execId);
      await server.stop();
    }
  });

  test("issues open calls again with ids of the new stream and the same tool call id; the first result wins, from whichever stream", async ({
    node,
  }) => {
    const models = scriptedModels(call(read("a.ts"), read("b.ts")), say("Read."));
    const server = await startWireServer(node.store, models);
    const person = server.client({ transport });
    const request = person.runRequest("Read both");
    const first = person.stream();
    await first.send(request);
    await first.down.until(() => first.down.execs.length === 2, "two execs");
    const [a, b] = first.down.execs;
    await first.answer(a!, readAnswer(a!, "A1")!);
    await first.down.sees("interactionUpdate.toolCallCompleted");
    // attached and half open: nobody told the server that it is dead
    const second = person.stream({ headers: { "x-original-request-id": first.requestId } });
    await second.send(request);
    await first.down.over();
    expectFailed(first.down, "aborted");
    await second.down.until(() => second.down.execs.length === 1, "the open call");
    const [again] = second.down.execs;
    // a call with a stored result is not issued again
    expect(again?.execId).toBe(b?.execId);
    if (transport === "sse") {
      await first.answer(b!, readAnswer(b!, "B FIRST")!);
      await second.answer(again!, readAnswer(again!, "B SECOND")!);
    } else await second.answer(again!, readAnswer(again!, "B FIRST")!);
    await second.down.over();
    expectFinished(second.down);
    const prompt = JSON.stringify(models.requests.at(-1)?.messages);
    expect(prompt).toContain("A1");
    expect(prompt).toContain("B FIRST");
    expect(prompt).not.toContain("B SECOND");
    await server.stop();
  });

  test("of results that the resuming client has in its state settles their calls: they are not asked for again", async ({
    node,
  }) => {
    const models = scriptedModels(call(read("a.ts")), say("Read."));
    const server = await startWireServer(node.store, models);
    const person = server.client({ transport });
    const first = person.stream();
    await first.send(person.runRequest("Read a.ts"));
    await first.down.sees("conversationCheckpointUpdate");
    first.lose();
    const state = withResult(person.state, first.down.execs[0]?.execId ?? "", "FROM STATE");
    const second = person.stream();
    await second.send(person.runRequest("", { resume: true, state: state.bytes, prefetched: state.blobs }));
    await second.down.over();
    expectFinished(second.down);
    expect(second.down.execs).toEqual([]);
    expect(JSON.stringify(models.requests.at(-1)?.messages)).toContain("FROM STATE");
    await server.stop();
  });

  test("of a Run that outgrew the ring is rebuilt from the store: text, cards, then what is live (TR-06)", async ({
    node,
  }) => {
    const gate = Promise.withResolvers<void>();
    const long = Array.from({ length: 40 }, (_, index) => `${index} `);
    const models = scriptedModels(
      talkAndCall("First. ", read("a.ts")),
      talkAndCall("Second. ", read("b.ts")),
      hang(long, gate.promise, say("end")),
    );
    const server = await startWireServer(node.store, models, { ring: { entries: 8, bytes: 1024 * 1024 } });
    const person = server.client({ transport });
    person.onExec = (exec) => readAnswer(exec);
    const request = person.runRequest("Go");
    const first = person.stream();
    await first.send(request);
    await first.down.says("39 ");
    first.lose();
    const second = person.stream();
    await second.send(request);
    await second.down.says("39 ");
    gate.resolve();
    await second.down.over();
    expectFinished(second.down);
    expect(second.down.text).toBe(`First. Second. ${long.join("")}end`);
    expect(count(second.down, "interactionUpdate.toolCallCompleted")).toBe(2);
    expect(second.down.execs).toEqual([]);
    await server.stop();
  });

  test("of an ended Run that outgrew the ring, too", async ({ node }) => {
    const long = Array.from({ length: 40 }, (_, index) => `${index} `);
    const models = scriptedModels(talkAndCall("First. ", read("a.ts")), say(...long));
    const server = await startWireServer(node.store, models, { ring: { entries: 8, bytes: 1024 * 1024 } });
    const person = server.client({ transport });
    person.onExec = (exec) => readAnswer(exec);
    const request = person.runRequest("Go");
    const first = person.stream();
    await first.send(request);
    await first.down.over();
    await first.reopen(request);
    await first.down.over();
    expectFinished(first.down);
    expect(first.down.text).toBe(`First. ${long.join("")}`);
    await server.stop();
  });
});

describe.each(WIRE_TRANSPORTS)("a client's state over %s", (transport) => {
  test("that is stale, for nothing newer was delivered: the conversation goes on from its own head, which comes first", async ({
    node,
  }) => {
    const models = scriptedModels(say("One."), hang(["Two"]), say("Three."));
    const server = await startWireServer(node.store, models);
    const person = server.client({ transport });
    const first = person.stream();
    await first.send(person.runRequest("first"));
    await first.down.over();
    const before = person.state;
    // the second turn is lost on the way: the client never gets a checkpoint of it
    person.acknowledges = false;
    const second = person.stream();
    await second.send(person.runRequest("second"));
    await second.down.says("Two");
    second.lose();
    person.acknowledges = true;
    const third = person.stream();
    await third.send(person.runRequest("third", { state: before }));
    await third.down.over();
    expectFinished(third.down);
    const prompt = JSON.stringify(models.requests.at(-1)?.messages);
    for (const text of ["first", "One.", "second", "Two", "third"]) expect(prompt).toContain(text);
    expect(count(third.down, "conversationCheckpointUpdate")).toBeGreaterThanOrEqual(2);
    await server.stop();
  });

  test("that is older than what was delivered is a rewind: a branch without what came after it; the old one stays", async ({
    node,
  }) => {
    const models = scriptedModels(say("One."), say("Two."), say("Three."));
    const server = await startWireServer(node.store, models);
    const person = server.client({ transport });
    const states: Uint8Array[] = [];
    for (const text of ["first", "second"]) {
      states.push(person.state);
      const stream = person.stream();
      await stream.send(person.runRequest(text));
      await stream.down.over();
    }
    const fork = person.stream();
    await fork.send(person.runRequest("instead", { state: states[1] ?? new Uint8Array() }));
    await fork.down.over();
    expectFinished(fork.down);
    const prompt = JSON.stringify(models.requests.at(-1)?.messages);
    expect(prompt).toContain("One.");
    expect(prompt).not.toContain("second");
    expect(prompt).not.toContain("Two.");
    await server.stop();
  });

  test("of a rewound client does not get the result of the shell that it left running (LC-10)", async ({ node }) => {
    const models = scriptedModels(say("One."), call({ name: "Shell", args: { command: "sleep 60" } }), say("Two."));
    const server = await startWireServer(node.store, models);
    const person = server.client({ transport });
    const first = person.stream();
    await first.send(person.runRequest("first"));
    await first.down.over();
    const before = person.state;
    const second = person.stream();
    await second.send(person.runRequest("run it"));
    await second.down.sees("execServerMessage.shellStreamArgs");
    await second.down.sees("conversationCheckpointUpdate");
    const [exec] = second.down.execs;
    const fork = person.stream();
    await fork.send(person.runRequest("instead", { state: before }));
    await second.answer(exec!, { case: "shellStream", value: { event: { case: "stdout", value: { data: "LATE" } } } });
    await second.answer(exec!, { case: "shellStream", value: { event: { case: "exit", value: {} } } });
    await Promise.all([second.down.over(), fork.down.over()]);
    expectFinished(fork.down);
    const prompt = JSON.stringify(models.requests.at(-1)?.messages);
    expect(prompt).not.toContain("LATE");
    expect(prompt).not.toContain("run it");
    expect(prompt).toContain("instead");
    await server.stop();
  });

  test("with a message that was delivered and comes again, unchanged: a retry or anew, told by the delivered end", async ({
    node,
  }) => {
    const models = scriptedModels(say("First answer."), say("Second answer."));
    const server = await startWireServer(node.store, models);
    const person = server.client({ transport });
    const request = person.runRequest("Ask");
    const first = person.stream();
    await first.send(request);
    await first.down.over();
    const named = person.stream({ headers: { "x-original-request-id": first.requestId } });
    await named.send(request);
    await named.down.over();
    expect(named.down.text).toBe("First answer.");
    const anew = person.stream();
    await anew.send(request);
    await anew.down.over();
    expectFinished(anew.down);
    expect(anew.down.text).toBe("Second answer.");
    expect(JSON.stringify(models.requests.at(-1)?.messages)).not.toContain("First answer.");
    expect(await runStatuses(node.store, person.conversationId)).toEqual(["completed", "completed"]);
    await expect
      .poll(async () =>
        (await node.store.inspect(person.conversationId as ConversationId))?.runs.every(({ delivered }) => delivered),
      )
      .toBe(true);
    await server.stop();
  });
});
