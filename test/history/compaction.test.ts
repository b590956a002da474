import { agent, blobId, blobIdBytes, create, fromBinary, toBinary } from "@chartroom/protocol";
import type { ConversationId, ModelEvent, ProviderFailure } from "@chartroom/domain";
import { RESULT_LIMIT } from "@chartroom/history";
import { createModelDirectory } from "@chartroom/providers";
import { describe, expect, onTestFinished } from "vitest";
import { systemClock } from "../support/clock.ts";
import { test } from "../support/database.ts";
import { mortalStore } from "../support/mortal-store.ts";
import { openAiStub } from "../support/openai-stub.ts";
import { openRoom } from "../support/room.ts";
import { type Answer, call, hang, say } from "../support/scripted-provider.ts";
import { cancels, Chat, saysNow, sees, workspace } from "./support/chat.ts";
import { historyModels, type HistoryModels, type ModelSpec, type Sent } from "./support/models.ts";
import { expectPrefixes, textOf } from "./support/prefix.ts";

const WINDOW = 60_000;
const models = (answers: readonly Answer[] = [], window = WINDOW, ...more: readonly ModelSpec[]): HistoryModels =>
  historyModels(answers, [{ id: "demo-model", window }, ...more]);
const read = (name: string): Answer => call({ name: "Read", args: { path: `/ws/demo/${name}.txt` } });
const contexts = (sent: Sent | undefined): number => textOf(sent).split("the machine and the workspace").length - 1;
const stateOf = (chat: Chat) => fromBinary(agent.ConversationStateStructureSchema, chat.state);

function fails(failure: Partial<ProviderFailure>): Answer {
  return async function* (): AsyncIterable<readonly ModelEvent[]> {
    yield [{ type: "failed", failure: { kind: "server", message: "scripted", retryable: false, ...failure } }];
  };
}
const ends = (reason: "length" | "refusal", text = "Half"): Answer =>
  async function* (): AsyncIterable<readonly ModelEvent[]> {
    yield [{ type: "text", text }];
    yield [{ type: "finished", reason, raw: reason }];
  };
/** Answers, and says nothing of tokens. */
const tell = (text: string): Answer =>
  async function* (): AsyncIterable<readonly ModelEvent[]> {
    yield [
      { type: "text", text },
      { type: "usage", usage: { inputTokens: 0, outputTokens: 0 } },
    ];
    yield [{ type: "finished", reason: "stop", raw: "stop" }];
  };
/** Answers, and says how much the provider counted. */
const counted = (text: string, inputTokens: number): Answer =>
  async function* (): AsyncIterable<readonly ModelEvent[]> {
    yield [{ type: "text", text }];
    yield [
      { type: "usage", usage: { inputTokens, outputTokens: 10, cacheReadTokens: inputTokens - 10 } },
      { type: "finished", reason: "stop", raw: "stop" },
    ];
  };

/** What a client shows of its state, out of its own blobs: of each turn what was said, the tools that were called, the answer. */
function shownTurns(chat: Chat): readonly (readonly string[])[] {
  const blob = (id: Uint8Array): Uint8Array => {
    const data = chat.blobs.get(Buffer.from(id).toString("hex"));
    if (data === undefined) throw new Error("the client lacks a blob of a turn");
    return data;
  };
  return stateOf(chat).turns.map((id) => {
    const { turn } = fromBinary(agent.ConversationTurnStructureSchema, blob(id));
    if (turn.case !== "agentConversationTurn") throw new Error("no turn of an agent");
    const steps = turn.value.steps.map((step) => fromBinary(agent.ConversationStepSchema, blob(step)).message);
    return [
      fromBinary(agent.UserMessageSchema, blob(turn.value.userMessage)).text,
      ...steps.flatMap(({ case: kind, value }) =>
        kind === "assistantMessage" ? [value.text] : kind === "toolCall" ? [value.tool.case ?? ""] : [],
      ),
    ];
  });
}

