import { agent } from "@chartroom/protocol";
import { describe, expect } from "vitest";
import { test } from "../support/database.ts";
import { mortalStore } from "../support/mortal-store.ts";
import { openRoom, type Room } from "../support/room.ts";
import { call, say } from "../support/scripted-provider.ts";
import { Chat, workspace } from "./support/chat.ts";
import { historyModels } from "./support/models.ts";
import { expectPrefix, expectPrefixes, expectSame, textOf } from "./support/prefix.ts";

const contexts = (text: string): number => text.split("the machine and the workspace").length - 1;
const changes = (text: string): number => text.split("Changed since then.").length - 1;

describe("the prefix", () => {
  test("HI-01 twenty turns with tools: each request begins with the one before, in structure and in the bytes of each adapter", async ({
    node,
  }) => {
    const models = historyModels();
    const chat = new Chat(openRoom(node.store, models));
    for (let turn = 1; turn <= 20; turn += 1) {
      const read = (name: string) => ({ name: "Read", args: { path: `/ws/demo/${name}-${turn}.ts` } });
      models.answer(
        ...(turn % 2 === 0 ? [call(read("a"), read("b"))] : []),
        ...(turn % 3 === 0 ? [call(read("c"))] : []),
        say(`Answer ${turn}: `, 'ünïcödé "quotes" ]}'),
      );
      const { downlink } = await chat.say(`Request ${turn}`);
      expect(downlink.terminals).toEqual([{ kind: "completed" }]);
    }
    expect(models.sent).toHaveLength(20 + 10 + 6);
    expectPrefixes(models.sent);
    expect(new Set(models.sent.map(({ request }) => JSON.stringify(request.tools))).size).toBe(1);
    expect(contexts(textOf(models.sent.at(-1)))).toBe(1);
  });

  test("HI-02 context A, B, A: three events, each in its place", async ({ node }) => {
    const models = historyModels();
    const chat = new Chat(openRoom(node.store, models));
    const a = workspace({ git: " M a.ts" });
    for (const [at, context] of [a, workspace({ git: " M b.ts" }), a, a].entries())
      await chat.say(`turn ${at}`, { context });
    expectPrefixes(models.sent);
    const text = textOf(models.sent.at(-1));
    expect([contexts(text), changes(text)]).toEqual([1, 2]);
    const order = ["M a.ts", "turn 0", "M b.ts", "turn 1", "M a.ts", "turn 2", "turn 3"];
    let from = 0;
    for (const piece of order) {
      from = text.indexOf(piece, from);
      expect(from, piece).toBeGreaterThan(-1);
    }
  });

  test("HI-03 a turn retried five times with other contexts, once through a restarted server and once through another node: identical bytes, one event", async ({
    node,
    openNode,
  }) => {
    const failing = async function* () {
      yield [{ type: "failed", failure: { kind: "auth", status: 401, message: "no", retryable: false } } as const];
    };
    const models = historyModels([say("First.")]);
    const mortal = mortalStore(node.store);
    const chat = new Chat(openRoom(mortal.store, models));
    await chat.say("Begin", { context: workspace({ git: " M a.ts" }) });
    models.answer(failing);
    const before = chat.state;
    for (let time = 0; time < 5; time += 1) {
      chat.state = before;
      await chat.say("Again", { messageId: "m-retried", context: workspace({ git: ` M retry-${time}.ts` }) });
    }
    mortal.kill();
    const restarted = openRoom(node.store, models);
    const there = chat.at(restarted);
    there.state = before;
    await there.say("Again", { messageId: "m-retried", context: workspace({ git: " M restarted.ts" }) });
    await restarted.service.drain(0);
    const elsewhere = chat.at(openRoom((await openNode()).store, models));
    elsewhere.state = before;
    models.answer(say("At last."));
    const last = await elsewhere.say("Again", {
      messageId: "m-retried",
      context: workspace({ git: " M elsewhere.ts" }),
    });
    expect(last.downlink.terminals).toEqual([{ kind: "completed" }]);
    const [first, ...retries] = models.sent.slice(1);
    expect(retries).toHaveLength(6);
    for (const retry of retries) expectSame(first!, retry);
    const text = textOf(models.sent.at(-1));
    expect(text.split('"Again"')).toHaveLength(2);
    expect([contexts(text), changes(text)]).toEqual([1, 1]);
    expect(text).toContain("retry-0.ts");
  });

  test("HI-04 a turn at 23:59 and the next at 00:01: old messages stand, the new date is in the new turn alone", async ({
    node,
  }) => {
    let now = Date.UTC(2026, 10, 30, 23, 59);
    const models = historyModels();
    const clock = {
      now: () => now,
      setTimeout: (fn: () => void, ms: number) => setTimeout(fn, ms).unref(),
      clearTimeout: (timer: unknown) => clearTimeout(timer as NodeJS.Timeout),
    };
    const chat = new Chat(openRoom(node.store, models, { clock }));
    await chat.say("Good evening");
    now += 120_000;
    await chat.say("Good morning");
    expectPrefixes(models.sent);
    const [first, second] = models.sent;
    expect(textOf(first)).toContain("2026-11-30 23:59");
    expect(textOf(first)).not.toContain("2026-12-01");
    expect(textOf(second).split("2026-12-01 00:01")).toHaveLength(2);
    expect(first!.request.system).not.toMatch(/2026/u);
  });

  test("HI-05 a changed git status: the prefix stands, and what is added is the changed section, not the whole context", async ({
    node,
  }) => {
    const models = historyModels();
    const chat = new Chat(openRoom(node.store, models));
    const rules = ["Use tabs. ".repeat(400), "Write tests. ".repeat(400)];
    await chat.say("one", { context: workspace({ git: " M a.ts", rules, skills: ["deploy"], mcp: ["tracker"] }) });
    await chat.say("two", { context: workspace({ git: " M b.ts", rules, skills: ["deploy"], mcp: ["tracker"] }) });
    expectPrefixes(models.sent);
    const [first, second] = models.sent;
    const added = JSON.stringify(second!.request.messages.slice(first!.request.messages.length));
    expect(added).toContain("M b.ts");
    expect(added).not.toContain("Use tabs");
    expect(added.length).toBeLessThan(700);
    expect(textOf(first).length).toBeGreaterThan(9_000);
  });

  test.for([
    ["ask", agent.AgentMode.ASK],
    ["plan", agent.AgentMode.PLAN],
    ["debug", agent.AgentMode.DEBUG],
  ] as const)(
    "HI-07 from agent to %s mode and back: the messages grow as ever, only system text and tools are the mode's, and the first prefix is used again",
    async ([name, mode], { node }) => {
      const models = historyModels([call({ name: "Read", args: { path: "/ws/demo/a.ts" } }), say("One.")]);
      const room = openRoom(node.store, models);
      const chat = new Chat(room);
      await chat.say("one");
      await chat.say("two", { mode });
      await chat.say("three", { mode });
      await chat.say("four");
      const [, first, other, more, back] = models.sent;
      for (const [before, now] of [
        [first, other],
        [other, more],
        [more, back],
      ] as const)
        expect(now!.request.messages.slice(0, before!.request.messages.length)).toEqual(before!.request.messages);
      expectPrefix(other!, more!);
      expectPrefix(first!, back!);
      expect(back!.request.tools).toEqual(first!.request.tools);
      // what a mode may do is in its tools; one that may do all has the tools of agent mode, to the byte
      if (name === "debug") expect(other!.request.tools).toEqual(first!.request.tools);
      else expect(other!.request.tools.map((tool) => tool.name)).not.toContain("Write");
      expect(broken(room)).toEqual(["system-changed", "system-changed"]);
    },
  );
});

/** What the cache detector said of the prefixes that broke. */
function broken(room: Room): readonly string[] {
  return room.events.flatMap((event) => (event.type === "prefix.broken" ? [event.cause] : []));
}
