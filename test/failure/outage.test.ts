import { describe, expect, onTestFinished } from "vitest";
import { type Proxy, startProxy } from "../contract/store-proxy.ts";
import { test } from "../support/database.ts";
import { call, hang, say, scriptedModels, type ScriptedModels } from "../support/scripted-provider.ts";
import { startTestServer, type TestServer } from "../support/server.ts";
import { expectFinished, expectOneOwner, runStatuses } from "../support/wire-checks.ts";
import { comeBack, readAnswer, unique, WIRE_TRANSPORTS, WireClient } from "../support/wire-client.ts";

interface Place {
  readonly server: TestServer;
  readonly proxy: Proxy;
  readonly models: ScriptedModels;
}

/** A whole server whose way to the database can go dark. */
async function place(url: string, limits: Readonly<Record<string, number>> = {}): Promise<Place> {
  const proxy = await startProxy(url);
  const models = scriptedModels();
  const server = await startTestServer({ databaseUrl: proxy.url, models: models.directory, config: { limits } });
  onTestFinished(async () => {
    await proxy.mend();
    await server.stop();
    await proxy.close();
  });
  return { server, proxy, models };
}

const read = { name: "Read", args: { path: "/ws/demo/a.ts" } };
const readyz = async ({ server }: Place): Promise<number> => (await fetch(`${server.url}/readyz`)).status;
const HEARTBEAT = "interactionUpdate.heartbeat";
const DARK = ["unreachable", "silent"] as const;
const darken = ({ proxy }: Place, how: (typeof DARK)[number]): Promise<void> =>
  how === "silent" ? Promise.resolve(proxy.holdAll()) : proxy.cut();
async function lighten({ proxy }: Place, how: (typeof DARK)[number]): Promise<void> {
  // what was on its way reaches the database late
  if (how === "silent") await proxy.release();
  await proxy.mend();
}

describe.each(WIRE_TRANSPORTS)("a database that is away, over %s", { timeout: 90_000 }, (transport) => {
  function client(port: number): WireClient {
    const person = new WireClient(port, { transport });
    onTestFinished(() => person.close());
    return person;
  }

  test.for(DARK)(
    "while the server speaks, %s: nothing is acknowledged that is not saved, and then all goes on by itself (LO-08)",
    async (how, { url, node }) => {
      const here = await place(url, { heartbeatIntervalMs: 500 });
      here.models.answer(call(read), say("Read."));
      const person = client(here.server.port);
      const stream = person.stream();
      await stream.send(person.runRequest("Read a.ts"));
      await stream.down.sees("execServerMessage.readArgs");
      await stream.down.sees("conversationCheckpointUpdate");
      const [exec] = stream.down.execs;

      await darken(here, how);
      let acknowledged = false;
      const answered = stream.answer(exec!, readAnswer(exec!, "SAVED")!).then((reply) => {
        acknowledged = transport === "sse";
        return reply;
      });
      const heard = stream.down.kinds.filter((kind) => kind === HEARTBEAT).length;
      await stream.down.sees(HEARTBEAT, heard + 4);
      expect(acknowledged).toBe(false);
      // the card is closed when the result is in the store, not before
      expect(stream.down.kinds).not.toContain("interactionUpdate.toolCallCompleted");
      expect(stream.down.closed).toBe(false);

      await lighten(here, how);
      await answered;
      await stream.down.over();
      expectFinished(stream.down);
      expect(JSON.stringify(here.models.requests.at(-1)?.messages)).toContain("SAVED");
      expect(await runStatuses(node.store, person.conversationId)).toEqual(["completed"]);
      await expectOneOwner(node.store, person.conversationId);
    },
  );

  test.for(DARK)(
    "for longer than a write may wait, %s: streams end as unavailable, to be tried again; the retry goes on from the last barrier (LO-08)",
    async (how, { url, node }) => {
      const here = await place(url, { storeRetryMs: 1_000, commitMs: 3_000 });
      here.models.answer(call(read, { ...read, args: { path: "/ws/demo/b.ts" } }), say("Read."));
      const person = client(here.server.port);
      const request = person.runRequest("Read both", { messageId: unique("message") });
      const stream = person.stream();
      await stream.send(request);
      await stream.down.until(() => stream.down.execs.length === 2, "two execs");
      const [a, b] = stream.down.execs;
      await stream.answer(a!, readAnswer(a!, "A SAVED")!);
      await stream.down.sees("interactionUpdate.toolCallCompleted");
      await stream.down.sees("conversationCheckpointUpdate");

      await darken(here, how);
      const reply = await stream.answer(b!, readAnswer(b!, "B NOT SAVED")!).catch((error: unknown) => String(error));
      if (transport === "sse") expect(reply).toContain("503");
      await stream.down.over();
      expect(stream.down.end).toMatchObject({ kind: "error", code: "unavailable" });
      expect(stream.down.end?.kind === "error" && stream.down.end.details?.details?.isRetryable).toBe(true);
      // somebody new is told the same, and nothing is kept of it
      const other = client(here.server.port);
      const refused = other.stream();
      const answer = await refused.send(other.runRequest("Hello"), { mayFail: true });
      if (transport === "sse") expect(answer?.status).toBe(503);
      await refused.down.over();
      expect(refused.down.end).toMatchObject({ kind: "error", code: "unavailable" });
      expect(await readyz(here)).toBe(503);

      await lighten(here, how);
      const asked: string[] = [];
      person.onExec = (exec) => {
        if (exec.message.case === "readArgs") asked.push(exec.message.value.path);
        return readAnswer(exec, "B AGAIN");
      };
      const back = await comeBack(person, request, stream.requestId);
      expectFinished(back.down);
      expect(asked).toEqual(["/ws/demo/b.ts"]);
      const prompt = JSON.stringify(here.models.requests.at(-1)?.messages);
      expect(prompt).toContain("A SAVED");
      expect(prompt).toContain("B AGAIN");
      expect(prompt).not.toContain("B NOT SAVED");
      expect(await runStatuses(node.store, person.conversationId)).toEqual(["completed"]);
      await expectOneOwner(node.store, person.conversationId);
      await expect.poll(() => readyz(here), { timeout: 15_000 }).toBe(200);
    },
  );

  test("for longer than the lease of this server: it speaks for nothing meanwhile, comes back by itself, and the Runs go on", async ({
    url,
    node,
  }) => {
    const here = await place(url);
    const gate = Promise.withResolvers<void>();
    here.models.answer(hang(["Half "], gate.promise, say("old")), say("Whole."));
    const person = client(here.server.port);
    const request = person.runRequest("Go", { messageId: unique("message") });
    const stream = person.stream();
    await stream.send(request);
    await stream.down.says("Half ");

    here.proxy.holdAll();
    await stream.down.over(30_000);
    // another server may own the conversation by now: no word of its end, whatever the model says
    const { text } = stream.down;
    gate.resolve();
    expect(stream.down.ends.filter(({ kind }) => kind === "completed")).toEqual([]);
    expect(text).toBe("Half ");

    await lighten(here, "silent");
    const back = await comeBack(person, request, stream.requestId);
    expectFinished(back.down);
    expect(back.down.text).toContain("Whole.");
    expect(await runStatuses(node.store, person.conversationId)).toEqual(["completed"]);
    await expectOneOwner(node.store, person.conversationId);
    await expect.poll(() => readyz(here), { timeout: 15_000 }).toBe(200);
  });
});