/** Files whose reading fills a quarter of the window each. */
function withBigFiles(chat: Chat): Chat {
  for (const name of ["a", "b", "c", "d"])
    chat.files.set(`/ws/demo/${name}.txt`, `${name} `.padEnd(60_000, "lorem ipsum dolor sit amet\n"));
  return chat;
}

describe("automatic compaction", () => {
  test("CO-01 CO-02 three big reads: the newest manifest, summary, kept tail; goal, plan and to-dos survive; not again in the next turns", async ({
    node,
  }) => {
    const scripted = models([], 45_000);
    const room = openRoom(node.store, scripted);
    const chat = withBigFiles(new Chat(room));
    chat.context = workspace({ rules: ["Use tabs."], skills: ["deploy"], mcp: ["tracker"], git: " M a.ts" });
    scripted.answer(tell("Hello."));
    await chat.say("hello");
    // what the client keeps beside history
    const todo = toBinary(
      agent.TodoItemSchema,
      create(agent.TodoItemSchema, { content: "Write the parser", status: agent.TodoStatus.IN_PROGRESS }),
    );
    const plan = toBinary(
      agent.ConversationPlanSchema,
      create(agent.ConversationPlanSchema, { plan: "Step by step." }),
    );
    const state = stateOf(chat);
    state.todos = [blobIdBytes(blobId(todo))];
    state.plan = blobIdBytes(blobId(plan));
    state.goalState = create(agent.GoalStateSchema, { objective: "Ship it" });
    chat.state = toBinary(agent.ConversationStateStructureSchema, state);
    // the one comes with the request, the other only the client has
    const prefetched = [{ id: blobIdBytes(blobId(todo)), value: todo }];
    chat.blobs.set(blobId(plan), plan);

    scripted.answer(read("a"), read("b"), read("c"), tell("Read."));
    const context = workspace({ rules: ["Use tabs."], skills: ["deploy"], mcp: ["tracker"], git: " M b.ts" });
    const stream = await chat.say("read a, b, c", { context, request: { preFetchedBlobs: prefetched } });
    expect(stream.downlink.terminals).toEqual([{ kind: "completed" }]);
    expect(stream.downlink.text).toBe("Read.");
    expect(stream.downlink.kinds.filter((kind) => kind.includes("summary"))).toEqual([
      "interactionUpdate.summaryStarted",
      "interactionUpdate.summary",
      "interactionUpdate.summaryCompleted",
    ]);
    expect(scripted.summaries).toHaveLength(1);
    const after = scripted.turns.at(-1)!;
    const text = textOf(after);
    expect(contexts(after)).toBe(1);
    for (const kept of ["Use tabs.", "deploy", "tracker", "M b.ts", "What was said so far."])
      expect(text).toContain(kept);
    for (const kept of ["Ship it", "Step by step.", "[in progress] Write the parser"]) expect(text).toContain(kept);
    expect(text).toContain("read a, b, c");
    expect(text).not.toContain("M a.ts");
    expect(after.request.messages.length).toBeLessThan(10);

    for (let turn = 0; turn < 4; turn += 1) {
      scripted.answer(tell(`Small ${turn}.`));
      await chat.say(`small ${turn}`, { context });
    }
    expect(scripted.summaries).toHaveLength(1);
    expectPrefixes(scripted.turns.slice(-5));
    expect(contexts(scripted.turns.at(-1))).toBe(1);
    expect(stateOf(chat).goalState?.objective).toBe("Ship it");
    expect(stateOf(chat).todos).toHaveLength(1);
  });

  test("what the provider counted before a restart is known after it: the branch is compacted before it overflows", async ({
    node,
  }) => {
    const scripted = models([counted("One.", 58_000), say("Two."), say("Three.")]);
    const mortal = mortalStore(node.store);
    const chat = new Chat(openRoom(mortal.store, scripted));
    await chat.say("one");
    mortal.kill();
    const there = chat.at(openRoom(node.store, scripted));
    await there.say("two");
    expect(scripted.summaries).toHaveLength(1);
    expect(scripted.turns).toHaveLength(2);
    // of the new prefix nobody has counted so much
    await there.say("three");
    const last = chat.at(openRoom(node.store, scripted));
    Object.assign(last, { state: there.state });
    await last.say("four");
    expect(scripted.summaries).toHaveLength(1);
  });

  test("CO-01 the goal survives a compaction of a Run that a killed server left", async ({ node }) => {
    const scripted = models([tell("Hello."), tell("One."), hang([])]);
    const mortal = mortalStore(node.store);
    const chat = new Chat(openRoom(mortal.store, scripted));
    await chat.say("hello");
    const state = stateOf(chat);
    state.goalState = create(agent.GoalStateSchema, { objective: "Ship it" });
    chat.state = toBinary(agent.ConversationStateStructureSchema, state);
    await chat.say("one");
    const asked = scripted.sent.length;
    await chat.open(chat.message("two", { messageId: "m-two" }));
    await expect.poll(() => scripted.sent.length).toBe(asked + 1);
    mortal.kill();
    scripted.answer(fails({ kind: "overflow" }), say("Two."));
    const there = await chat.at(openRoom(node.store, scripted)).say("two", { messageId: "m-two" });
    expect(there.downlink.terminals).toEqual([{ kind: "completed" }]);
    expect(scripted.summaries).toHaveLength(1);
    expect(textOf(scripted.turns.at(-1))).toMatch(/Ship it.*"two"/su);
  });

  test("CO-12 what follows a compaction begins with it, byte for byte, and a changed context is one small event", async ({
    node,
  }) => {
    const scripted = models([counted("One.", 58_000), say("Two."), say("Three."), say("Four.")]);
    const chat = new Chat(openRoom(node.store, scripted));
    await chat.say("one");
    await chat.say("two");
    await chat.say("three", { context: workspace({ git: " M a.ts" }) });
    await chat.say("four", { context: workspace({ git: " M a.ts" }) });
    expect(scripted.summaries).toHaveLength(1);
    expectPrefixes(scripted.turns.slice(1));
    expect(contexts(scripted.turns.at(-1))).toBe(1);
    expect(textOf(scripted.turns.at(-1)).split("M a.ts")).toHaveLength(2);
  });

  test("CO-10 what the user scrolls back to after one, also at a restarted server: every turn with its words and its calls", async ({
    node,
  }) => {
    const scripted = models([read("a"), say("One."), say("Two."), counted("Three.", 58_000), read("b"), say("Four.")]);
    const mortal = mortalStore(node.store);
    const chat = new Chat(openRoom(mortal.store, scripted));
    for (const said of ["one", "two", "three", "four"]) await chat.say(said);
    expect(scripted.summaries).toHaveLength(1);
    const seen = [
      ["one", "readToolCall", "One."],
      ["two", "Two."],
      ["three", "Three."],
      ["four", "readToolCall", "Four."],
    ];
    expect(shownTurns(chat)).toEqual(seen);
    mortal.kill();
    const there = chat.at(openRoom(node.store, scripted));
    scripted.answer(say("Five."));
    await there.say("five");
    expect(shownTurns(there)).toEqual([...seen, ["five", "Five."]]);
  });

  test("what came from the cache is counted once: a cached prompt at half of the window is not compacted", async ({
    node,
  }) => {
    const scripted = models([counted("One.", 31_000), say("Two.")]);
    const chat = new Chat(openRoom(node.store, scripted));
    await chat.say("one");
    await chat.say("two");
    expect(scripted.summaries).toHaveLength(0);
  });

  test("CO-04 an overflow error: its limit is learned, the branch compacted, the call made once more", async ({
    node,
  }) => {
    const overflow = fails({ kind: "overflow", status: 400, limitTokens: 50_000 });
    const scripted = models([say("One."), overflow, say("Two.")]);
    const room = openRoom(node.store, scripted);
    const chat = new Chat(room);
    await chat.say("one");
    const stream = await chat.say("two");
    expect(stream.downlink.terminals).toEqual([{ kind: "completed" }]);
    expect(scripted.sent.map(({ summary }) => summary)).toEqual([false, false, true, false]);
    expect(textOf(scripted.turns.at(-1))).toContain("two");
    expect(stateOf(chat).tokenDetails?.maxTokens).toBe(50_000);
    // still too long: told, without a second attempt
    scripted.answer(overflow);
    const again = await chat.say("three");
    expect(again.downlink.terminals).toMatchObject([{ kind: "error", failure: { code: "CONTEXT_TOO_LONG" } }]);
    expect(scripted.summaries).toHaveLength(2);
  });

  test.for([
    ["This model's maximum context length is 1,000,000 tokens. However, your messages resulted in 1017628 tokens."],
    ["prompt is too long: 1017628 tokens > 1000000 maximum"],
    ["Your input exceeds the context window of this model."],
  ] as const)(
    "CO-04 as a vendor says it (%s): recognised, compacted, asked once more, and no further",
    async ([message], { node }) => {
      let refusals = 1;
      const vendor = await openAiStub(({ tools, messages }) => {
        if (tools === undefined) return { text: ["What was said so far."] };
        if (messages.length < 6 || refusals === 0) return { text: ["Yes."] };
        refusals -= 1;
        return { refused: { status: 400, message } };
      });
      onTestFinished(() => vendor.close());
      const model = { id: "demo-model", contextWindow: 1_000_000 };
      const provider = { id: "vendor", kind: "openai", apiKey: "none", baseUrl: vendor.url, models: [model] } as const;
      const opened = createModelDirectory({ providers: [provider] }, { clock: systemClock });
      if (!opened.ok) throw new Error(JSON.stringify(opened.error));
      onTestFinished(() => opened.value.close());
      const chat = new Chat(openRoom(node.store, { directory: opened.value }));
      await chat.say("one");
      const stream = await chat.say("two");
      expect(stream.downlink.terminals).toEqual([{ kind: "completed" }]);
      expect(stream.downlink.text).toBe("Yes.");
      const bodies = vendor.requests.map(({ body }) => body);
      expect(bodies.map((body) => body.includes('"tools":['))).toEqual([true, true, false, true]);
      expect(bodies.at(-1)).toContain("What was said so far.");
      // a vendor that goes on refusing is not asked again and again
      refusals = Infinity;
      const refused = await chat.say("three");
      expect(refused.downlink.terminals).toMatchObject([{ kind: "error", failure: { code: "CONTEXT_TOO_LONG" } }]);
      expect(vendor.requests.length).toBeLessThanOrEqual(bodies.length + 3);
    },
  );

  test("CO-11 a relay whose real limit is below the configured one: learned within bounds, told, known to all conversations", async ({
    node,
  }) => {
    const scripted = models([say("One."), fails({ kind: "overflow", limitTokens: 12 }), say("Two.")]);
    const room = openRoom(node.store, scripted);
    const chat = new Chat(room);
    await chat.say("one");
    await chat.say("two");
    expect(room.events.filter(({ type }) => type === "window.learned")).toEqual([
      {
        type: "window.learned",
        conversationId: chat.conversationId,
        modelId: "demo-model",
        tokens: 30_000,
        configured: 60_000,
      },
    ]);
    // another conversation is compacted before it runs into the limit, and its summary is asked for within it
    const other = withBigFiles(new Chat(room));
    scripted.answer(read("a"), read("b"), say("Read."));
    const stream = await other.say("read");
    expect(stream.downlink.terminals).toEqual([{ kind: "completed" }]);
    expect(scripted.summaries).toHaveLength(2);
    expect(textOf(scripted.summaries[1]).length).toBeLessThan(30_000 * 4);
  });

  test("CO-08 a switch to a model with a smaller window: compacted before it is asked, in its own budget", async ({
    node,
  }) => {
    const scripted = models([], 1_000_000, { id: "small", window: 30_000 });
    const chat = withBigFiles(new Chat(openRoom(node.store, scripted)));
    scripted.answer(read("a"), read("b"), read("c"), tell("Read."));
    await chat.say("read");
    expect(scripted.summaries).toHaveLength(0);
    scripted.answer(say("Small."));
    const stream = await chat.say("and now small", { model: "small" });
    expect(stream.downlink.terminals).toEqual([{ kind: "completed" }]);
    expect(scripted.sent.slice(-2).map(({ summary, request }) => [summary, request.model.id])).toEqual([
      [true, "small"],
      [false, "small"],
    ]);
    for (const sent of scripted.sent.slice(-2)) expect(textOf(sent).length / 4).toBeLessThan(30_000);
    expect(stateOf(chat).tokenDetails?.maxTokens).toBe(30_000);
  });

  test("CO-07 one message larger than the window: said before dispatch, with advice; the chat goes on after it", async ({
    node,
  }) => {
    const scripted = models([say("Fine.")]);
    const chat = new Chat(openRoom(node.store, scripted));
    const stream = await chat.say("word ".repeat(80_000));
    expect(stream.downlink.terminals).toMatchObject([
      { kind: "error", failure: { code: "CONTEXT_TOO_LONG", retryable: false, detail: /Shorten it/u } },
    ]);
    expect(scripted.sent).toHaveLength(0);
    const next = await chat.say("short");
    expect(next.downlink.terminals).toEqual([{ kind: "completed" }]);
    expect(scripted.sent.map(({ summary }) => summary)).toEqual([true, false]);
    expect(textOf(scripted.turns[0])).toContain("short");
  });

  test("a result larger than the window is cut to 64 kB for the model, and told how to read the rest", async ({
    node,
  }) => {
    const scripted = models([read("huge"), say("Read.")], 200_000);
    const chat = new Chat(openRoom(node.store, scripted));
    chat.files.set("/ws/demo/huge.txt", "a line of text\n".repeat(20_000));
    await chat.say("read it");
    const [result] = scripted.turns[1]!.request.messages.flatMap((message) =>
      message.role === "tool" ? message.results : [],
    );
    expect(Buffer.byteLength(result!.text)).toBeLessThanOrEqual(RESULT_LIMIT);
    expect(result!.text).toMatch(/are left out here.*an offset and a limit/su);
  });

  test("CO-05 a history that ends with an assistant message: the summary is asked for by a message of the user", async ({
    node,
  }) => {
    const scripted = models([say("One.")]);
    const chat = new Chat(openRoom(node.store, scripted));
    await chat.say("one");
    await chat.summarize();
    const [summary] = scripted.summaries;
    expect(summary!.request.messages.map(({ role }) => role)).toEqual(["user"]);
    expect(summary!.request.tools).toEqual([]);
    expect(textOf(summary)).toContain("[assistant]\\nOne.");
  });
});

