import { createHash } from "node:crypto";
import type { ModelRequest, ToolScope } from "@chartroom/domain";
import { systemPrompt } from "@chartroom/prompting";
import { createModelDirectory, type ProviderConfig, requestBody } from "@chartroom/providers";
import { createTools } from "@chartroom/tools";
import { describe, expect, test } from "vitest";
import { systemClock } from "../support/clock.ts";
import { type StoryCall, type StoryOptions, told } from "../property/history/story.ts";
import { onLines } from "./support/lines.ts";

/*
 * What each adapter sends for twenty turns, to the byte: system text, tools and messages of the agent mode as the server makes
 * them. A difference here resets the prompt cache of every conversation that goes on after an upgrade, so it needs a reason; then
 * `npm test -- test/history/golden.test.ts -u` writes the files anew.
 */

type Remote = Exclude<ProviderConfig, { readonly kind: "demo" }>;
interface Dialect {
  readonly config: Remote;
  /** Reasoning as this vendor gives it. */
  readonly replay: StoryOptions["replay"];
  readonly hidden?: StoryOptions["replay"];
}

const field = (): string => '{"field":"reasoning_content"}';
const signature = (turn: number): string => `{"signature":"c2lnbmF0dXJl${turn}"}`;
const redacted = (turn: number): string => `{"redacted":"cmVkYWN0ZWQ${turn}"}`;
const relay = { apiKey: "none", baseUrl: "http://relay.test/v1" } as const;

/** By the kinds that there are; a new adapter without an entry is a type error. */
const DIALECTS: { readonly [Kind in Remote["kind"]]: Readonly<Record<string, Dialect>> } = {
  openai: {
    openai: {
      config: { id: "openai", kind: "openai", apiKey: "none", models: [{ id: "m", images: true, thinking: "effort" }] },
      replay: field,
    },
    "openai-relay": {
      config: { id: "relay", kind: "openai", ...relay, models: [{ id: "m", images: true, thinking: "effort" }] },
      replay: field,
    },
  },
  anthropic: {
    anthropic: {
      config: {
        id: "anthropic",
        kind: "anthropic",
        apiKey: "none",
        models: [{ id: "m", images: true, thinking: "adaptive" }],
      },
      replay: signature,
      hidden: redacted,
    },
    "anthropic-relay": {
      config: {
        id: "relay",
        kind: "anthropic",
        ...relay,
        models: [{ id: "m", images: true, thinking: "none" }],
        options: { cache: "1h" },
      },
      replay: signature,
      hidden: redacted,
    },
  },
};
const dialects = Object.values(DIALECTS).flatMap((of) => Object.entries(of));

const MARK = /,"cache_control":\{[^}]*\}/gu;
const END = "]}";

describe("HI-01 twenty turns with tools, as they go to a provider", () => {
  test.for(dialects)("%s", async ([name, dialect]) => {
    const { calls } = told(20, { vendor: dialect.config.id, mode: () => "agent", ...dialect });
    const request = requester(dialect.config);
    const bodies = calls.map((call) => requestBody(dialect.config, request(call)));
    for (const [at, body] of bodies.entries()) {
      expect(body.endsWith(END)).toBe(true);
      expect(() => JSON.parse(body) as unknown).not.toThrow();
      const before = bodies[at - 1]?.replaceAll(MARK, "").slice(0, -END.length);
      const now = body.replaceAll(MARK, "");
      if (before !== undefined) expect([now.slice(0, before.length), now[before.length]]).toEqual([before, ","]);
    }
    const last = bodies.at(-1)!;
    const lines = onLines(last);
    expect(lines.replaceAll("\n", "")).toBe(last);
    await expect(`${lines}\n`).toMatchFileSnapshot(`golden/${name}.request.txt`);
    await expect(table(calls, bodies)).toMatchFileSnapshot(`golden/${name}.calls.txt`);
  });
});

/** Makes the requests of a Run in agent mode, with an MCP tool whose schema no vendor takes as it is. */
function requester(config: Remote): (call: StoryCall) => ModelRequest {
  const directory = createModelDirectory({ providers: [config] }, { clock: systemClock });
  if (!directory.ok) throw new Error(JSON.stringify(directory.error));
  const model = directory.value.defaultModel;
  const scope: ToolScope = {
    conversationId: "conversation" as ToolScope["conversationId"],
    runId: "run" as ToolScope["runId"],
    mode: "agent",
    offers: [
      {
        name: "tracker-search",
        description: "Searches the tracker.",
        inputSchema: {
          anyOf: [
            { type: "object", properties: { query: { type: "string" } }, required: ["query"] },
            { type: "object", properties: { id: { type: "integer" } }, required: ["id"] },
          ],
        },
        providerIdentifier: "tracker",
        toolName: "search",
      },
    ],
    context: undefined,
  };
  const tools = createTools().catalogue(scope);
  const system = systemPrompt({ mode: "agent", toolNames: tools.map((tool) => tool.name) });
  return ({ messages }) => ({
    model,
    system,
    tools,
    messages,
    maxOutputTokens: model.maxOutputTokens,
    effort: "high",
    cacheKey: "conversation",
  });
}

/** One line for each call: its turn, the messages, the bytes and their digest. */
function table(calls: readonly StoryCall[], bodies: readonly string[]): string {
  const rows = calls.map(({ turn, messages }, at) => {
    const bytes = Buffer.from(bodies[at]!);
    return [turn, messages.length, bytes.length, createHash("sha256").update(bytes).digest("hex")].join("\t");
  });
  return `${["turn\tmessages\tbytes\tsha256", ...rows].join("\n")}\n`;
}
