import { defaultSettings } from "@chartroom/conversation";
import type { ConversationId, ConversationStore } from "@chartroom/domain";
import { describe, expect, onTestFinished } from "vitest";
import { awayStore } from "../support/away-store.ts";
import { commitGate } from "../support/commit-gate.ts";
import { test } from "../support/database.ts";
import { ManualClock } from "../support/gateway/manual-clock.ts";
import { settle } from "../support/gateway/until.ts";
import { holdIn, type Phase, PHASES } from "../support/phases.ts";
import { say, type ScriptedModels, scriptedModels } from "../support/scripted-provider.ts";
import { expectFinished, expectOneOwner, runStatuses } from "../support/wire-checks.ts";
import { unique, WIRE_TRANSPORTS, type WireClient, type WireTransport } from "../support/wire-client.ts";
import { startWireServer } from "../support/wire-server.ts";

/** How long a write is tried again, in ms: the configured limit, as it is by default. */
const LIMIT = defaultSettings.storeRetryMs;
const HEARTBEAT = "interactionUpdate.heartbeat";

async function place(node: ConversationStore, transport: WireTransport) {
  const away = awayStore(node);
  const gate = commitGate(away.store);
  const clock = new ManualClock(Date.now());
  const models = scriptedModels();
  const server = await startWireServer(gate.store, models, { clock });
  onTestFinished(async () => {
    away.comeBack();
    await server.stop();
  });
  return { away, gate, clock, models, server, person: server.client({ transport }) };
}

/** Time passes, second by second, with time for what it brings about. */
async function pass(clock: ManualClock, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 1_000) {
    clock.advance(1_000);
    await settle();
  }
}

/** What is in the store of a conversation: nothing may be written that nobody hears of. */
async function stored(store: ConversationStore, { conversationId }: WireClient): Promise<unknown> {
  const view = await store.inspect(conversationId as ConversationId);
  return view && { runs: view.runs, journal: view.journal.length, messages: view.messages, head: view.head };
}

/** What the model was asked with after the outage: what was said once is there once. */
function expectOnce(models: ScriptedModels, phase: Phase): void {
  const prompt = JSON.stringify(models.requests.at(-1)?.messages);
  expect(prompt.split('"Go"')).toHaveLength(2);
  if (phase === "interrupting") expect(prompt.split('"Stop that"')).toHaveLength(2);
}

describe.each(WIRE_TRANSPORTS)("a database that is away, over %s", (transport) => {
  test.for(PHASES)(
    "in %s, for less than a write may wait: nothing is told, and the Run goes on by itself (LO-08)",
    async (phase, { node }) => {
      const { away, gate, clock, models, person } = await place(node.store, transport);
      const { stream, release } = await holdIn(phase, person, models, gate);
      await gate.quiet();
      const before = await stored(node.store, person);
      away.leave();
      // what is sent now is acknowledged when it is stored, not before
      let acknowledged = false;
      const released = release().then(() => (acknowledged = true));
      await expect.poll(() => away.refused).toBeGreaterThan(0);
      const heard = stream.down.kinds.filter((kind) => kind === HEARTBEAT).length;
      await pass(clock, LIMIT - 2_000);
      expect(away.refused).toBeGreaterThan(10);
      expect(stream.down.closed).toBe(false);
      await stream.down.sees(HEARTBEAT, heard + 3);
      if (transport === "sse" && phase === "waitingTools") expect(acknowledged).toBe(false);
      expect(stream.down.kinds).not.toContain("interactionUpdate.turnEnded");
      expect(await stored(node.store, person)).toEqual(before);

      away.comeBack();
      await pass(clock, 2_000);
      await released;
      await stream.down.over();
      expectFinished(stream.down);
      expect(await runStatuses(node.store, person.conversationId)).toEqual(["completed"]);
      expectOnce(models, phase);
    },
  );

  test.for(PHASES)(
    "in %s, for longer: its stream ends as unavailable, to be tried again, and nothing is written; the retry goes on from the last barrier (LO-08)",
    async (phase, { node }) => {
      const { away, gate, clock, models, server, person } = await place(node.store, transport);
      const messageId = unique("message");
      const { stream, request, release } = await holdIn(phase, person, models, gate, { messageId });
      await gate.quiet();
      const before = await stored(node.store, person);
      away.leave();
      const released = release().catch((error: unknown) => String(error));
      await expect.poll(() => away.refused).toBeGreaterThan(0);
      await pass(clock, LIMIT + 2_000);
      await stream.down.over();
      expect(stream.down.ends).toHaveLength(1);
      expect(stream.down.end).toMatchObject({ kind: "error", code: "unavailable" });
      expect(stream.down.end?.kind === "error" && stream.down.end.details?.details?.isRetryable).toBe(true);
      const answer = await released;
      // a result that was not stored is not acknowledged
      if (transport === "sse" && phase === "waitingTools") expect(answer).toContain("503");
      expect(server.service.registry.size).toBe(0);
      // who comes meanwhile is told the same, on both halves of its stream
      const early = person.stream({ headers: { "x-original-request-id": stream.requestId } });
      const refused = await early.send(request, { mayFail: true });
      if (transport === "sse") expect(refused?.status).toBe(503);
      await early.down.over();
      expect(early.down.end).toMatchObject({ kind: "error", code: "unavailable" });
      expect(await stored(node.store, person)).toEqual(before);

      away.comeBack();
      person.acknowledges = true;
      person.onExec = () => ({ case: "shellStream", value: { event: { case: "exit", value: {} } } });
      models.answer(say("Whole."));
      const back = person.stream({ headers: { "x-original-request-id": stream.requestId } });
      await back.send(request);
      await back.down.over();
      expectFinished(back.down);
      expect(back.down.text).toContain("Whole.");
      expect(await runStatuses(node.store, person.conversationId)).toEqual(["completed"]);
      expectOnce(models, phase);
      await expectOneOwner(node.store, person.conversationId);
      expect(server.reports.filter((cause) => !String(cause).includes("the database is away"))).toEqual([]);
    },
  );

  test("while a Run is taken up again: who asks for it is told so, and nobody takes it for stuck (LO-08)", async ({
    openNode,
  }) => {
    const first = await openNode();
    const there = await place(first.store, transport);
    const { stream, request } = await holdIn("modeling", there.person, there.models, there.gate);
    stream.lose();
    await there.server.met("run.parked");
    await there.server.stop();

    const second = await openNode();
    const { away, gate, clock, models, server, person: other } = await place(second.store, transport);
    const back = there.person.twin(server.port);
    onTestFinished(() => back.close());
    other.close();
    gate.hold(() => true);
    const early = back.stream({ headers: { "x-original-request-id": stream.requestId } });
    const refused = early.send(request, { mayFail: true });
    await expect.poll(() => gate.held).toBeGreaterThan(0);
    away.leave();
    gate.release();
    await pass(clock, LIMIT + 2_000);
    await refused;
    await early.down.over();
    expect(early.down.end).toMatchObject({ kind: "error", code: "unavailable" });

    away.comeBack();
    models.answer(say("Whole."));
    const later = back.stream({ headers: { "x-original-request-id": stream.requestId } });
    await later.send(request);
    await later.down.over();
    expectFinished(later.down);
    expect(later.down.text).toContain("Whole.");
    expect(await runStatuses(second.store, there.person.conversationId)).toEqual(["completed"]);
    expectOnce(models, "modeling");
  });
});
