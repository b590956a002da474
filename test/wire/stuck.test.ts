import { defaultSettings } from "@chartroom/conversation";
import type { ConversationStore } from "@chartroom/domain";
import { connect } from "@chartroom/store";
import { describe, expect } from "vitest";
import { test } from "../support/database.ts";
import { ManualClock } from "../support/gateway/manual-clock.ts";
import { hang, say, scriptedModels } from "../support/scripted-provider.ts";
import { expectFailed, expectFinished, runStatuses } from "../support/wire-checks.ts";
import { unique, WIRE_TRANSPORTS } from "../support/wire-client.ts";
import { startWireServer } from "../support/wire-server.ts";

/** Settings whose bound of interrupting throws once, when `arm` was called: the chart that enters the state is in error. */
function brokenOnce(): { readonly settings: typeof defaultSettings; arm(): void } {
  let armed = false;
  const settings = Object.defineProperty({ ...defaultSettings }, "interruptMs", {
    enumerable: true,
    get() {
      if (!armed) return defaultSettings.interruptMs;
      armed = false;
      throw new Error("a delay that breaks");
    },
  });
  return { settings, arm: () => void (armed = true) };
}

describe.each(WIRE_TRANSPORTS)("a Run that is stuck, over %s", (transport) => {
  /** A Run that has said "Half" and hangs, on a server of its own. */
  async function halfWay({ store }: { readonly store: ConversationStore }) {
    const server = await startWireServer(store, scriptedModels(hang(["Half"])));
    const person = server.client({ transport });
    const request = person.runRequest("Go", { messageId: unique("message") });
    const stream = person.stream();
    await stream.send(request);
    await stream.down.says("Half");
    return { server, person, request, stream };
  }

  test("whose actor is in error: a resume supersedes it and goes on from its checkpoint (LC-20)", async ({ node }) => {
    const models = scriptedModels(hang(["Half"]), say("Whole."));
    const server = await startWireServer(node.store, models);
    const { settings, arm } = brokenOnce();
    expect(server.service.applySettings(settings)).toEqual([]);
    const person = server.client({ transport });
    const stream = person.stream();
    await stream.send(person.runRequest("Go"));
    await stream.down.says("Half");
    arm();
    // an append is refused or not, as the error comes before or after its answer; what it said is stored
    await stream.say("Stop that").catch(() => undefined);
    await stream.down.over();
    expectFailed(stream.down, "unavailable");
    expect(server.events.some(({ type }) => type === "chart.error")).toBe(true);
    expect(await runStatuses(node.store, person.conversationId)).toEqual(["running"]);

    const resume = person.stream();
    await resume.send(person.runRequest("", { resume: true }));
    await resume.down.over();
    expectFinished(resume.down);
    expect(resume.down.text).toContain("Whole.");
    expect(await runStatuses(node.store, person.conversationId)).toEqual(["superseded", "completed"]);
    const prompt = JSON.stringify(models.requests.at(-1)?.messages);
    for (const said of ["Go", "Stop that"]) expect(prompt.split(`"${said}"`)).toHaveLength(2);
    await server.stop();
  });

  test("that is past its bound: a resume supersedes it and goes on from its checkpoint (LC-20)", async ({
    openNode,
  }) => {
    const { server, person, stream } = await halfWay(await openNode());
    stream.lose();
    await server.met("run.parked");
    await server.stop();

    const second = await openNode();
    const models = scriptedModels(say("Whole."));
    const clock = new ManualClock(Date.now() + defaultSettings.parkedRunTtlMs + 60_000);
    const after = await startWireServer(second.store, models, { clock });
    const back = person.twin(after.port);
    const resume = back.stream();
    await resume.send(back.runRequest("", { resume: true }));
    await resume.down.over();
    expectFinished(resume.down);
    expect(resume.down.text).toContain("Whole.");
    expect(await runStatuses(second.store, person.conversationId)).toEqual(["superseded", "completed"]);
    expect(JSON.stringify(models.requests[0]?.messages)).toContain("Half");
    back.close();
    await after.stop();
  });

  test.for([
    ["a resume", "superseded"],
    ["the same message again", "superseded"],
    ["a new message", "superseded"],
    ["a cancel", "cancelled"],
  ] as const)(
    "whose stored state cannot be read: %s ends it as %s, and the conversation goes on from its checkpoint (LC-20)",
    async ([command, outcome], { openNode, url }) => {
      const { server, person, request, stream } = await halfWay(await openNode());
      await server.stop();
      const sql = connect(url);
      await sql`update conversation set state = '{"value":"nowhere","context":{}}' where id = ${person.conversationId}`;
      await sql.end();

      const second = await openNode();
      const models = scriptedModels(say("Whole."));
      const after = await startWireServer(second.store, models);
      const back = person.twin(after.port);
      const next = back.stream({ headers: { "x-original-request-id": stream.requestId } });
      const commands = {
        "a resume": () => back.runRequest("", { resume: true }),
        "the same message again": () => request,
        "a new message": () => back.runRequest("And then"),
        "a cancel": () => back.action({ case: "cancelAction", value: { reason: "user" } }),
      };
      await next.send(commands[command]());
      await next.down.over();
      expect(next.down.ends).toEqual([{ kind: "completed" }]);
      const statuses = (): ReturnType<typeof runStatuses> => runStatuses(second.store, person.conversationId);
      if (command === "a cancel") {
        expect(await statuses()).toEqual([outcome]);
        const resume = back.stream();
        await resume.send(back.runRequest("", { resume: true }));
        await resume.down.over();
        expectFinished(resume.down);
      } else expect(next.down.text).toContain("Whole.");
      expect(await statuses()).toEqual([outcome, "completed"]);
      const prompt = JSON.stringify(models.requests[0]?.messages);
      expect(prompt.split('"Go"')).toHaveLength(2);
      expect(prompt).toContain("Half");
      expect(models.requests).toHaveLength(1);
      back.close();
      await after.stop();
    },
  );

  test("whose state another version of the server has stored is left as it is, with a clear error, whatever is sent", async ({
    openNode,
    url,
  }) => {
    const { server, person } = await halfWay(await openNode());
    await server.stop();
    const sql = connect(url);
    const { conversationId } = person;
    const stored = () => sql`select version, state, head from conversation where id = ${conversationId}`;
    await sql`update conversation set version = 99 where id = ${conversationId}`;
    const before = await stored();

    const second = await openNode();
    const models = scriptedModels(say("Whole."));
    const after = await startWireServer(second.store, models);
    const back = person.twin(after.port);
    const cancel = back.action({ case: "cancelAction", value: { reason: "user" } });
    for (const command of [back.runRequest("", { resume: true }), back.runRequest("And then"), cancel]) {
      const next = back.stream();
      // over RunSSE the append itself is refused
      await next.send(command).catch(() => undefined);
      await next.down.over();
      expect(next.down.ends).toMatchObject([
        {
          code: "unimplemented",
          details: { details: { detail: expect.stringContaining("Another version of the server") } },
        },
      ]);
    }
    expect(await stored()).toEqual(before);
    expect(await runStatuses(second.store, conversationId)).toEqual(["running"]);
    expect(models.requests).toHaveLength(0);

    await sql`update conversation set version = 1 where id = ${conversationId}`;
    const resume = back.stream();
    await resume.send(back.runRequest("", { resume: true }));
    await resume.down.over();
    expectFinished(resume.down);
    await sql.end();
    back.close();
    await after.stop();
  });
});
