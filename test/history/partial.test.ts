import type { ModelEvent, ProviderCallId } from "@chartroom/domain";
import { describe, expect } from "vitest";
import { test } from "../support/database.ts";
import { mortalStore } from "../support/mortal-store.ts";
import { openRoom, type RoomStream } from "../support/room.ts";
import { type Answer, hang, say } from "../support/scripted-provider.ts";
import { cancels, Chat, saysNow, sees } from "./support/chat.ts";
import { historyModels } from "./support/models.ts";
import { expectPrefixes, textOf } from "./support/prefix.ts";
import { expectAllValid } from "./support/valid.ts";

type Failed = Extract<ModelEvent, { type: "failed" }>;
const failed = (kind: Failed["failure"]["kind"]): Failed => ({
  type: "failed",
  failure: { kind, message: "scripted", retryable: false },
});
/** A pass of these events, one batch each; one that does not end waits for its abort. */
const pass = (...events: readonly ModelEvent[]): Answer =>
  async function* (_request, signal) {
    for (const event of events) yield [event];
    const last = events.at(-1)?.type;
    if (last === "finished" || last === "failed") return;
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    yield [failed("aborted")];
  };
const SIGNED = { vendor: "scripted", data: '{"signature":"c2ln"}' };
const FIELD = { vendor: "scripted", data: '{"field":"reasoning_content"}' };
const thinks = (text: string, replay = SIGNED): readonly ModelEvent[] => [
  { type: "thinking", text },
  { type: "thinkingDone", replay },
];
const text = (said: string): ModelEvent => ({ type: "text", text: said });
const reads = (path: string): readonly ModelEvent[] => [
  { type: "call", index: 0, providerId: "call_0" as ProviderCallId, name: "Read" },
  { type: "callArguments", index: 0, text: JSON.stringify({ path }) },
  { type: "callDone", index: 0 },
];
const stops: ModelEvent = { type: "finished", reason: "stop", raw: "stop" };
const asks: ModelEvent = { type: "finished", reason: "toolCalls", raw: "tool_calls" };
const thinking = {
  request: { requestedModel: { modelId: "demo-model", parameters: [{ id: "reasoning_effort", value: "high" }] } },
};

