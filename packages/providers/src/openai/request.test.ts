import path from "node:path";
import type { ModelBlock, ModelMessage } from "@chartroom/domain";
import { fc } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import { conversations, golden } from "../../test/conversation.ts";
import { model, request, user } from "../../test/requests.ts";
import { openAiDialect } from "./provider.ts";
import { openAiBody, type OpenAiDialect } from "./request.ts";

const dialect: OpenAiDialect = {
  vendor: "openai:vendor",
  maxTokensField: "max_tokens",
  promptCacheKey: false,
  streamUsage: true,
  reasoningEffort: true,
  reasoningReplay: "field",
  thinking: "effort",
};
const ids = fc.constant("openai:vendor").chain(conversations);

interface WireMessage {
  readonly role: string;
  readonly content: unknown;
  readonly tool_calls?: readonly {
    readonly id: string;
    readonly function: { readonly name: string; readonly arguments: string };
  }[];
  readonly tool_call_id?: string;
  readonly reasoning_content?: string;
  readonly reasoning?: string;
}
const body = (messages: readonly ModelMessage[], rest: Partial<OpenAiDialect> = {}): string =>
  openAiBody(request({ messages }), { ...dialect, ...rest });
const wire = (text: string): readonly WireMessage[] =>
  (JSON.parse(text) as { messages: readonly WireMessage[] }).messages;

