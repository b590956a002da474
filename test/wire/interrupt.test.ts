import { describe, expect } from "vitest";
import { test } from "../support/database.ts";
import { commitGate } from "../support/commit-gate.ts";
import { holdIn } from "../support/phases.ts";
import { call, hang, say, scriptedModels } from "../support/scripted-provider.ts";
import { expectFinished, runStatuses } from "../support/wire-checks.ts";
import { readAnswer, unique, WIRE_TRANSPORTS } from "../support/wire-client.ts";
import { startWireServer } from "../support/wire-server.ts";

const read = (path: string) => ({ name: "Read", args: { path: `/ws/demo/${path}` } });
const count = (kinds: readonly string[], kind: string): number => kinds.filter((each) => each === kind).length;

describe.each(WIRE_TRANSPORTS)("a soft interrupt over %s", (transport) => {
  test.for(["modeling", "waitingTools"] as const)(
    "in %s by a user message: the same conversation and Run go on, the message is delivered once (LC-06)",
    async (phase, { node }) => {
      const store = commitGate(node.store);
      const models = scriptedModels();
      const server = await startWireServer(store.store, models);
      const person = server.client({ transport });
      const { stream, release } = await holdIn(phase, person, models, store, { next: say("It is Monday.") });
      const messageId = unique("message");
      const said = [stream.say("Print the date instead", messageId), stream.say("Print the date instead", messageId)];
      await server.met("inbox.filled");
      if (phase === "modeling") await release();
      await Promise.all(said);
      await stream.down.over();
      const { down } = stream;
      expectFinished(down);
      expect(down.text.endsWith("It is Monday.")).toBe(true);
      expect(count(down.kinds, "interactionUpdate.userMessageAppended")).toBe(1);
      expect(await runStatuses(node.store, person.conversationId)).toEqual(["completed"]);
      const prompt = JSON.stringify(models.requests.at(-1)?.messages);
      expect(prompt.match(/Print the date instead/gu)).toHaveLength(1);
      if (phase === "modeling") expect(prompt).toContain("Half");
      else {
        const kinds = down.kinds;
        expect(kinds.indexOf("execServerControlMessage.abort")).toBeGreaterThan(0);
        expect(kinds.indexOf("execServerControlMessage.abort")).toBeLessThan(
          kinds.indexOf("interactionUpdate.userMessageAppended"),
        );
        expect(models.requests.at(-1)?.messages.filter(({ role }) => role === "tool")).toHaveLength(1);
      }
      await server.stop();
    },
  );

  test("three times in one Run, then a normal tool round: each message once, in order; the round attaches as ever (LC-07)", async ({
    node,
  }) => {
    const models = scriptedModels(hang(["a"]), hang(["b"]), hang(["c"]), call(read("a.ts")), say("Done."));
    const server = await startWireServer(node.store, models);
    const person = server.client({ transport });
    person.onExec = (exec) => readAnswer(exec);
    const stream = person.stream();
    await stream.send(person.runRequest("Go", { runId: "wire-1" }));
    for (const [index, text] of ["a", "b", "c"].entries()) {
      await stream.down.until(() => stream.down.text.endsWith(text), text);
      await stream.inject(`inj-${index}`, "wire-1", `Note ${index}`);
    }
    await stream.down.over();
    expectFinished(stream.down);
    const prompt = JSON.stringify(models.requests.at(-1)?.messages);
    expect([...prompt.matchAll(/Note (\d)/gu)].map(([, index]) => index)).toEqual(["0", "1", "2"]);
    expect(prompt).toContain("1|A");
    expect(count(stream.down.kinds, "interactionUpdate.toolCallCompleted")).toBe(1);
    expect(models.requests).toHaveLength(5);
    await server.stop();
  });

  test("with the last results of the calls that the client stopped: they settle their calls (`interrupted_pending_tool_call_resolutions`)", async ({
    node,
  }) => {
    const models = scriptedModels(call({ name: "Shell", args: { command: "npm test" } }), say("Half of it passed."));
    const server = await startWireServer(node.store, models);
    const person = server.client({ transport });
    const stream = person.stream();
    await stream.send(person.runRequest("Test it"));
    await stream.down.sees("execServerMessage.shellStreamArgs");
    const toolCallId = stream.down.execs[0]?.execId ?? "";
    await stream.action({
      case: "userMessageAction",
      value: {
        userMessage: { text: "What happened?", messageId: unique("message") },
        interruptedPendingToolCallResolutions: {
          resolutions: [
            {
              toolCallId,
              resolution: {
                case: "shellResult",
                value: { result: { case: "failure", value: { stdout: "3 passed", exitCode: 130, aborted: true } } },
              },
            },
          ],
        },
      },
    });
    await stream.down.over();
    expectFinished(stream.down);
    expect(JSON.stringify(models.requests.at(-1)?.messages)).toContain("3 passed");
    await server.stop();
  });

  test("at the very end of a turn: the message opens the next Run on the same stream, which sees the turn before (LC-08)", async ({
    node,
  }) => {
    const store = commitGate(node.store);
    const models = scriptedModels();
    const server = await startWireServer(store.store, models);
    for (const [index, phase] of (["checkpointing", "finalizing"] as const).entries()) {
      const person = server.client({ transport });
      const { stream, release } = await holdIn(phase, person, models, store, { next: say("Two.") });
      const said = stream.say("And now?");
      await server.acted(index + 1);
      await release();
      await said;
      await stream.down.over();
      expectFinished(stream.down, 2);
      expect(stream.down.text).toBe("Whole.Two.");
      const prompt = JSON.stringify(models.requests.at(-1)?.messages);
      expect(prompt).toContain("Whole.");
      expect(prompt).toContain("And now?");
      expect(await runStatuses(node.store, person.conversationId)).toEqual(["completed", "completed"]);
    }
    await server.stop();
  });
});