describe("what was shown stays in history", () => {
  test("LC-04 text before a provider failure, marked partial; the next request is valid and begins with it", async ({
    node,
  }) => {
    const models = historyModels([pass(text("Shown before "), text("it broke"), failed("server"))]);
    const chat = new Chat(openRoom(node.store, models));
    const broken = await chat.say("one");
    expect(broken.downlink.text).toBe("Shown before it broke");
    expect(broken.downlink.terminals).toMatchObject([{ kind: "error", failure: { code: "PROVIDER_SERVER" } }]);
    models.answer(say("Two."));
    await chat.say("two");
    expect(textOf(models.sent.at(-1))).toContain("Shown before it broke");
    expect(await partials(chat)).toEqual([true, false]);
    expectPrefixes(models.sent);
    expectAllValid(models.sent);
  });

  test("text before a cancel, and before a message that interrupts", async ({ node }) => {
    const models = historyModels([hang(["Before the cancel"])]);
    const chat = new Chat(openRoom(node.store, models));
    const one = await chat.open(chat.message("one"));
    await sees(one, "interactionUpdate.textDelta");
    await one.send(cancels);
    await one.downlink.ended();
    models.answer(hang(["Before the message"]), say("Done."));
    const two = await chat.open(chat.message("two"));
    await sees(two, "interactionUpdate.textDelta");
    await two.send(saysNow("three", "m-three"));
    await two.downlink.ended();
    await chat.say("four");
    expect(textOf(models.sent.at(-1))).toMatch(
      /one.*Before the cancel.*two.*Before the message.*three.*Done\..*four/su,
    );
    expect(await partials(chat)).toEqual([true, true, false, false]);
    expectPrefixes(models.sent);
    expectAllValid(models.sent);
  });

  test("text before a crash, as far as it had been flushed", async ({ node }) => {
    let now = Date.now();
    const clock = {
      now: () => now,
      setTimeout: (fn: () => void, ms: number) => setTimeout(fn, ms).unref(),
      clearTimeout: (timer: unknown) => clearTimeout(timer as NodeJS.Timeout),
    };
    let write: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (write = resolve));
    const models = historyModels([hang(["First second. "], gate, hang(["Second second. "]))]);
    const mortal = mortalStore(node.store);
    const room = openRoom(mortal.store, models, { clock });
    const chat = new Chat(room);
    const request = chat.message("one", { messageId: "m-one" });
    const stream = await chat.open(request);
    await sees(stream, "interactionUpdate.textDelta");
    now += 1_500;
    write();
    await stream.downlink.until(() => stream.downlink.text.includes("Second second."));
    await room.service.registry.all()[0]?.written();
    mortal.kill();

    models.answer(say("Once more."));
    const there = chat.at(openRoom(node.store, models));
    const back = await there.finish(request);
    expect(back.downlink.terminals).toEqual([{ kind: "completed" }]);
    expect(back.downlink.notices).toEqual(["\n\n(The server was interrupted here and goes on.)\n\n"]);
    expect(back.downlink.text).toBe(`First second. Second second. ${back.downlink.notices[0]!}Once more.`);
    expect(textOf(models.sent.at(-1))).toContain("Second second.");
    expect(textOf(models.sent.at(-1))).not.toContain("interrupted here");
    expectPrefixes(models.sent);
    await there.say("two");
    expectPrefixes(models.sent);
    expectAllValid(models.sent);
  });

  test("HI-21 a crash after all tool results, before the model: the tools are not run again", async ({ node }) => {
    const models = historyModels([pass(text("I look."), ...reads("/ws/demo/a.ts"), asks), hang([])]);
    const mortal = mortalStore(node.store);
    const room = openRoom(mortal.store, models);
    const chat = new Chat(room);
    let execs = 0;
    const { onExec } = chat;
    chat.onExec = (exec) => {
      execs += 1;
      return onExec(exec);
    };
    const stream = await chat.open(chat.message("one"));
    await stream.downlink.until(() => models.sent.length === 2);
    await room.service.registry.all()[0]?.written();
    mortal.kill();
    models.answer(say("Read."));
    const there = chat.at(openRoom(node.store, models));
    there.onExec = chat.onExec;
    const back = await there.resume();
    expect(back.downlink.terminals).toEqual([{ kind: "completed" }]);
    expect(execs).toBe(1);
    expect(models.sent[2]!.bytes).toEqual(models.sent[1]!.bytes);
  });

  test("HI-19 a stream that ends inside a tool call: the call is not made, its id is free again", async ({ node }) => {
    const models = historyModels([
      pass(text("I look."), ...reads("/ws/demo/a.ts").slice(0, 2), failed("interrupted")),
      pass(...reads("/ws/demo/b.ts"), asks),
      say("Read."),
    ]);
    const chat = new Chat(openRoom(node.store, models));
    const cut = await chat.say("one");
    expect(cut.downlink.terminals).toMatchObject([{ failure: { code: "PROVIDER_INTERRUPTED" } }]);
    expect(cut.downlink.kinds).not.toContain("execServerMessage.readArgs");
    expect(cut.downlink.kinds.filter((kind) => kind === "interactionUpdate.toolCallCompleted")).toHaveLength(1);
    await chat.say("again");
    const last = models.sent.at(-1)!;
    expect(textOf(last)).toContain("I look.");
    expect(textOf(last)).not.toContain("a.ts");
    expect(textOf(last)).toContain("content of /ws/demo/b.ts");
    expectPrefixes(models.sent);
    expectAllValid(models.sent);
  });
});

