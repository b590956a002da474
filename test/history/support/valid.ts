import { expect } from "vitest";
import type { Sent } from "./models.ts";

interface ChatMessage {
  readonly role: string;
  readonly content?: unknown;
  readonly tool_calls?: readonly { readonly id: string; readonly function: { readonly arguments: string } }[];
  readonly tool_call_id?: string;
}
interface Block {
  readonly type: string;
  readonly id?: string;
  readonly tool_use_id?: string;
  readonly text?: string;
}

/** What the vendors refuse: calls without results and results without calls, doubled ids, empty messages, reasoning that stands alone. */
export function expectValid(sent: Sent): void {
  validChat((JSON.parse(sent.bytes.openai) as { messages: readonly ChatMessage[] }).messages);
  const body = JSON.parse(sent.bytes.anthropic) as {
    readonly thinking?: { readonly type: string };
    readonly messages: readonly { readonly role: string; readonly content: readonly Block[] }[];
  };
  validBlocks(body.messages, body.thinking?.type === "enabled");
}

export function expectAllValid(all: readonly Sent[]): void {
  for (const sent of all) expectValid(sent);
}

function validChat(messages: readonly ChatMessage[]): void {
  const ids = new Set<string>();
  let open = new Set<string>();
  for (const message of messages) {
    if (message.role === "tool") {
      expect(open.delete(message.tool_call_id ?? ""), "a result answers an open call").toBe(true);
      continue;
    }
    expect([...open], "calls without results").toEqual([]);
    open = new Set();
    if (message.role !== "assistant") {
      expect(message.content).not.toBe("");
      continue;
    }
    expect((message.tool_calls?.length ?? 0) ? true : message.content !== null && message.content !== "").toBe(true);
    for (const {
      id,
      function: { arguments: text },
    } of message.tool_calls ?? []) {
      expect(ids.has(id), "a call id once").toBe(false);
      ids.add(id);
      open.add(id);
      expect(typeof JSON.parse(text)).toBe("object");
    }
  }
  expect([...open], "calls without results").toEqual([]);
}

function validBlocks(
  messages: readonly { readonly role: string; readonly content: readonly Block[] }[],
  thinks: boolean,
): void {
  expect(messages[0]?.role).toBe("user");
  let open = new Set<string>();
  const ids = new Set<string>();
  for (const { role, content } of messages) {
    expect(content.length).toBeGreaterThan(0);
    for (const block of content) if (block.type === "text") expect(block.text?.trim()).not.toBe("");
    if (role === "user") {
      for (const block of content)
        if (block.type === "tool_result") expect(open.delete(block.tool_use_id ?? "")).toBe(true);
      expect([...open], "calls without results").toEqual([]);
      continue;
    }
    expect([...open], "calls without results").toEqual([]);
    expect(content.at(-1)?.type).not.toMatch(/thinking/u);
    open = new Set(content.flatMap((block) => (block.type === "tool_use" ? [block.id ?? ""] : [])));
    for (const id of open) {
      expect(ids.has(id), "a call id once").toBe(false);
      ids.add(id);
    }
  }
  expect([...open], "calls without results").toEqual([]);
  const last = messages.findLast(({ role }) => role === "assistant");
  if (thinks && last?.content.some(({ type }) => type === "tool_use"))
    expect(last.content[0]?.type, "a tool round that thinks begins with its thinking").toMatch(/thinking/u);
}
