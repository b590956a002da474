import { agent } from "@chartroom/protocol";
import { describe, expect } from "vitest";
import { test } from "../support/database.ts";
import { mortalStore } from "../support/mortal-store.ts";
import { openRoom } from "../support/room.ts";
import { call, say } from "../support/scripted-provider.ts";
import { Chat, workspace } from "./support/chat.ts";
import { historyModels } from "./support/models.ts";
import { expectPrefixes, expectSame, textOf } from "./support/prefix.ts";

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

  test("HI-03 a turn retried five times with other contexts, and once through a restarted server: identical bytes, one event", async ({
    node,
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
    const there = chat.at(openRoom(node.store, models));
    there.state = before;
    models.answer(say("At last."));
    const last = await there.say("Again", { messageId: "m-retried", context: workspace({ git: " M restarted.ts" }) });
    expect(last.downlink.terminals).toEqual([{ kind: "completed" }]);
    const [first, ...retries] = models.sent.slice(1);
    expect(retries).toHaveLength(5);
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

  test("HI-07 Agent, Ask, Agent: reset only where tools differ, and the first prefix is used again", async ({
    node,
  }) => {
    const models = historyModels();
    const chat = new Chat(openRoom(node.store, models));
    await chat.say("one");
    await chat.say("two", { mode: agent.AgentMode.ASK });
    await chat.say("three");
    const [first, asked, back] = models.sent;
    expect(asked!.request.system).not.toBe(first!.request.system);
    expect(asked!.request.messages.slice(0, first!.request.messages.length)).toEqual(first!.request.messages);
    expectPrefixes([first!, back!]);
    expect(back!.request.messages.slice(0, asked!.request.messages.length)).toEqual(asked!.request.messages);
    expect(back!.request.tools).toEqual(first!.request.tools);
  });
});