describe("openAiBody", () => {
  it("has exactly these bytes", async () => {
    const { messages, ends } = golden("openai:vendor", '{"field":"reasoning_content"}');
    const bodies = ends.map((end) => body(messages.slice(0, end)));
    await expect(`${bodies.join("\n\n")}\n`).toMatchFileSnapshot(
      path.join(import.meta.dirname, "../../test/fixtures/openai-chat-requests.txt"),
    );
  });

  it("HI-01: each request is a strict prefix of the next one, byte for byte", () => {
    fc.assert(
      fc.property(ids, ({ messages, ends }) => {
        const bodies = ends.map((end) => body(messages.slice(0, end)));
        for (let n = 1; n < bodies.length; n++) {
          expect(bodies[n]!.startsWith(bodies[n - 1]!.slice(0, -"]}".length))).toBe(true);
          expect(bodies[n]!.length).toBeGreaterThan(bodies[n - 1]!.length);
        }
        expect(body(structuredClone(messages))).toBe(body(messages));
      }),
    );
  });

  it("is always a request that the vendor accepts", () => {
    fc.assert(
      fc.property(ids, fc.boolean(), ({ messages, ends }, supportsImages) => {
        for (const end of ends) {
          const sent = openAiBody(
            request({ model: { ...model, supportsImages }, messages: messages.slice(0, end) }),
            dialect,
          );
          expectAccepted(wire(sent), supportsImages);
        }
      }),
    );
  });

  it("keeps the exact argument text of every call", () => {
    fc.assert(
      fc.property(ids, ({ messages }) => {
        const asked = messages.flatMap((one) =>
          one.role === "assistant" ? one.calls.map((call) => call.arguments) : [],
        );
        const sent = wire(body(messages)).flatMap((one) =>
          (one.tool_calls ?? []).map((call) => call.function.arguments),
        );
        expect(sent).toEqual(asked);
      }),
    );
  });

  it("sends only what the vendor knows", () => {
    const keys = (rest: Partial<OpenAiDialect>, effort?: "low", tools = request().tools): Record<string, unknown> => {
      const text = openAiBody(request({ tools, ...(effort && { effort }) }), { ...dialect, ...rest });
      const { messages: _, tools: __, ...others } = JSON.parse(text) as Record<string, unknown>;
      return others;
    };
    const base = { model: "vendor-m-1", stream: true };
    expect(keys({ streamUsage: false })).toEqual({ ...base, max_tokens: 8_192 });
    expect(keys({ promptCacheKey: true, maxTokensField: "max_completion_tokens" }, "low")).toEqual({
      ...base,
      stream_options: { include_usage: true },
      max_completion_tokens: 8_192,
      reasoning_effort: "low",
      prompt_cache_key: "conversation-1",
    });
    expect(keys({ reasoningEffort: false }, "low")).not.toHaveProperty("reasoning_effort");
    expect(keys({ thinking: "none" }, "low")).not.toHaveProperty("reasoning_effort");
    expect(keys({ thinking: "effortWithoutTools" }, "low")).toHaveProperty("reasoning_effort", "none");
    expect(keys({ thinking: "effortWithoutTools" }, "low", [])).toHaveProperty("reasoning_effort", "low");
    expect(JSON.parse(openAiBody(request({ tools: [] }), dialect))).not.toHaveProperty("tools");
  });

  it("gives a vendor its own reasoning back, once per message, and says a stranger's in words", () => {
    const own = (text: string) =>
      ({ type: "thinking", text, replay: { vendor: dialect.vendor, data: '{"field":"reasoning"}' } }) as const;
    const blocks = [own("a"), { type: "text", text: "T" } as const, own("b"), { type: "thinking", text: "c" } as const];
    const message: ModelMessage = { role: "assistant", blocks, calls: [] };
    expect(wire(body([user("x"), message]))[2]).toEqual({
      role: "assistant",
      content: "T\n\n<thinking>\nc\n</thinking>",
      reasoning: "ab",
    });
    expect(wire(body([user("x"), message], { reasoningReplay: "omit" }))[2]).not.toHaveProperty("reasoning");
  });
  describe("HI-16: reasoning of earlier messages, by the vendor's rule", () => {
    const own = (text: string) =>
      ({ type: "thinking", text, replay: { vendor: dialect.vendor, data: '{"field":"reasoning_content"}' } }) as const;
    const said = { type: "text", text: "T" } as const;
    const calls = [{ id: "c", name: "Read", arguments: "{}" }];
    const answer = (...blocks: readonly ModelBlock[]): ModelMessage => ({ role: "assistant", blocks, calls });
    const sent = (message: ModelMessage, reasoningReplay: OpenAiDialect["reasoningReplay"]) =>
      wire(body([user("x"), message], { reasoningReplay }))[2];

    it.each([
      ["field: as it came, where there is some", "field", "R", undefined, undefined],
      ["omit: never", "omit", undefined, undefined, undefined],
      ["required: as it came, and where there is none, or it is blank, a carrier", "required", "R", " ", " "],
    ] as const)("%s", (_, rule, some, none, blank) => {
      const field = (message: ModelMessage) => sent(message, rule)?.reasoning_content;
      expect(field(answer(own("R"), said))).toBe(some);
      expect(field(answer(said))).toBe(none);
      // an empty block stands for it in the neutral request; a stranger's reasoning is words, and none of this vendor's
      expect(field(answer({ type: "thinking", text: "" }, said))).toBe(none);
      expect(field(answer({ type: "thinking", text: "theirs" }))).toBe(none);
      if (rule === "required") expect(field(answer(own(""), said))).toBe(blank);
    });

    it("required: every assistant message has some, and each request is a strict prefix of the next one", () => {
      fc.assert(
        fc.property(ids, ({ messages, ends }) => {
          const bodies = ends.map((end) => body(messages.slice(0, end), { reasoningReplay: "required" }));
          for (const [n, text] of bodies.entries()) {
            if (n > 0) expect(text.startsWith(bodies[n - 1]!.slice(0, -"]}".length))).toBe(true);
            for (const message of wire(text).filter(({ role }) => role === "assistant"))
              expect((message.reasoning_content ?? "") + (message.reasoning ?? "")).not.toBe("");
          }
        }),
      );
    });

    it.each([
      ["https://api.openai.com/v1", "field"],
      ["https://api.deepseek.com", "required"],
      ["https://api.moonshot.ai/v1", "required"],
      ["https://api.moonshot.cn/v1", "required"],
      ["https://api.kimi.com/coding/v1", "required"],
      ["https://relay.example/v1", "field"],
    ] as const)("%s has the rule %s, unless the operator says otherwise", (baseUrl, rule) => {
      const config = { id: "v", kind: "openai", baseUrl, apiKey: "k" } as const;
      expect(openAiDialect(config).reasoningReplay).toBe(rule);
      expect(openAiDialect({ ...config, options: { reasoningReplay: "omit" } }).reasoningReplay).toBe("omit");
    });
  });
});

function expectAccepted(messages: readonly WireMessage[], images: boolean): void {
  let open: string[] = [];
  for (const [at, message] of messages.entries()) {
    if (message.role === "tool") {
      expect(open).toContain(message.tool_call_id);
      open = open.filter((id) => id !== message.tool_call_id);
      expect(typeof message.content).toBe("string");
      continue;
    }
    expect(open).toEqual([]);
    if (message.role === "assistant") {
      open = (message.tool_calls ?? []).map(({ id }) => id);
      expect(new Set(open).size).toBe(open.length);
      for (const call of message.tool_calls ?? []) {
        expect(call.id).toMatch(/^[a-zA-Z0-9_-]{1,40}$/);
        expect(call.function.name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
      }
      expect(message.content !== null || open.length > 0).toBe(true);
    } else expect(message.role).toBe(at === 0 ? "system" : "user");
    if (!images) expect(JSON.stringify(message)).not.toContain('"image_url"');
  }
  expect(open).toEqual([]);
}
