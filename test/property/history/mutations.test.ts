import fc from "fast-check";
import type { ModelMessage } from "@chartroom/domain";
import { project, type Projection } from "@chartroom/history";
import { expect, test } from "vitest";
import { play } from "./play.ts";
import { Broken, prefixRule } from "./properties.ts";
import { life } from "./script.ts";
import type { Project } from "./server.ts";

/* Faults that servers of this kind are known for. Each must be found, or the prefix rule proves nothing. */

type Change = (message: ModelMessage, at: number, all: readonly ModelMessage[]) => readonly ModelMessage[];

function changed(change: Change): Project {
  return (messages, options): Projection => {
    const right = project(messages, options);
    return { ...right, messages: right.messages.flatMap((message, at, all) => change(message, at, all)) };
  };
}

const sortedKeys = (text: string): string => {
  const value = JSON.parse(text) as Record<string, unknown>;
  return JSON.stringify(Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))));
};

const FAULTS: Readonly<Record<string, Project>> = {
  "keys of old arguments are sorted": changed((message, at, all) =>
    message.role === "assistant" && at < all.length - 2
      ? [{ ...message, calls: message.calls.map((call) => ({ ...call, arguments: sortedKeys(call.arguments) })) }]
      : [message],
  ),
  "an old result is trimmed": changed((message, at, all) =>
    message.role === "tool" && at < all.length - 2
      ? [{ ...message, results: message.results.map((result) => ({ ...result, text: result.text.slice(0, 2) })) }]
      : [message],
  ),
  "a date stands in the first message": changed((message, at, all) =>
    at === 0 && message.role === "user"
      ? [{ ...message, parts: [{ type: "text", text: `It is second ${all.length}.` }, ...message.parts] }]
      : [message],
  ),
  "calls get new ids with each request": changed((message, _at, all) =>
    message.role === "assistant"
      ? [{ ...message, calls: message.calls.map((call) => ({ ...call, id: `${call.id}-${all.length}` })) }]
      : message.role === "tool"
        ? [
            {
              ...message,
              results: message.results.map((result) => ({ ...result, callId: `${result.callId}-${all.length}` })),
            },
          ]
        : [message],
  ),
  "the oldest messages are left out of a long request": changed((message, at, all) =>
    at === 1 && all.length > 8 ? [] : [message],
  ),
  "old reasoning is dropped": changed((message, at, all) =>
    message.role === "assistant" && at < all.length - 2
      ? [{ ...message, blocks: message.blocks.filter((block) => block.type !== "thinking") }]
      : [message],
  ),
  "messages of the user in a row are merged": (messages, options) => {
    const right = project(messages, options);
    const merged: ModelMessage[] = [];
    for (const message of right.messages) {
      const last = merged.at(-1);
      if (message.role === "user" && last?.role === "user")
        merged[merged.length - 1] = { role: "user", parts: [...last.parts, ...message.parts] };
      else merged.push(message);
    }
    return { ...right, messages: merged };
  },
  "a reminder that is not stored follows the last message": (messages, options) => {
    const right = project(messages, options);
    const reminder: ModelMessage = { role: "user", parts: [{ type: "text", text: "Remember the rules." }] };
    return { ...right, messages: [...right.messages, reminder] };
  },
  "the newest request context is moved to the front": (messages, options) => {
    const context = messages.findLast((message) => message.id.startsWith("request-context:"));
    if (context === undefined) return project(messages, options);
    return project([context, ...messages.filter((message) => message !== context)], options);
  },
  "results are sorted by call": changed((message, at, all) =>
    message.role === "tool" && at < all.length - 1
      ? [{ ...message, results: message.results.toSorted((a, b) => (a.callId < b.callId ? -1 : 1)) }]
      : [message],
  ),
};

test.each(Object.entries(FAULTS))("%s: found", (_name, fault) => {
  const check = () =>
    fc.assert(
      fc.property(life, (events) => {
        play(events, prefixRule(), fault);
      }),
      { numRuns: 2_000, endOnFailure: true },
    );
  expect(check).toThrow(expect.objectContaining({ cause: expect.any(Broken) as unknown }));
});

test("without a fault nothing is found", () => {
  fc.assert(
    fc.property(life, (events) => {
      play(events, prefixRule(), project);
    }),
    { numRuns: 100 },
  );
});