describe("what was said stays in history", () => {
  /** A message whose Run cannot be prepared: its client is asked for a context and does not answer. */
  const unprepared = async (chat: Chat, said: string): Promise<RoomStream> => {
    const stream = await chat.open(
      chat.message(said, { messageId: `m-${said}`, action: { requestContext: undefined } }),
    );
    await sees(stream, "execServerMessage.requestContextArgs");
    return stream;
  };

  test("LC-01 a message that is cancelled before its Run is prepared: its client gets it with the checkpoint, and the next turn stands on it", async ({
    node,
  }) => {
    const models = historyModels([say("One."), say("Three.")]);
    const room = openRoom(node.store, models);
    const chat = new Chat(room);
    await chat.say("one");
    const stream = await unprepared(chat, "two");
    await stream.send(cancels);
    await stream.downlink.ended();
    expect(stream.downlink.terminals).toMatchObject([{ failure: { code: "CANCELLED" } }]);
    expect(stream.downlink.kinds).toContain("conversationCheckpointUpdate");
    // on another server, from the client's checkpoint alone
    const there = chat.at(openRoom(node.store, models));
    await there.say("three");
    expect(textOf(models.sent.at(-1))).toMatch(/"one".*One\..*"two".*"three"/su);
    expect(textOf(models.sent.at(-1)).split('"two"')).toHaveLength(2);
    expectPrefixes(models.sent);
    expectAllValid(models.sent);
  });

  test("LC-01 a message that is superseded before its Run is prepared is before the one that took its place", async ({
    node,
  }) => {
    const models = historyModels([say("One."), say("Three.")]);
    const room = openRoom(node.store, models);
    const chat = new Chat(room);
    await chat.say("one");
    const stream = await unprepared(chat, "two");
    await chat.say("three");
    expect(stream.downlink.terminals).toMatchObject([{ failure: { code: "SUPERSEDED" } }]);
    expect(textOf(models.sent.at(-1))).toMatch(/"one".*One\..*"two".*"three"/su);
    expect(textOf(models.sent.at(-1)).split('"two"')).toHaveLength(2);
    expectPrefixes(models.sent);
    expectAllValid(models.sent);
  });

  test("ID-04 its retry, after a cancel whose end it did not see, finds it and is answered", async ({ node }) => {
    const models = historyModels([say("Done.")]);
    const room = openRoom(node.store, models);
    const chat = new Chat(room);
    const stream = await unprepared(chat, "only");
    stream.downlink.lose();
    const cancel = await chat.stream().attach();
    expect(await cancel.send(chat.asks({ case: "cancelAction", value: { reason: "user" } }))).toMatchObject({
      kind: "finishedTurn",
    });
    await expect.poll(() => room.service.openRuns).toBe(0);
    const retry = await chat.say("only", { messageId: "m-only" });
    expect(retry.downlink.text).toBe("Done.");
    expect(textOf(models.sent.at(-1)).split('"only"')).toHaveLength(2);
    expectAllValid(models.sent);
  });
});

