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