describe("a compaction that fails", () => {
  test.for([
    ["an error", fails({ kind: "auth", status: 401 }), "PROVIDER_AUTH", /HTTP 401/u],
    ["the output limit", ends("length"), "COMPACTION_FAILED", /output limit.*as it was/u],
    ["a refusal", ends("refusal"), "PROVIDER_REFUSED", /refused/u],
    ["a tool call", call({ name: "bash", args: {} }), "COMPACTION_FAILED", /asked for a tool/u],
    ["nothing", ends("length", " "), "COMPACTION_FAILED", /output limit/u],
  ] as const)(
    "CO-03 by %s: the old history stands, the reason is told, and it is not tried again in the next turns",
    async ([, answer, code, detail], { node }) => {
      const scripted = models([counted("One.", 58_000), say("Two.")]);
      const chat = new Chat(openRoom(node.store, scripted));
      await chat.say("one");
      scripted.summarize(answer);
      const failed = await chat.say("two");
      expect(failed.downlink.terminals).toMatchObject([
        { kind: "error", failure: { code, retryable: false, detail: expect.stringMatching(detail) as unknown } },
      ]);
      expect(failed.downlink.kinds).not.toContain("interactionUpdate.summaryCompleted");
      for (const text of ["three", "four"]) {
        const next = await chat.say(text);
        expect(next.downlink.terminals).toEqual([{ kind: "completed" }]);
      }
      expect(scripted.summaries).toHaveLength(1);
      expectPrefixes(scripted.turns);
      expect(textOf(scripted.turns.at(-1))).toMatch(/one.*two.*three.*four/su);
    },
  );

  test("CO-06 the call after it fails and the user resumes: the compacted branch goes on, without a second summary", async ({
    node,
  }) => {
    const scripted = models([counted("One.", 58_000), fails({ kind: "auth" }), say("Two.")]);
    const chat = new Chat(openRoom(node.store, scripted));
    await chat.say("one");
    const failed = await chat.say("two");
    expect(failed.downlink.terminals).toMatchObject([{ failure: { code: "PROVIDER_AUTH" } }]);
    const resumed = await chat.resume();
    expect(resumed.downlink.terminals).toEqual([{ kind: "completed" }]);
    expect(scripted.summaries).toHaveLength(1);
    expect(textOf(scripted.turns.at(-1))).toContain("What was said so far.");
    expect(scripted.turns.at(-1)!.request.messages).toEqual(scripted.turns.at(-2)!.request.messages);
  });

  test("CO-13 a message during it: the old head stays, the message is answered; a cancel during it likewise", async ({
    node,
  }) => {
    const scripted = models([counted("One.", 58_000), say("Two.")]);
    const chat = new Chat(openRoom(node.store, scripted));
    await chat.say("one");
    scripted.summarize(hang([]), say("Short."));
    const stream = await chat.open(chat.message("two"));
    await sees(stream, "interactionUpdate.summaryStarted");
    await stream.send(saysNow("never mind, three", "m-three"));
    await stream.downlink.ended();
    expect(stream.downlink.terminals).toEqual([{ kind: "completed" }]);
    const last = textOf(scripted.turns.at(-1));
    expect(last).toContain("never mind, three");
    expect(last.split("never mind, three")).toHaveLength(2);
    expect(last.split('"two"')).toHaveLength(2);

    const other = new Chat(openRoom(node.store, scripted));
    scripted.answer(counted("One.", 58_000), say("Three."));
    await other.say("one");
    scripted.summarize(hang([]), say("Short."));
    const cancelled = await other.open(other.message("two"));
    await sees(cancelled, "interactionUpdate.summaryStarted");
    await cancelled.send(cancels);
    await cancelled.downlink.ended();
    expect(cancelled.downlink.terminals).toMatchObject([{ failure: { code: "CANCELLED" } }]);
    await other.say("three");
    expect(textOf(scripted.turns.at(-1))).toMatch(/Short\..*"two".*"three"/su);
  });
});

