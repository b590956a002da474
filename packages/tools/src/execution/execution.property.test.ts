import { fc, test } from "@fast-check/vitest";
import { expect } from "vitest";
import type { InterruptReason, JsonObject, ToolEffect, ToolResultRecord } from "@chartroom/domain";
import { agent, create, fromBinary, toBinary } from "@chartroom/protocol";
import { answer, AT, callOf, decoded, MODEL_CALL, scope, SEARCH, tools, updateOf } from "../../test/support.ts";

const CALLS: readonly (readonly [string, JsonObject])[] = [
  ["Read", { path: "/a", limit: 2 }],
  ["Write", { path: "/a", contents: "x\ny\n" }],
  ["StrReplace", { path: "/a", old_string: "b", new_string: "c", replace_all: true }],
  ["Delete", { path: "/a" }],
  ["Grep", { pattern: "a" }],
  ["Glob", { glob_pattern: "*" }],
  ["ReadLints", { paths: ["/a", "/b"] }],
  ["Shell", { command: "ls" }],
  ["tracker-search", { query: "q" }],
  ["tracker-search", {}],
  ["bash", {}],
];

const text = fc.constantFrom("", "b", "c\n", "a\r\nb", "汉\ufffd", "x\ny\n");
const results = (...cases: readonly (readonly [string, object])[]) =>
  fc.constantFrom(...cases).map(([name, value]) => ({ result: { case: name, value } }));
const none = { result: { case: undefined } };

/** Any answer of any kind, right or wrong for the call. */
const anyAnswer = fc.oneof(
  {
    weight: 4,
    arbitrary: text.map((content) => ({
      case: "readResult",
      value: { result: { case: "success", value: { output: { case: "content", value: content }, totalLines: 1 } } },
    })),
  },
  results(["fileNotFound", {}], ["rejected", {}], ["error", {}]).map((value) => ({ case: "readResult", value })),
  fc.constant({
    case: "readResult",
    value: {
      result: { case: "success", value: { output: { case: "data", value: new Uint8Array([0xff, 0xd8, 0xff]) } } },
    },
  }),
  {
    weight: 3,
    arbitrary: results(["success", {}], ["noSpace", {}], ["rejected", {}]).map((value) => ({
      case: "writeResult",
      value,
    })),
  },
  results(["success", {}], ["fileBusy", {}]).map((value) => ({ case: "deleteResult", value })),
  text.map((file) => ({
    case: "grepResult",
    value: {
      result: {
        case: "success",
        value: { workspaceResults: { w: { result: { case: "files", value: { files: [file] } } } } },
      },
    },
  })),
  results(["success", {}], ["error", {}]).map((value) => ({ case: "diagnosticsResult", value })),
  results(["success", { content: [] }], ["approved", {}], ["toolNotFound", {}]).map((value) => ({
    case: "mcpResult",
    value,
  })),
  {
    weight: 3,
    arbitrary: fc
      .tuple(fc.constantFrom("stdout", "stderr"), text)
      .map(([stream, data]) => ({ case: "shellStream", value: { event: { case: stream, value: { data } } } })),
  },
  fc
    .constantFrom(
      ["start", {}],
      ["exit", { code: 1 }],
      ["backgrounded", {}],
      ["rejected", {}],
      ["hookContext", { hookAdditionalContexts: [{ content: "h" }] }],
      [undefined, undefined],
    )
    .map(([name, value]) => ({ case: "shellStream", value: { event: { case: name, value } } })),
  results(["success", {}], ["timeout", {}]).map((value) => ({ case: "shellResult", value })),
  fc
    .constantFrom("readResult", "writeResult", "mcpResult", "grepResult", "shellResult")
    .map((name) => ({ case: name, value: none })),
  fc.constant({ case: undefined }),
);

type Action =
  | { readonly do: "begin" | "reissue" | "accept" }
  | { readonly do: "reply"; readonly which: number; readonly message: object }
  | { readonly do: "control"; readonly which: number; readonly kind: "close" | "heartbeat" | "throw" }
  | { readonly do: "expire"; readonly which: number }
  | { readonly do: "interrupt"; readonly reason: InterruptReason };

