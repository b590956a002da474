import path from "node:path";
import type { ModelMessage, ModelRequest } from "@chartroom/domain";
import { fc } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import { conversations, golden } from "../../test/conversation.ts";
import { model, request, user } from "../../test/requests.ts";
import { anthropicBody, thinksInBudget, type AnthropicDialect } from "./request.ts";

const vendor = "anthropic:vendor";
const dialect: AnthropicDialect = { vendor, cache: "5m", eagerToolInput: false, thinking: "none" };
const MARK = ',"cache_control":{"type":"ephemeral"}';

interface WireBlock {
  readonly type: string;
  readonly text?: string;
  readonly id?: string;
  readonly name?: string;
  readonly tool_use_id?: string;
  readonly content?: readonly WireBlock[];
}
interface WireMessage {
  readonly role: string;
  readonly content: readonly WireBlock[];
}
const body = (
  messages: readonly ModelMessage[],
  rest: Partial<AnthropicDialect> = {},
  more: Partial<ModelRequest> = {},
): string => anthropicBody(request({ messages, ...more }), { ...dialect, ...rest });
const wire = (text: string): readonly WireMessage[] =>
  (JSON.parse(text) as { messages: readonly WireMessage[] }).messages;
const withoutMarks = (text: string): string => text.replaceAll(MARK, "");

describe("anthropicBody", () => {
  it("has exactly these bytes", async () => {
    const { messages, ends } = golden(vendor, '{"signature":"c2lnbmF0dXJl"}');
    const bodies = ends.map((end) => body(messages.slice(0, end), { thinking: "adaptive" }));
    await expect(`${bodies.join("\n\n")}\n`).toMatchFileSnapshot(
      path.join(import.meta.dirname, "../../test/fixtures/anthropic-requests.txt"),
    );
  });

  it("HI-01: each request is a strict prefix of the next one, byte for byte, cache marks aside", () => {
    fc.assert(
      fc.property(conversations(vendor), ({ messages, ends }) => {
        const bodies = ends.map((end) => withoutMarks(body(messages.slice(0, end))));
        for (let n = 1; n < bodies.length; n++) {
          expect(bodies[n]!.startsWith(bodies[n - 1]!.slice(0, -"]}".length))).toBe(true);
          expect(bodies[n]!.length).toBeGreaterThan(bodies[n - 1]!.length);
        }
        expect(body(structuredClone(messages))).toBe(body(messages));
        expect(withoutMarks(body(messages))).toBe(body(messages, { cache: "off" }));
      }),
    );
  });

  it("is always a request that the vendor accepts", () => {
    fc.assert(
      fc.property(conversations(vendor), fc.boolean(), ({ messages, ends }, supportsImages) => {
        for (const end of ends) {
          const sent = body(messages.slice(0, end), {}, { model: { ...model, supportsImages } });
          expectAccepted(wire(sent), supportsImages);
          const marks = sent.split(MARK).length - 1;
          expect(marks).toBeGreaterThanOrEqual(3);
          expect(marks).toBeLessThanOrEqual(4);
        }
      }),
    );
  });

  it("marks the tools, the system text, and the last two messages of the user", () => {
    const sent = JSON.parse(
      body([user("1"), answer("2"), user("3"), answer("4"), user("5")], { cache: "1h" }),
    ) as Record<string, unknown>;
    const mark = { cache_control: { type: "ephemeral", ttl: "1h" } };
    expect(sent["system"]).toEqual([{ type: "text", text: "You are a test.", ...mark }]);
    expect((sent["tools"] as readonly unknown[]).map((tool) => "cache_control" in (tool as object))).toEqual([
      false,
      true,
    ]);
    expect(
      (sent["messages"] as readonly WireMessage[]).map(({ content }) => "cache_control" in content.at(-1)!),
    ).toEqual([false, false, true, false, true]);
  });

  it("keeps the exact argument text of every call", () => {
    const text = body([
      user("x"),
      { role: "assistant", blocks: [], calls: [{ id: "c", name: "Read", arguments: ' {"n": 1.0,"1":2} ' }] },
    ]);
    expect(text).toContain('"name":"Read","input":{"n": 1.0,"1":2}}');
  });

  it("HI-17: thinking alone goes as words, and signed thinking goes back byte for byte before a call", () => {
    const thinking = { type: "thinking", text: "Hm 🙂\n", replay: { vendor, data: '{"signature":"s+/="}' } } as const;
    const alone = body([user("x"), { role: "assistant", blocks: [thinking], calls: [] }, user("y")]);
    expect(wire(alone)[1]).toEqual({
      role: "assistant",
      content: [{ type: "text", text: "<thinking>\nHm 🙂\n\n</thinking>" }],
    });
    const round = body([
      user("x"),
      { role: "assistant", blocks: [thinking], calls: [{ id: "c", name: "Read", arguments: "{}" }] },
    ]);
    expect(round).toContain('{"type":"thinking","thinking":"Hm 🙂\\n","signature":"s+/="}');
  });

  describe("thinking", () => {
    const fields = (thinking: AnthropicDialect["thinking"], more: Partial<ModelRequest>): unknown => {
      const { thinking: asked, output_config: output } = JSON.parse(body([user("x")], { thinking }, more)) as Record<
        string,
        unknown
      >;
      return { asked, output };
    };

    it("is adaptive in a readable form, steered by the effort", () => {
      const asked = { type: "adaptive", display: "summarized" };
      expect(fields("adaptive", {})).toEqual({ asked });
      expect(fields("adaptive", { effort: "minimal" })).toEqual({ asked, output: { effort: "low" } });
      expect(fields("adaptive", { effort: "high" })).toEqual({ asked, output: { effort: "high" } });
    });

    it("or has a budget below the output limit, only when an effort is asked for", () => {
      expect(fields("budget", {})).toEqual({});
      expect(fields("budget", { effort: "low" })).toEqual({ asked: { type: "enabled", budget_tokens: 4_096 } });
      expect(fields("budget", { effort: "high", maxOutputTokens: 4_000 })).toEqual({
        asked: { type: "enabled", budget_tokens: 2_000 },
      });
      expect(fields("budget", { effort: "high", maxOutputTokens: 2_000 })).toEqual({});
      expect(fields("none", { effort: "high" })).toEqual({});
    });

    it("HI-16: no budget in a tool round that began without thinking", () => {
      const signed = { type: "thinking", text: "t", replay: { vendor, data: '{"signature":"s"}' } } as const;
      const round = (blocks: Extract<ModelMessage, { role: "assistant" }>["blocks"]): ModelRequest =>
        request({
          effort: "low",
          messages: [
            user("x"),
            { role: "assistant", blocks, calls: [{ id: "c", name: "Read", arguments: "{}" }] },
            { role: "tool", results: [{ callId: "c", toolName: "Read", text: "r", isError: false }] },
          ],
        });
      const budget: AnthropicDialect = { ...dialect, thinking: "budget" };
      expect(thinksInBudget(round([signed]), budget)).toBe(true);
      expect(thinksInBudget(round([]), budget)).toBe(false);
      expect(thinksInBudget(round([{ type: "text", text: "a" }, signed]), budget)).toBe(false);
      expect(thinksInBudget(round([{ ...signed, replay: { vendor: "anthropic:other", data: "{}" } }]), budget)).toBe(
        false,
      );
    });
  });

  it("asks for eager tool input where it is known", () => {
    expect(body([user("x")], { eagerToolInput: true })).toContain('"eager_input_streaming":true');
    expect(body([user("x")])).not.toContain("eager_input_streaming");
  });
});

