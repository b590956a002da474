import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Conversation, parts, record, runOf, said, section, userMessage } from "../samples.ts";
import { appendStep } from "../step.ts";
import { CATEGORIES, tokenDetails, tokenDetailsMessage, type TokenInput } from "./details.ts";

const tool = (name: string) => ({ name, description: "does things ".repeat(10), inputSchema: { type: "object" } });

function input(chat: Conversation, rest: Partial<TokenInput> = {}): TokenInput {
  return {
    system: "You are a coding agent. ".repeat(20),
    tools: [tool("Read"), tool("tracker-search")],
    dynamicTools: new Set(["tracker-search"]),
    messages: chat.view.messages,
    window: 200_000,
    ...rest,
  };
}

function talked(): Conversation {
  const chat = new Conversation();
  const run = runOf("r");
  const context = ["rules", "cloud_rule", "skills", "mcp", "subagents", "git"].map((name) =>
    section(name, "text ".repeat(50)),
  );
  chat.open({ runId: run, input: { message: userMessage("go", "m"), parts: parts("go") }, context });
  chat.commit(appendStep(chat.place(run), record(run, 1, [said("Done. ".repeat(20))])));
  return chat;
}

describe("HI-26 token details", () => {
  test("the eight official categories, each counted, their sum is what is used", () => {
    const { categories, used, max } = tokenDetails(input(talked()));
    expect(Object.keys(categories)).toEqual(Object.keys(CATEGORIES));
    expect(Object.keys(categories)).toHaveLength(8);
    expect(categories.summarized_conversation).toBe(0);
    for (const name of ["system_prompt", "tools", "rules", "skills", "mcp", "subagents", "conversation"] as const)
      expect(categories[name]).toBeGreaterThan(0);
    expect(categories.mcp).toBeGreaterThan(categories.skills);
    expect(categories.rules).toBeGreaterThan(1.8 * categories.skills);
    expect(Object.values(categories).reduce((a, b) => a + b, 0)).toBe(used);
    expect(used).toBeLessThan(max);
  });

  test("what the provider counted is shared out, and stays below the window", () => {
    const chat = talked();
    fc.assert(
      fc.property(fc.nat(500_000), fc.integer({ min: 1, max: 300_000 }), (measured, window) => {
        const { categories, used } = tokenDetails(input(chat, { measured, window }));
        expect(used).toBe(Math.min(measured, window - 1));
        expect(Object.values(categories).reduce((a, b) => a + b, 0)).toBe(used);
        for (const count of Object.values(categories)) expect(count).toBeGreaterThanOrEqual(0);
      }),
    );
  });

  test("the wire's form", () => {
    const details = tokenDetails(input(talked()));
    const message = tokenDetailsMessage(details);
    expect(message.usedTokens).toBe(details.used);
    expect(message.breakdown?.totalUsedTokens).toBe(details.used);
    expect(message.breakdown?.categories.map(({ id, label }) => [id, label])).toEqual(Object.entries(CATEGORIES));
  });

  test("HI-14 after a rewind it is what a fresh estimate of the branch gives", () => {
    const chat = talked();
    const { head } = chat.view;
    const before = tokenDetails(input(chat));
    chat.open({ runId: runOf("r2"), input: { message: userMessage("more", "m2"), parts: parts("more ".repeat(500)) } });
    expect(tokenDetails(input(chat)).used).toBeGreaterThan(before.used);
    chat.moveTo(head);
    expect(tokenDetails(input(chat))).toEqual(before);
  });
});