const which = fc.nat({ max: 6 });
const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 1, arbitrary: fc.constantFrom<Action>({ do: "begin" }, { do: "reissue" }) },
  { weight: 12, arbitrary: fc.record({ do: fc.constant("reply" as const), which, message: anyAnswer }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("control" as const),
      which,
      kind: fc.constantFrom("close", "heartbeat", "throw"),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("expire" as const), which }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("interrupt" as const),
      reason: fc.constantFrom<InterruptReason>("user-message", "cancelled", "deadline", "failed"),
    }),
  },
  { weight: 1, arbitrary: fc.constant<Action>({ do: "accept" }) },
);

test.prop([fc.constantFrom(...CALLS), fc.boolean(), fc.array(action, { maxLength: 30 })], { numRuns: 3000 })(
  "whatever the client does, a call settles exactly once and says nothing afterwards",
  ([name, args], begins, actions) => {
    const where = scope({ offers: [SEARCH] });
    const call = callOf(name, args);
    const execution = tools.execute(where, call, MODEL_CALL);
    const accepted: ToolResultRecord = { callId: call.id, toolName: name, text: "accepted", isError: false };
    const keys = ["nothing"];
    const deadlines = ["nothing"];
    const seen: ToolEffect[] = [];
    let asked = 0;
    const step = (one: Action): readonly ToolEffect[] => {
      switch (one.do) {
        case "begin":
          return execution.begin(AT);
        case "reissue": {
          const effects = execution.reissue();
          expect(effects.every(({ type }) => type === "exec")).toBe(true);
          return effects;
        }
        case "accept":
          return execution.accept(accepted, AT + 1);
        case "reply":
          return execution.reply(keys.at(-1 - (one.which % keys.length))!, answer(one.message as never), AT + 2);
        case "control":
          return execution.control(
            keys.at(-1 - (one.which % keys.length))!,
            { kind: one.kind, execId: 1, message: "t" },
            AT + 3,
          );
        case "expire":
          return execution.expire(deadlines.at(-1 - (one.which % deadlines.length))!, AT + 4);
        case "interrupt":
          return execution.interrupt(one.reason, AT + 5);
      }
    };
    const plan: readonly Action[] = [
      ...(begins ? [{ do: "begin" } as const] : []),
      ...actions,
      { do: "interrupt", reason: "cancelled" },
    ];
    for (const one of plan) {
      const settledBefore = seen.some(({ type }) => type === "settled");
      const effects = step(one);
      if (settledBefore) expect(effects).toEqual([]);
      for (const [index, effect] of effects.entries()) {
        if (effect.type === "exec") {
          keys.push(effect.key);
          const message = decoded(effect.encode((asked += 1)));
          expect(message.message).toMatchObject({ case: "execServerMessage", value: { id: asked, execId: call.id } });
        }
        if (effect.type === "deadline") deadlines.push(effect.key);
        if (effect.type === "update")
          expect(["toolCallStarted", "toolCallDelta"]).toContain(updateOf(effect.frame).case);
        if (effect.type === "settled") expect(index).toBe(effects.length - 1);
      }
      seen.push(...effects);
    }
    const settled = seen.filter((effect) => effect.type === "settled");
    expect(settled).toHaveLength(1);
    const { result, completed } = settled[0]!;
    expect(result).toMatchObject({ callId: call.id, toolName: name });
    expect(result.text).not.toBe("");
    const update = updateOf(completed);
    if (update.case !== "toolCallCompleted") throw new Error(update.case);
    expect(update.value.toolCall?.toolCallId).toBe(call.id);
    // an answer that came through the client is shown again as it was shown
    if (result.display !== undefined) {
      const stored = fromBinary(agent.ToolCallSchema, result.display);
      expect(toBinary(agent.ToolCallSchema, create(agent.ToolCallSchema, stored))).toEqual(result.display);
      expect(tools.completedCard(where, call, MODEL_CALL, result)).toEqual(completed);
    }
    // nothing is shown of a call before it has started
    const started = seen.findIndex(
      (effect) => effect.type === "update" && updateOf(effect.frame).case === "toolCallStarted",
    );
    const first = seen.findIndex(({ type }) => type === "update");
    expect(first).toBe(started);
  },
);