describe.each(WIRE_TRANSPORTS)("a late tool result over %s", (transport) => {
  test("after the cancel of its Run is dropped; the next turn has the interrupted result (LC-09)", async ({ node }) => {
    const models = scriptedModels(call(read("a.ts")), say("Next."));
    const server = await startWireServer(node.store, models);
    const person = server.client({ transport });
    const stream = person.stream();
    await stream.send(person.runRequest("Read"));
    await stream.down.sees("execServerMessage.readArgs");
    const [exec] = stream.down.execs;
    await stream.cancel();
    await stream.down.over();
    const reply = await stream.answer(exec!, readAnswer(exec!, "TOO LATE")!);
    if (transport === "sse") expect([reply?.status, reply?.body.byteLength]).toEqual([200, 0]);
    const next = person.stream();
    await next.send(person.runRequest("Go on"));
    await next.down.over();
    expectFinished(next.down);
    const prompt = JSON.stringify(models.requests.at(-1)?.messages);
    expect(prompt).not.toContain("TOO LATE");
    expect(models.requests.at(-1)?.messages.filter(({ role }) => role === "tool")).toHaveLength(1);
    await server.stop();
  });

  test("after the next turn began, with the same exec id and the same provider call id again, does not touch that turn (LC-09, TL-01)", async ({
    node,
  }) => {
    const models = scriptedModels(call(read("a.ts")), call(read("b.ts")), say("Done."));
    const server = await startWireServer(node.store, models);
    const person = server.client({ transport });
    const old = person.stream();
    await old.send(person.runRequest("Read a"));
    await old.down.sees("execServerMessage.readArgs");
    const [exec] = old.down.execs;
    const fresh = person.stream();
    await fresh.send(person.runRequest("Read b"));
    await Promise.all([old.down.over(), fresh.down.sees("execServerMessage.readArgs")]);
    const [other] = fresh.down.execs;
    // both streams count from 1, and the model calls each call `call_0`
    expect(other?.id).toBe(exec?.id);
    expect(other?.execId).not.toBe(exec?.execId);
    await old.answer(exec!, readAnswer(exec!, "TOO LATE")!);
    await old.answer(exec!, readAnswer(exec!, "TOO LATE")!);
    await fresh.answer(other!, readAnswer(other!, "IN TIME")!);
    await fresh.down.over();
    expectFinished(fresh.down);
    const prompt = JSON.stringify(models.requests.at(-1)?.messages);
    expect(prompt).toContain("IN TIME");
    expect(prompt).not.toContain("TOO LATE");
    expect(count(fresh.down.kinds, "interactionUpdate.toolCallCompleted")).toBe(1);
    await server.stop();
  });

  test("a second time, and a throw and a close behind the result, change nothing; the first result wins", async ({
    node,
  }) => {
    const gate = Promise.withResolvers<void>();
    const models = scriptedModels(call(read("a.ts"), read("b.ts")), hang(["Busy"], gate.promise, say(".")));
    const server = await startWireServer(node.store, models);
    const person = server.client({ transport });
    const stream = person.stream();
    await stream.send(person.runRequest("Read both"));
    await stream.down.until(() => stream.down.execs.length === 2, "two execs");
    const [a, b] = stream.down.execs;
    await stream.answer(a!, readAnswer(a!, "FIRST")!);
    await stream.answer(a!, readAnswer(a!, "SECOND")!);
    for (const message of [
      { case: "throw", value: { id: a!.id, error: "no" } },
      { case: "streamClose", value: { id: a!.id } },
      { case: "heartbeat", value: { id: 99 } },
    ] as const)
      await stream.send({ message: { case: "execClientControlMessage", value: { message } } });
    await stream.answer({ ...b!, id: 99 }, readAnswer(b!, "NOBODY ASKED")!);
    await stream.answer(b!, readAnswer(b!, "OTHER")!);
    await stream.down.says("Busy");
    await stream.answer(b!, readAnswer(b!, "THIRD")!);
    gate.resolve();
    await stream.down.over();
    expectFinished(stream.down);
    const prompt = JSON.stringify(models.requests.at(-1)?.messages);
    expect(prompt).toContain("FIRST");
    expect(prompt).toContain("OTHER");
    for (const text of ["SECOND", "NOBODY ASKED", "THIRD"]) expect(prompt).not.toContain(text);
    expect(count(stream.down.kinds, "interactionUpdate.toolCallCompleted")).toBe(2);
    await server.stop();
  });
});
