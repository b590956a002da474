import { expect } from "vitest";
import { ADAPTERS, type Adapter, type Sent } from "./models.ts";

const MARK = /,"cache_control":\{[^}]*\}/gu;
const END = "]}";

/** The bytes that a cache keeps of a request: without its marks, and without the closing brackets behind the last message. */
export function cachedBytes(sent: Sent, adapter: Adapter): string {
  const text = sent.bytes[adapter].replaceAll(MARK, "");
  expect(text.endsWith(END)).toBe(true);
  return text.slice(0, -END.length);
}

/** Each request begins with the one before it: in structure, and in the exact bytes of each adapter. */
export function expectPrefixes(all: readonly Sent[]): void {
  for (const [at, now] of all.entries()) {
    const before = all[at - 1];
    if (before !== undefined) expectPrefix(before, now);
  }
}

export function expectPrefix(before: Sent, now: Sent): void {
  const { messages } = before.request;
  expect(now.request.messages.length).toBeGreaterThan(messages.length);
  expect(now.request.messages.slice(0, messages.length)).toEqual(messages);
  expect(now.request.system).toBe(before.request.system);
  for (const adapter of ADAPTERS) {
    const head = cachedBytes(before, adapter);
    const whole = cachedBytes(now, adapter);
    expect(whole.slice(0, head.length)).toBe(head);
    expect(whole[head.length]).toBe(",");
  }
}

/** Two requests that are the same to the byte. */
export function expectSame(a: Sent, b: Sent): void {
  expect(b.request.messages).toEqual(a.request.messages);
  expect(b.bytes).toEqual(a.bytes);
}

/** The text of a request's messages, for looking into. */
export const textOf = (sent: Sent | undefined): string => JSON.stringify(sent?.request.messages ?? []);