describe("reasoning", () => {
  test("HI-16 thinking mode: it goes back to its vendor byte for byte, a turn without it is accepted, another provider gets words", async ({
    node,
  }) => {
    const models = historyModels(
      [
        pass(...thinks("Let me see."), text("I look."), ...reads("/ws/demo/a.ts"), asks),
        pass(...thinks("So it is."), text("One."), stops),
        pass(...reads("/ws/demo/b.ts"), asks),
        pass(text("Two."), stops),
        pass(...thinks("Hm."), text("Three."), stops),
      ],
      [{ id: "demo-model" }, { id: "other", provider: "elsewhere" }],
    );
    const chat = new Chat(openRoom(node.store, models));
    for (const said of ["one", "two", "three"]) await chat.say(said, thinking);
    const replay = '{"type":"thinking","thinking":"Let me see.","signature":"c2ln"}';
    expect(models.sent[1]!.bytes.anthropic).toContain(replay);
    expect(models.sent[1]!.bytes.anthropic).toContain('"thinking":{"type":"enabled"');
    expect(models.sent.at(-1)!.bytes.anthropic).toContain(replay);
    // a round that did not think cannot be asked to: no budget, and the vendor accepts it
    expect(models.sent[3]!.bytes.anthropic).not.toContain('"thinking":{"type":"enabled"');
    expectAllValid(models.sent);
    for (let at = 1; at < models.sent.length; at += 1)
      expect(models.sent[at]!.request.messages.slice(0, models.sent[at - 1]!.request.messages.length)).toEqual(
        models.sent[at - 1]!.request.messages,
      );

    models.answer(say("Four."));
    await chat.say("four", { model: "other", ...thinking, request: { requestedModel: { modelId: "other" } } });
    const other = models.sent.at(-1)!;
    expect(other.bytes.anthropic).not.toContain("c2ln");
    expect(other.bytes.anthropic).toContain("Let me see.");
    expectAllValid([other]);
  });

  test("HI-16 a vendor that demands reasoning gets some with each answer, whoever gave it; what was sent stays as it was", async ({
    node,
  }) => {
    const models = historyModels(
      [pass(...thinks("Let me see."), text("Elsewhere."), stops)],
      [
        { id: "demo-model", requiresThinking: true },
        { id: "other", provider: "elsewhere" },
      ],
    );
    const chat = new Chat(openRoom(node.store, models));
    await chat.say("zero", { model: "other" });
    models.answer(
      pass(...thinks("Hm.", FIELD), ...reads("/ws/demo/a.ts"), asks),
      pass(...reads("/ws/demo/b.ts"), asks),
      pass(text("One."), stops),
      say("Two."),
    );
    for (const said of ["one", "two"]) await chat.say(said);
    const mine = models.sent.slice(1);
    const { messages } = JSON.parse(mine.at(-1)!.bytes.openai) as {
      messages: readonly { role: string; reasoning_content?: string }[];
    };
    const answers = messages.filter(({ role }) => role === "assistant");
    expect(answers.map((answer) => answer.reasoning_content)).toEqual([" ", "Hm.", " ", " "]);
    expect(mine.at(-1)!.bytes.openai).toContain("Let me see.");
    expectPrefixes(mine);
    expectAllValid(mine);
  });

  test("HI-25 of a round with several calls it stands once, in the field in which it came", async ({ node }) => {
    const second: readonly ModelEvent[] = [
      { type: "call", index: 1, providerId: "call_1" as ProviderCallId, name: "Read" },
      { type: "callArguments", index: 1, text: '{"path":"/ws/demo/b.ts"}' },
    ];
    const models = historyModels([
      pass(...thinks("Both.", FIELD), ...reads("/ws/demo/a.ts"), ...second, asks),
      say("Read."),
    ]);
    const chat = new Chat(openRoom(node.store, models));
    await chat.say("one");
    const { openai } = models.sent.at(-1)!.bytes;
    expect(openai.split('"reasoning_content":"Both."')).toHaveLength(2);
    expect(openai.split('"tool_calls"')).toHaveLength(2);
    expectAllValid(models.sent);
  });

  test.for(["cancel", "message"] as const)(
    "HI-17 a %s during thinking: no message that is reasoning alone is sent, and nothing before it changes",
    async (how, { node }) => {
      const models = historyModels([pass({ type: "thinking", text: "Let me th" }), say("Done."), say("Next.")]);
      const chat = new Chat(openRoom(node.store, models));
      const stream = await chat.open(chat.message("one", thinking));
      await sees(stream, "interactionUpdate.thinkingDelta");
      await stream.send(how === "cancel" ? cancels : saysNow("rather two", "m-two"));
      await stream.downlink.ended();
      await chat.say("and on", thinking);
      expectAllValid(models.sent);
      expectPrefixes(models.sent);
      expect(textOf(models.sent.at(-1))).toContain("Let me th");
    },
  );
});

/** Of each assistant message at the head, whether it is partial. */
async function partials(chat: Chat): Promise<readonly boolean[]> {
  const [activation] = chat.service.registry
    .all()
    .filter(({ conversationId }) => conversationId === chat.conversationId);
  await activation?.loadHistory();
  return (activation?.history.view.messages ?? []).flatMap(({ content }) =>
    content.kind === "assistant" ? [content.record.partial] : [],
  );
}