function answer(text: string): ModelMessage {
  return { role: "assistant", blocks: [{ type: "text", text }], calls: [] };
}

function expectAccepted(messages: readonly WireMessage[], images: boolean): void {
  expect(messages[0]?.role).toBe("user");
  expect(messages.at(-1)?.role).toBe("user");
  let open: readonly (string | undefined)[] = [];
  for (const { role, content } of messages) {
    expect(content.length).toBeGreaterThan(0);
    const results = content.filter(({ type }) => type === "tool_result");
    expect(new Set(results.map((block) => block.tool_use_id))).toEqual(new Set(open));
    expect(results).toHaveLength(open.length);
    open = content.filter(({ type }) => type === "tool_use").map(({ id }) => id);
    expect(new Set(open).size).toBe(open.length);
    for (const block of [...content, ...content.flatMap((one) => one.content ?? [])]) {
      if (block.type === "text") expect(block.text?.trim()).not.toBe("");
      if (block.type === "tool_use") expect(block.name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
      if (block.type === "tool_use") expect(block.id).toMatch(/^[a-zA-Z0-9_-]+$/);
      if (!images) expect(block.type).not.toBe("image");
    }
    if (role === "assistant") expect(content.at(-1)?.type).not.toMatch(/thinking/);
    else expect(content.some(({ type }) => type === "thinking" || type === "tool_use")).toBe(false);
  }
  expect(open).toEqual([]);
}
