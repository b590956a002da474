import { describe, expect } from "vitest";
import { test } from "../support/database.ts";
import { commitGate } from "../support/commit-gate.ts";
import { holdIn, type Phase, PHASES } from "../support/phases.ts";
import { hang, say, scriptedModels } from "../support/scripted-provider.ts";
import { expectFailed, expectFinished, runStatuses } from "../support/wire-checks.ts";
import { WIRE_TRANSPORTS, type WireStream } from "../support/wire-client.ts";
import { startWireServer, type WireServer } from "../support/wire-server.ts";

/** In these the outcome is decided already. */
const ENDING: readonly string[] = ["checkpointing", "finalizing"];
/** In these a cancelled Run still waits for what holds it. */
const HELD_ON: readonly string[] = ["modeling", "interrupting", ...ENDING];

/** When the conversation has met the cancel: what comes after it on the stream is answered, or the chart has taken it. */
async function took(server: WireServer, phase: Phase, stream: WireStream): Promise<void> {
  if (ENDING.includes(phase)) {
    await stream.inject("probe", "another Run", "?");
    return stream.down.sees("interactionUpdate.contextInjectionState");
  }
  return server.met("cancel");
}

describe.each(WIRE_TRANSPORTS)("cancel over %s", (transport) => {
  describe.each(PHASES)("in %s", (phase) => {
    test.for(["on its stream", "on a stream of its own"] as const)(
      "%s: one terminal, work so far is kept, the conversation takes the next message (LC-01, LC-02)",
      async (where, { node }) => {
        const store = commitGate(node.store);
        const models = scriptedModels();
        const server = await startWireServer(store.store, models);
        const person = server.client({ transport });
        const { stream, release } = await holdIn(phase, person, models, store);
        const { down } = stream;
        if (where === "on its stream") {
          const answers = [stream.cancel(), stream.cancel()];
          await took(server, phase, stream);
          // an append is answered when the cancel is in the store, which what is held keeps away
          if (HELD_ON.includes(phase)) await release();
          await Promise.all(answers);
        } else {
          const other = person.stream();
          const answer = other.send(person.action({ case: "cancelAction", value: { reason: "user" } }));
          if (ENDING.includes(phase)) await other.down.over();
          else await took(server, phase, stream);
          if (HELD_ON.includes(phase)) await release();
          await answer;
          await other.down.over();
          expect(other.down.ends).toEqual([{ kind: "completed" }]);
          expect(other.down.text).toBe("");
        }
        await down.over();
        if (ENDING.includes(phase)) expectFinished(down);
        else expectFailed(down, "canceled");
        const { kinds } = down;
        if (phase === "waitingTools") {
          const abort = kinds.indexOf("execServerControlMessage.abort");
          expect(abort).toBeGreaterThan(0);
          expect(abort).toBeLessThan(kinds.indexOf("interactionUpdate.toolCallCompleted"));
        }
        // what was there is kept and told to the client before the end
        if (!ENDING.includes(phase) && phase !== "preparing") expect(kinds.at(-1)).toBe("conversationCheckpointUpdate");
        const statuses = (): ReturnType<typeof runStatuses> => runStatuses(node.store, person.conversationId);
        // a message that was on its way into the Run asks for one of its own
        if (phase === "interrupting") await expect.poll(statuses).toEqual(["cancelled", "completed"]);
        else expect(await statuses()).toEqual([ENDING.includes(phase) ? "completed" : "cancelled"]);

        models.answer(say("Next."));
        const next = person.stream();
        await next.send(person.runRequest("Go on"));
        await next.down.over();
        expectFinished(next.down);
        const prompt = JSON.stringify(models.requests.at(-1)?.messages);
        if (phase === "modeling" || phase === "interrupting") expect(prompt).toContain("Half");
        if (phase === "interrupting") expect(prompt).toContain("Stop that");
        if (phase === "waitingTools")
          expect(models.requests.at(-1)?.messages.filter(({ role }) => role === "tool")).toHaveLength(1);
        expect(server.reports).toEqual([]);
        await server.stop();
      },
    );
  });

  test("together with a lost connection and a provider that fails: one terminal, the first cause wins (LC-02)", async ({
    node,
  }) => {
    const models = scriptedModels(hang(["Half"]));
    const server = await startWireServer(node.store, models);
    const person = server.client({ transport });
    const stream = person.stream();
    const request = person.runRequest("Go");
    await stream.send(request);
    await stream.down.says("Half");
    await stream.cancel();
    stream.lose();
    await server.service.registry.all()[0]?.written();
    const back = person.stream({ headers: { "x-original-request-id": stream.requestId } });
    models.answer(say("Anew."));
    await back.send(request);
    await back.down.over();
    expect(back.down.ends).toHaveLength(1);
    const statuses = await runStatuses(node.store, person.conversationId);
    expect(statuses[0]).toBe("cancelled");
    await server.stop();
  });

  test.for(["on its stream", "on a stream of its own that names it"] as const)(
    "of a Run that waits, %s, ends that one alone; the Run that lives goes its own way",
    async (where, { node }) => {
      const store = commitGate(node.store);
      const models = scriptedModels();
      const server = await startWireServer(store.store, models);
      const person = server.client({ transport });
      const { stream: living, release } = await holdIn("modeling", person, models, store);
      const waiting = person.stream();
      await waiting.send(person.action({ case: "summarizeAction", value: {} }, { runId: "wire-waits" }));
      const statuses = (): ReturnType<typeof runStatuses> => runStatuses(node.store, person.conversationId);
      await expect.poll(statuses).toEqual(["running", "waiting"]);
      if (where === "on its stream") await waiting.cancel();
      else {
        const other = person.stream();
        const cancel = { case: "cancelAction", value: { reason: "user" } } as const;
        await other.send(person.action(cancel, { runId: "wire-waits" }));
        await other.down.over();
        expect(other.down.ends).toEqual([{ kind: "completed" }]);
      }
      await waiting.down.over();
      expectFailed(waiting.down, "canceled");
      expect(living.down.closed).toBe(false);
      expect(await statuses()).toEqual(["running", "cancelled"]);
      await release();
      await living.down.over();
      expectFinished(living.down);
      expect(living.down.text).toBe("Half and on");
      expect(await statuses()).toEqual(["completed", "cancelled"]);
      expect(models.requests).toHaveLength(1);
      await server.stop();
    },
  );

  test("of a message that waits for a Run which ends is not answered any more; the end of the other stays", async ({
    node,
  }) => {
    const store = commitGate(node.store);
    const models = scriptedModels();
    const server = await startWireServer(store.store, models);
    const person = server.client({ transport });
    const { stream: ending, release } = await holdIn("checkpointing", person, models, store);
    const waiting = person.stream();
    await waiting.send(person.runRequest("And then"));
    const statuses = (): ReturnType<typeof runStatuses> => runStatuses(node.store, person.conversationId);
    await expect.poll(statuses).toEqual(["running", "waiting"]);
    await waiting.cancel();
    await waiting.down.over();
    expectFailed(waiting.down, "canceled");
    await release();
    await ending.down.over();
    expectFinished(ending.down);
    expect(await statuses()).toEqual(["completed", "cancelled"]);
    expect(models.requests).toHaveLength(1);
    await server.stop();
  });

  test("of a conversation that is idle is acknowledged and changes nothing", async ({ node }) => {
    const server = await startWireServer(node.store, scriptedModels(say("One."), say("Two.")));
    const person = server.client({ transport });
    const stream = person.stream();
    await stream.send(person.runRequest("Go"));
    await stream.down.over();
    await stream.cancel();
    const other = person.stream();
    await other.send(person.action({ case: "cancelAction", value: { reason: "user" } }));
    await other.down.over();
    expect(other.down.ends).toEqual([{ kind: "completed" }]);
    expect(await runStatuses(node.store, person.conversationId)).toEqual(["completed"]);
    await server.stop();
  });
});

