import type { Binding, ConversationId, ModelId, WireRunId } from "@chartroom/domain";
import { fc, it } from "@fast-check/vitest";
import { describe, expect } from "vitest";
import { FAILURES } from "../failures.ts";
import { decideOpening, eventKey, type Incoming, type Known } from "./opening.ts";

const conv = (name: string): ConversationId => name as ConversationId;
const none = { messageId: undefined, wireRunId: undefined };

function incoming(part: Partial<Incoming> = {}): Incoming {
  return { kind: "run", conversationId: conv("c1"), event: { ...none, messageId: "m1" }, digest: "d1", ...part };
}
function known(part: Partial<Known> = {}): Known {
  return {
    generation: 1,
    conversationId: conv("c1"),
    event: { ...none, messageId: "m1" },
    digests: ["d1"],
    alive: true,
    ...part,
  };
}
const bound = (generation: number, live: boolean, name = "c1"): Binding => ({
  conversationId: conv(name),
  generation,
  live,
});
const begin = (generation: number, name = "c1") => ({ kind: "begin", generation, conversationId: conv(name) });
const refuse = (failure: unknown) => ({ kind: "refuse", failure });

describe("a Run request", () => {
  it.each([
    ["for a request id never seen", incoming(), undefined, undefined, begin(1)],
    ["for one that the store knows", incoming(), undefined, bound(3, true), begin(4)],
    [
      "without a conversation, bound in the store",
      incoming({ conversationId: undefined }),
      undefined,
      bound(1, false),
      begin(2),
    ],
    [
      "without a conversation, bound here",
      incoming({ conversationId: undefined, digest: "d2", event: { ...none, messageId: "m2" } }),
      known(),
      undefined,
      begin(2),
    ],
    [
      "without a conversation, bound nowhere",
      incoming({ conversationId: undefined }),
      undefined,
      undefined,
      refuse(FAILURES.noConversation),
    ],
    [
      "for another conversation than here",
      incoming({ conversationId: conv("c2") }),
      known(),
      undefined,
      refuse(FAILURES.conflict),
    ],
    [
      "for another conversation than in the store",
      incoming({ conversationId: conv("c2") }),
      undefined,
      bound(1, false),
      refuse(FAILURES.conflict),
    ],
    ["that is byte for byte the opening", incoming(), known(), bound(1, true), { kind: "repeat" }],
    [
      "that is byte for byte the opening, after the end",
      incoming(),
      known({ alive: false }),
      bound(1, false),
      { kind: "repeat" },
    ],
    ["of the same event", incoming({ digest: "d2" }), known(), bound(1, true), { kind: "repeat" }],
    ["of the same event, after the end", incoming({ digest: "d2" }), known({ alive: false }), undefined, begin(2)],
    [
      "of the same event, after an end that only the store knows",
      incoming({ digest: "d2" }),
      known(),
      bound(1, false),
      begin(2),
    ],
    [
      "of another message",
      incoming({ digest: "d2", event: { ...none, messageId: "m2" } }),
      known(),
      bound(1, true),
      begin(2),
    ],
    [
      "of another wire run",
      incoming({ digest: "d2", event: { messageId: "m1", wireRunId: "r2" } }),
      known(),
      bound(1, true),
      begin(2),
    ],
    [
      "that nothing tells from the living one",
      incoming({ digest: "d2", event: none }),
      known({ event: none }),
      bound(1, true),
      refuse(FAILURES.ambiguous),
    ],
    [
      "that nothing tells from the ended one",
      incoming({ digest: "d2", event: none }),
      known({ event: none, alive: false }),
      bound(1, false),
      begin(2),
    ],
    ["when another process has begun a later generation", incoming(), known(), bound(5, true), begin(6)],
    [
      "after a prewarm",
      incoming({ digest: "d2" }),
      known({ event: undefined, alive: false }),
      bound(1, false),
      { kind: "continue", conversationId: conv("c1") },
    ],
    [
      "after a refused opening",
      incoming(),
      known({ conversationId: undefined, digests: [], alive: false }),
      undefined,
      begin(2),
    ],
  ] as const)("%s", (_, request, here, store, decision) => {
    expect(decideOpening(request, here, store)).toEqual(decision);
  });
});

describe("a prewarm", () => {
  const prewarm = incoming({ kind: "prewarm", event: none, digest: "p2" });
  it.each([
    ["opens a generation", undefined, undefined, begin(1)],
    ["is acknowledged while a Run lives", known(), bound(1, true), { kind: "repeat" }],
    ["is acknowledged after another prewarm", known({ event: undefined, alive: false }), undefined, { kind: "repeat" }],
    ["opens the next generation after the end", known({ alive: false }), bound(1, false), begin(2)],
  ] as const)("%s", (_, here, store, decision) => {
    expect(decideOpening(prewarm, here, store)).toEqual(decision);
  });
});

const id = fc.constantFrom("a", "b", undefined);
const anyIncoming = fc.record({
  kind: fc.constantFrom("run" as const, "prewarm" as const),
  conversationId: id.map((name) => name as ConversationId | undefined),
  event: fc.record({ messageId: id, wireRunId: id }),
  digest: fc.constantFrom("x", "y", "z"),
});
const anyKnown = fc.option(
  fc.record({
    generation: fc.integer({ min: 1, max: 5 }),
    conversationId: id.map((name) => name as ConversationId | undefined),
    event: fc.option(fc.record({ messageId: id, wireRunId: id }), { nil: undefined }),
    digests: fc.subarray(["x", "y", "z"]),
    alive: fc.boolean(),
  }),
  { nil: undefined },
);
const anyBinding = fc.option(
  fc.record({
    conversationId: fc.constantFrom(conv("a"), conv("b")),
    generation: fc.integer({ min: 1, max: 5 }),
    live: fc.boolean(),
  }),
  { nil: undefined },
);

describe("whatever comes", () => {
  it.prop([anyIncoming, anyKnown, anyBinding])(
    "no request id gets a second conversation, and generations only rise",
    (request, here, store) => {
      const decision = decideOpening(request, here, store);
      const boundTo = here?.conversationId ?? store?.conversationId;
      if (decision.kind === "begin" || decision.kind === "continue") {
        expect([decision.conversationId, request.conversationId ?? boundTo]).toEqual([
          boundTo ?? decision.conversationId,
          decision.conversationId,
        ]);
      }
      if (decision.kind === "begin") {
        expect(decision.generation).toBeGreaterThan(Math.max(here?.generation ?? 0, store?.generation ?? 0));
      }
      if (decision.kind === "repeat" || decision.kind === "continue") expect(here).toBeDefined();
    },
  );
});

describe("eventKey", () => {
  const request = {
    state: new Uint8Array(),
    model: { modelId: "m" as ModelId, maxMode: false, parameters: {} },
    mcpTools: [],
    prefetched: [],
  };
  const message = { messageId: "m-7" } as never;
  it.each([
    [{ kind: "userMessage", message, prepend: [], resolutions: [] }, "m-7"],
    [{ kind: "startPlan", message, spec: false }, "m-7"],
    [{ kind: "executePlan", message }, "m-7"],
    [{ kind: "resume" }, undefined],
    [{ kind: "summarize" }, undefined],
    [{ kind: "unsupported", name: "none" }, undefined],
  ] as const)("of %j", (action, messageId) => {
    expect(eventKey({ ...request, action })).toEqual({ messageId, wireRunId: undefined });
    expect(eventKey({ ...request, action, wireRunId: "r" as WireRunId }).wireRunId).toBe("r");
  });
});