describe("a summary that the user asks for", () => {
  test("runs at once and answers in order; the next turn stands on it; the chat that the user sees keeps everything (CO-10)", async ({
    node,
  }) => {
    const scripted = models([read("a"), say("One."), say("Two."), say("Three.")]);
    const chat = new Chat(openRoom(node.store, scripted));
    chat.context = workspace({ skills: ["deploy"], mcp: ["tracker"] });
    await chat.say("one");
    await chat.say("two");
    const before = stateOf(chat);
    const rows = (await node.store.inspect(chat.conversationId as ConversationId))?.messages ?? 0;
    const stream = await chat.summarize();
    const { kinds, terminals } = stream.downlink;
    expect(terminals).toEqual([{ kind: "completed" }]);
    const order = [
      "interactionUpdate.summaryStarted",
      "interactionUpdate.summary",
      "interactionUpdate.summaryCompleted",
      "conversationCheckpointUpdate",
      "interactionUpdate.turnEnded",
    ];
    expect(order.map((kind) => kinds.indexOf(kind))).toEqual(
      order.map((kind) => kinds.indexOf(kind)).toSorted((a, b) => a - b),
    );
    expect(order.every((kind) => kinds.includes(kind))).toBe(true);
    expect(scripted.turns).toHaveLength(3);

    const after = stateOf(chat);
    expect(after.turns.slice(0, before.turns.length)).toEqual(before.turns);
    expect([after.selfSummaryCount, after.summaryArchives.length]).toEqual([1, 1]);
    expect(after.summary).toBeDefined();
    await chat.say("three");
    const last = scripted.turns.at(-1)!;
    expect(contexts(last)).toBe(1);
    for (const kept of ["deploy", "tracker", "What was said so far."]) expect(textOf(last)).toContain(kept);
    const final = stateOf(chat);
    expect(final.turns.slice(0, 2)).toEqual(before.turns);
    expect(final.turns).toHaveLength(3);
    expect((await node.store.inspect(chat.conversationId as ConversationId))?.messages).toBeGreaterThan(rows);
  });

  test("`/summarize` as the text of a message is that command: no word of it reaches a model, and it is retried by its message", async ({
    node,
  }) => {
    const scripted = models([say("One."), say("Two.")]);
    const chat = new Chat(openRoom(node.store, scripted));
    await chat.say("one");
    const before = stateOf(chat);
    scripted.summarize(hang([]), say("Short."));
    const first = await chat.open(chat.message("/summarize", { messageId: "m-slash" }));
    await sees(first, "interactionUpdate.summaryStarted");
    // the same message while it runs is a retry: it takes the summary over
    const again = await chat.open(chat.message("/summarize", { messageId: "m-slash" }));
    await first.downlink.ended();
    expect(first.downlink.terminals).toMatchObject([{ failure: { code: "REPLACED" } }]);
    await again.send(cancels);
    await again.downlink.ended();
    const last = await chat.say("/summarize");
    expect(last.downlink.kinds).toEqual(
      expect.arrayContaining([
        "interactionUpdate.summaryCompleted",
        "conversationCheckpointUpdate",
        "interactionUpdate.turnEnded",
      ]),
    );
    expect([scripted.turns.length, scripted.summaries.length]).toEqual([1, 2]);
    expect(stateOf(chat).turns).toEqual(before.turns);
    await chat.say("two");
    expect(textOf(scripted.turns.at(-1))).toContain("Short.");
    expect(scripted.sent.map((sent) => textOf(sent)).join()).not.toContain("/summarize");
  });

  test("CO-13 a message during it is answered on the old head, at once; the next summary takes it in", async ({
    node,
  }) => {
    const scripted = models([say("One."), say("Two.")]);
    const chat = new Chat(openRoom(node.store, scripted));
    await chat.say("one");
    scripted.summarize(hang([]), say("Short."));
    const stream = await chat.open(chat.asks({ case: "summarizeAction", value: {} }));
    await sees(stream, "interactionUpdate.summaryStarted");
    await stream.send(saysNow("two first", "m-two"));
    await stream.downlink.ended();
    expect(stream.downlink.terminals).toEqual([{ kind: "completed" }]);
    expect(stream.downlink.text).toBe("Two.");
    expect(stream.downlink.kinds).not.toContain("interactionUpdate.summaryCompleted");
    expectPrefixes(scripted.turns);
    const again = await chat.summarize();
    expect(again.downlink.kinds).toContain("interactionUpdate.summaryCompleted");
    expect(textOf(scripted.summaries.at(-1))).toMatch(/One\..*two first.*Two\./su);
  });

  test("of a conversation in which nothing was said it makes none", async ({ node }) => {
    const scripted = models([say("One.")]);
    const chat = new Chat(openRoom(node.store, scripted));
    const stream = await chat.summarize();
    expect(stream.downlink.kinds.at(-1)).toBe("interactionUpdate.turnEnded");
    await chat.say("one");
    expect(contexts(scripted.turns.at(-1))).toBe(1);
  });
});
