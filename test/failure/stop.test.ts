import { describe, expect, onTestFinished } from "vitest";
import { test } from "../support/database.ts";
import { killable } from "../support/killable.ts";
import { expectFinished, expectOneOwner, runStatuses } from "../support/wire-checks.ts";
import { comeBack, readAnswer, unique, WIRE_TRANSPORTS, WireClient } from "../support/wire-client.ts";

const read = (path: string) => ({ name: "Read", args: { path: `/ws/demo/${path}` } });

describe.each(WIRE_TRANSPORTS)("a server that is asked to stop, over %s", { timeout: 90_000 }, (transport) => {
  test("ends open Runs after a checkpoint, to be tried again; the next server goes on at once, and asks for nothing twice (LC-26)", async ({
    url,
  }) => {
    const hold = Promise.withResolvers<void>();
    const calls = new Map<string, number>();
    const town = await killable(
      url,
      (body) => {
        const which = body.includes("TALK") ? "TALK" : "TOOLS";
        const call = (calls.get(which) ?? 0) + 1;
        calls.set(which, call);
        if (call > 1) return { text: [`${which} whole.`] };
        return which === "TALK"
          ? { text: ["TALK half ", "never"], before: hold.promise }
          : { calls: [read("a.ts"), read("b.ts")] };
      },
      { drainMs: 500 },
    );
    onTestFinished(async () => {
      hold.resolve();
      await town.close();
    });
    const first = await town.start();
    const talker = new WireClient(first.port, { transport });
    const worker = new WireClient(first.port, { transport });
    const talk = { person: talker, request: talker.runRequest("TALK", { messageId: unique("message") }) };
    const work = { person: worker, request: worker.runRequest("TOOLS", { messageId: unique("message") }) };
    const [talking, working] = [talker.stream(), worker.stream()];
    await talking.send(talk.request);
    await working.send(work.request);
    await talking.down.says("TALK half ");
    await working.down.until(() => working.down.execs.length === 2, "two execs");
    const [a, b] = working.down.execs;
    await working.answer(a!, readAnswer(a!, "A BEFORE")!);
    await working.down.sees("interactionUpdate.toolCallCompleted");

    expect(await first.kill("SIGTERM")).toEqual({ code: 0, signal: null });
    for (const stream of [talking, working]) {
      await stream.down.over();
      expect(stream.down.ends).toHaveLength(1);
      expect(stream.down.end).toMatchObject({ kind: "error", code: "unavailable" });
      expect(stream.down.end?.kind === "error" && stream.down.end.details?.details?.isRetryable).toBe(true);
      expect(stream.down.kinds).toContain("conversationCheckpointUpdate");
    }
    for (const { person } of [talk, work])
      expect(await runStatuses(town.store, person.conversationId)).toEqual(["running"]);

    const second = await town.start();
    const asked: string[] = [];
    for (const [{ person, request }, before] of [
      [talk, talking],
      [work, working],
    ] as const) {
      const back = person.twin(second.port);
      onTestFinished(() => {
        person.close();
        back.close();
      });
      back.onExec = (exec) => {
        asked.push(exec.execId);
        return readAnswer(exec, "B AFTER");
      };
      const now = await comeBack(back, request, before.requestId);
      expectFinished(now.down);
      expect(await runStatuses(town.store, person.conversationId)).toEqual(["completed"]);
      await expectOneOwner(town.store, person.conversationId);
    }
    expect(asked).toEqual([b?.execId]);
    const last = town.vendor.requests.at(-1)?.body;
    expect(last).toContain("A BEFORE");
    expect(last).toContain("B AFTER");
  });

  test("lets a Run that needs its client once more end within the limit: results and acknowledgements still come in", async ({
    url,
  }) => {
    let calls = 0;
    const town = await killable(url, () => (++calls === 1 ? { calls: [read("a.ts")] } : { text: ["Read."] }), {
      drainMs: 20_000,
    });
    onTestFinished(() => town.close());
    const server = await town.start();
    const person = new WireClient(server.port, { transport });
    onTestFinished(() => person.close());
    const stream = person.stream();
    await stream.send(person.runRequest("Read a.ts"));
    await stream.down.sees("execServerMessage.readArgs");
    const stopped = server.kill("SIGTERM");
    await expect.poll(async () => (await fetch(`${server.url}/readyz`)).status).toBe(503);
    // a new connection, as a client on HTTP/1.1 may need one for its next append
    const other = person.twin(server.port);
    onTestFinished(() => other.close());
    const refused = other.stream();
    await refused.send(other.runRequest("And now?"), { mayFail: true });
    await refused.down.over();
    expect(refused.down.end).toMatchObject({ kind: "error", code: "unavailable" });

    const [exec] = stream.down.execs;
    await stream.answer(exec!, readAnswer(exec!, "IN TIME")!);
    await stream.down.over();
    expectFinished(stream.down);
    expect(town.vendor.requests.at(-1)?.body).toContain("IN TIME");
    expect(await stopped).toEqual({ code: 0, signal: null });
    expect(await runStatuses(town.store, person.conversationId)).toEqual(["completed"]);
  });
});