describe("cancel by an append that comes late", () => {
  test("on the stream of a Run that has ended: the next Run goes on (LC-09)", async ({ node }) => {
    const gate = Promise.withResolvers<void>();
    const models = scriptedModels(say("One."), hang(["Half"], gate.promise, say(" and on")));
    const server = await startWireServer(node.store, models);
    const person = server.client({ transport: "sse" });
    const first = person.stream();
    await first.send(person.runRequest("Go"));
    await first.down.over();
    const second = person.stream();
    await second.send(person.runRequest("Go on"));
    await second.down.says("Half");
    await first.cancel();
    gate.resolve();
    await second.down.over();
    expectFinished(second.down);
    expect(second.down.text).toBe("Half and on");
    expect(await runStatuses(node.store, person.conversationId)).toEqual(["completed", "completed"]);
    await server.stop();
  });

  test("after a restart, on the stream of a Run that waits: that one ends alone", async ({ openNode }) => {
    const first = await openNode();
    const server = await startWireServer(first.store, scriptedModels(hang(["Half"])));
    const person = server.client({ transport: "sse" });
    const request = person.runRequest("Go", { messageId: "m-restarted" });
    const living = person.stream();
    await living.send(request);
    await living.down.says("Half");
    const waiting = person.stream();
    await waiting.send(person.action({ case: "summarizeAction", value: {} }));
    await server.stop();

    const second = await openNode();
    const models = scriptedModels(say("Whole."));
    const after = await startWireServer(second.store, models);
    const back = person.twin(after.port);
    const late = back.stream({ requestId: waiting.requestId, downlink: false });
    late.seqno = 1;
    await late.cancel();
    expect(await runStatuses(second.store, person.conversationId)).toEqual(["running", "cancelled"]);
    const retry = back.stream({ headers: { "x-original-request-id": living.requestId } });
    await retry.send(request);
    await retry.down.over();
    expectFinished(retry.down);
    expect(await runStatuses(second.store, person.conversationId)).toEqual(["completed", "cancelled"]);
    expect(models.requests).toHaveLength(1);
    back.close();
    await after.stop();
  });
});
