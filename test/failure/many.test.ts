import { describe, expect, onTestFinished } from "vitest";
import { test } from "../support/database.ts";
import { openAiStub } from "../support/openai-stub.ts";
import { person } from "../support/person.ts";
import { startTestServer } from "../support/server.ts";

const MANY = 50;
const TURNS = 3;
const marks = (text: string): ReadonlySet<string> => new Set(text.match(/mark-\d+-/gu));

describe("many conversations at once", { timeout: 120_000 }, () => {
  test(`${MANY} of them, over both transports: none mixes with another`, async ({ url }) => {
    const vendor = await openAiStub((request, body) => {
      const [mark = "none"] = marks(body);
      return { text: [mark, " heard ", `${request.messages.filter(({ role }) => role === "user").length}`] };
    });
    const server = await startTestServer({
      databaseUrl: url,
      config: {
        limits: { maxOpenRunsPerMember: MANY },
        providers: [{ id: "stub", kind: "openai", baseUrl: vendor.url, models: [{ id: "stub-model" }] }],
      },
    });
    const people = await Promise.all((["h1", "h2"] as const).map((transport) => person(server.url, { transport })));
    onTestFinished(async () => {
      for (const one of people) one.leave();
      await server.stop();
      await vendor.close();
    });

    const lives = Array.from({ length: MANY }, async (_, n) => {
      const one = people[n % people.length]!;
      const conversation = await one.conversation();
      const answers: string[] = [];
      for (let turn = 1; turn <= TURNS; turn++) {
        const result = await one.say(conversation, `mark-${n}- says ${turn}`);
        expect(result).toMatchObject({ outcome: "completed", conversation: conversation.id });
        answers.push(result.text);
      }
      return answers;
    });
    const answers = await Promise.all(lives);

    for (const [n, texts] of answers.entries())
      for (const text of texts) expect(text).toMatch(new RegExp(`^mark-${n}- heard \\d+$`, "u"));
    expect(vendor.requests).toHaveLength(MANY * TURNS);
    for (const { body } of vendor.requests) expect(marks(body).size).toBe(1);
    // the prompt of a turn begins with that of the turn before
    for (let n = 0; n < MANY; n++) {
      const own = vendor.requests
        .filter(({ body }) => marks(body).has(`mark-${n}-`))
        .map(({ body }) => (JSON.parse(body) as { messages: readonly unknown[] }).messages);
      expect(own).toHaveLength(TURNS);
      for (const [at, messages] of own.entries())
        if (at > 0) expect(messages.slice(0, own[at - 1]!.length)).toEqual(own[at - 1]);
    }
    expect(server.events.filter(({ type }) => type === "chart.unhandled" || type === "chart.error")).toEqual([]);
  });
});
