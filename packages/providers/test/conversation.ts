import type { ModelBlock, ModelMessage, ModelToolCall, ModelToolResult } from "@chartroom/domain";
import { fc } from "@fast-check/vitest";

/** A conversation up to each model call: the messages of the n-th request are `messages.slice(0, ends[n])`. */
export interface Conversation {
  readonly messages: readonly ModelMessage[];
  readonly ends: readonly number[];
}

const text = fc.oneof(
  fc.string({ unit: "grapheme" }),
  fc.constantFrom("", " \n", "Grüße 🙂", '"quoted" \\ ]}', "line\nline"),
);
const picture = fc.record({ mimeType: fc.constantFrom("image/png", "image/jpeg"), base64: fc.base64String() });

/** Replay state as the two adapters make it, of themselves and of strangers. */
function replay(vendor: string): fc.Arbitrary<{ readonly vendor: string; readonly data: string }> {
  return fc.record({
    vendor: fc.constantFrom(vendor, "stranger:x"),
    data: fc.constantFrom(
      '{"signature":"c2ln"}',
      '{"redacted":"b3Bh"}',
      '{"field":"reasoning_content"}',
      '{"field":"reasoning"}',
      "broken",
    ),
  });
}

function block(vendor: string): fc.Arbitrary<ModelBlock> {
  return fc.oneof(
    fc.record({ type: fc.constant("text" as const), text }),
    fc.record({ type: fc.constant("thinking" as const), text, replay: replay(vendor) }),
    fc.record({ type: fc.constant("thinking" as const), text }),
  );
}

const callArguments = fc.oneof(
  fc.dictionary(fc.string(), fc.jsonValue()).map((value) => JSON.stringify(value)),
  fc.constantFrom('{"n": 1.0, "1": 2}', '{"a":1e400}', " {} ", "{}"),
);

interface Step {
  readonly blocks: readonly ModelBlock[];
  readonly calls: readonly {
    readonly call: Omit<ModelToolCall, "id">;
    readonly result: Omit<ModelToolResult, "callId">;
  }[];
  /** Results come in one message, or in one each. */
  readonly together: boolean;
}

function step(vendor: string, minCalls: number, maxCalls: number): fc.Arbitrary<Step> {
  const call = fc.record({
    call: fc.record({ name: fc.constantFrom("Read", "mcp.server/search"), arguments: callArguments }),
    result: fc.record(
      { toolName: fc.constant("Read"), text, isError: fc.boolean(), image: picture },
      { requiredKeys: ["toolName", "text", "isError"] },
    ),
  });
  return fc.record({
    blocks: fc.array(block(vendor), { maxLength: 4 }),
    calls: fc.array(call, { minLength: minCalls, maxLength: maxCalls }),
    together: fc.boolean(),
  });
}

/** Conversations of some turns: user messages, steps with calls and all their results, answers. */
export function conversations(vendor: string): fc.Arbitrary<Conversation> {
  const part = fc.oneof(
    fc.record({ type: fc.constant("text" as const), text }),
    picture.map((one) => ({ type: "image" as const, ...one })),
  );
  const turn = fc.record({
    said: fc.array(fc.array(part, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 2 }),
    steps: fc.array(step(vendor, 1, 3), { maxLength: 3 }),
    answer: step(vendor, 0, 0),
  });
  return fc.array(turn, { minLength: 1, maxLength: 4 }).map((turns) => {
    const messages: ModelMessage[] = [];
    const ends: number[] = [];
    for (const { said, steps, answer } of turns) {
      for (const parts of said) messages.push({ role: "user", parts });
      ends.push(messages.length);
      for (const one of steps) {
        messages.push(...stepMessages(one, messages.length));
        ends.push(messages.length);
      }
      messages.push({ role: "assistant", blocks: answer.blocks, calls: [] });
    }
    return { messages, ends };
  });
}

function stepMessages({ blocks, calls, together }: Step, at: number): readonly ModelMessage[] {
  const ids = calls.map((_, index) => (index === 2 ? `functions.Read:${at}` : `call_${at}_${index}`));
  const results = calls.map(({ result }, index): ModelToolResult => ({ ...result, callId: ids[index]! }));
  return [
    { role: "assistant", blocks, calls: calls.map(({ call }, index) => ({ ...call, id: ids[index]! })) },
    ...(together ? [results] : results.map((one) => [one])).map((group): ModelMessage => ({
      role: "tool",
      results: group,
    })),
  ];
}

/** The same few turns in every run, for the files of exact bytes. */
export const golden = (vendor: string, replayData: string): Conversation => ({
  messages: [
    { role: "user", parts: [{ type: "text", text: "<environment>\nOperating system: linux\n</environment>" }] },
    {
      role: "user",
      parts: [
        { type: "text", text: "Look at this picture and at a.txt." },
        { type: "image", mimeType: "image/png", base64: "iVBORw0KGgo=" },
      ],
    },
    {
      role: "assistant",
      blocks: [
        { type: "thinking", text: "Both at once.", replay: { vendor, data: replayData } },
        { type: "text", text: "I'll read it." },
      ],
      calls: [
        { id: "tc-1", name: "Read", arguments: '{"path": "a.txt", "limit": 1.0}' },
        { id: "tc-2", name: "mcp.server/search", arguments: '{"query":"Grüße"}' },
      ],
    },
    { role: "tool", results: [{ callId: "tc-2", toolName: "mcp.server/search", text: "3 hits", isError: false }] },
    {
      role: "tool",
      results: [
        {
          callId: "tc-1",
          toolName: "Read",
          text: "",
          isError: false,
          image: { mimeType: "image/jpeg", base64: "/9j/4AA=" },
        },
      ],
    },
    { role: "assistant", blocks: [], calls: [{ id: "functions.Read:2", name: "Read", arguments: "{}" }] },
    {
      role: "tool",
      results: [{ callId: "functions.Read:2", toolName: "Read", text: "path is missing", isError: true }],
    },
    {
      role: "assistant",
      blocks: [
        { type: "thinking", text: "As another model saw it.", replay: { vendor: "stranger:x", data: "{}" } },
        { type: "text", text: "It says “Grüße”." },
      ],
      calls: [],
    },
    { role: "user", parts: [{ type: "text", text: "Thanks." }] },
    { role: "assistant", blocks: [{ type: "thinking", text: "Cut short" }], calls: [] },
    { role: "user", parts: [{ type: "text", text: "Go on." }] },
  ],
  ends: [2, 5, 7, 9, 11],
});
