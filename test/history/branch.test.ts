import { agent, blobIdBytes, blobId, fromBinary, toBinary } from "@chartroom/protocol";
import type { Clock, ConversationId, ConversationStore } from "@chartroom/domain";
import { textTokens } from "@chartroom/history";
import { describe, expect } from "vitest";
import { systemClock } from "../support/clock.ts";
import { commitGate } from "../support/commit-gate.ts";
import { type Room, openRoom, type RoomStream } from "../support/room.ts";
import { type Answer, call, hang, say } from "../support/scripted-provider.ts";
import { cancels, Chat, saysNow, sees, workspace } from "./support/chat.ts";
import { test } from "./support/database.ts";
import { historyModels } from "./support/models.ts";
import { expectPrefix, expectPrefixes, expectSame, textOf } from "./support/prefix.ts";
import { expectAllValid } from "./support/valid.ts";

type State = ReturnType<typeof stateOf>;
const stateOf = (chat: Chat) => fromBinary(agent.ConversationStateStructureSchema, chat.state);
const change = (chat: Chat, edit: (state: State) => void): void => {
  const state = stateOf(chat);
  edit(state);
  chat.state = toBinary(agent.ConversationStateStructureSchema, state);
};
const relations = (room: Room): readonly string[] =>
  room.events.flatMap((event) => (event.type === "history.related" ? [event.relation] : []));
const stored = async (store: ConversationStore, chat: Chat): Promise<number> =>
  (await store.inspect(chat.conversationId as ConversationId))?.messages ?? 0;

/** Five turns; the state after each. */
async function five(chat: Chat, models: ReturnType<typeof historyModels>): Promise<readonly Uint8Array[]> {
  const states: Uint8Array[] = [new Uint8Array()];
  for (const name of ["one", "two", "three", "four", "five"]) {
    models.answer(call({ name: "Read", args: { path: `/ws/demo/${name}.ts` } }), say(`Answer ${name}.`));
    await chat.say(name, { messageId: `m-${name}` });
    states.push(chat.state);
  }
  return states;
}

describe("a client that goes back", () => {
  test("HI-13 message 2 of 5 edited, and edited again: each is a branch at 2, what was cancelled is in no prompt and stays stored", async ({
    node,
  }) => {
    const models = historyModels();
    const room = openRoom(node.store, models);
    const chat = new Chat(room);
    const states = await five(chat, models);
    const rows = await stored(node.store, chat);
    const first = models.sent[1]!;
    for (const text of ["two, but better", "two, at last"]) {
      chat.state = states[1]!;
      models.answer(say(`Answer to ${text}.`));
      await chat.say(text, { messageId: "m-two" });
      const sent = models.sent.at(-1)!;
      expectPrefix(first, sent);
      expect(textOf(sent)).toContain(text);
      expect(textOf(sent)).not.toMatch(/three|Answer two|two\.ts/u);
    }
    expect(textOf(models.sent.at(-1))).not.toContain("but better");
    expect(await stored(node.store, chat)).toBeGreaterThan(rows);
    // the newest branch goes on, and the first text of all is found again at its own place
    models.answer(say("Going on."));
    await chat.say("and on", { messageId: "m-on" });
    expect(textOf(models.sent.at(-1))).toContain("Answer to two, at last.");
    chat.state = states[5]!;
    await chat.say("six", { messageId: "m-six" });
    expect(textOf(models.sent.at(-1))).toContain("Answer five.");
    expect(textOf(models.sent.at(-1))).not.toContain("at last");
    expect(relations(room).slice(5)).toEqual(["rewind", "rewind", "continue", "rewind"]);
  });

  test("HI-10 an older state whose successors were delivered branches there; one that knows of none goes on from our head", async ({
    node,
  }) => {
    const models = historyModels();
    const room = openRoom(node.store, models);
    const chat = new Chat(room);
    const states = await five(chat, models);
    chat.state = states[3]!;
    await chat.say("another four");
    expect(textOf(models.sent.at(-1))).toContain("Answer three.");
    expect(textOf(models.sent.at(-1))).not.toContain("Answer four.");

    // its last checkpoint never reached the client: nothing is dropped, and it gets our head first
    const before = chat.state;
    chat.acknowledges = false;
    const lost = await chat.open(chat.message("unheard"));
    await sees(lost, "kvServerMessage.setBlobArgs");
    lost.downlink.lose();
    await expect.poll(() => room.service.openRuns).toBe(0);
    chat.acknowledges = true;
    expect(chat.state).toEqual(before);
    const next = await chat.say("go on");
    expect(relations(room).slice(-2)).toEqual(["continue", "stale"]);
    expect(textOf(models.sent.at(-1))).toContain("unheard");
    const { kinds } = next.downlink;
    expect(kinds.indexOf("conversationCheckpointUpdate")).toBeLessThan(
      kinds.lastIndexOf("conversationCheckpointUpdate"),
    );
  });

  test("HI-10 a message that was sent before the last checkpoint came drops no turn, though the checkpoint was delivered meanwhile", async ({
    node,
  }) => {
    const gate = commitGate(node.store);
    const models = historyModels([say("First answer."), say("Second answer.")]);
    const room = openRoom(gate.store, models);
    const chat = new Chat(room);
    // the Run is at its end when the next message comes, with the state of before
    gate.hold((barrier) => (barrier.checkpoints ?? []).some(({ wireState }) => wireState !== undefined));
    const first = await chat.open(chat.message("one"));
    await expect.poll(() => gate.held).toBe(1);
    const second = await chat.stream().attach();
    const receipt = second.send(chat.message("two"));
    await expect.poll(() => room.service.openRuns).toBe(2);
    gate.release();
    await first.downlink.ended();
    expect((await receipt).kind).toBe("run");
    await second.downlink.ended();
    expect(first.downlink.kinds).toContain("conversationCheckpointUpdate");
    expect(textOf(models.sent[1])).toContain("First answer.");
    expectPrefixes(models.sent);
    expect(relations(room)).toEqual(["new", "stale"]);
  });

  test("HI-10 a message that crosses a checkpoint on its way drops no turn; one that was sent after it came goes back", async ({
    node,
  }) => {
    let late = 0;
    const clock: Clock = { ...systemClock, now: () => systemClock.now() + late };
    const models = historyModels();
    const room = openRoom(node.store, models, { clock });
    const across = async (afterMs: number): Promise<string> => {
      const chat = new Chat(room);
      models.answer(say("One."), call({ name: "Shell", args: { command: "sleep 60" } }), say("Two."));
      await chat.say("one");
      const before = chat.state;
      const live = await chat.stream().attach();
      const takes = live.downlink.onMessage;
      live.downlink.onMessage = (message) => {
        // its client is 400 ms away
        if (message.message.case === "kvServerMessage") late += 400;
        takes?.(message);
      };
      await live.send(chat.message("run it"));
      await sees(live, "conversationCheckpointUpdate");
      late += afterMs;
      chat.state = before;
      await chat.say("instead");
      return textOf(models.sent.at(-1));
    };
    const crossed = await across(0);
    expect(crossed).toContain("run it");
    expect(crossed).toContain("another run of this conversation took over");
    expect(await across(5_000)).not.toContain("run it");
    expect(relations(room)).toEqual(["new", "continue", "stale", "new", "continue", "rewind"]);
  });

  test("HI-11 a state that lost entries: ours win, no turn is dropped, and it is told", async ({ node }) => {
    const models = historyModels();
    const room = openRoom(node.store, models);
    const chat = new Chat(room);
    await five(chat, models);
    const whole = stateOf(chat).rootPromptMessagesJson;
    change(chat, (state) => {
      state.rootPromptMessagesJson = state.rootPromptMessagesJson.toSpliced(4, 3);
    });
    const before = models.sent.at(-1)!;
    models.answer(say("Six."));
    await chat.say("six");
    expectPrefix(before, models.sent.at(-1)!);
    expect(relations(room).at(-1)).toBe("shrunk");
    expect(stateOf(chat).rootPromptMessagesJson.slice(1, whole.length)).toEqual(whole.slice(1));
  });

  test("HI-11 a state in which an entry was edited is a branch behind what stands before it", async ({ node }) => {
    const models = historyModels();
    const room = openRoom(node.store, models);
    const chat = new Chat(room);
    await five(chat, models);
    const utf8 = new TextDecoder();
    const roots = stateOf(chat).rootPromptMessagesJson;
    const at = roots.findIndex((id) => utf8.decode(chat.blobs.get(hex(id))).includes("Answer three."));
    const edited = new TextEncoder().encode(
      utf8.decode(chat.blobs.get(hex(roots[at]!))).replace("Answer three.", "Edited three."),
    );
    chat.blobs.set(blobId(edited), edited);
    change(chat, (state) => {
      state.rootPromptMessagesJson = roots.with(at, blobIdBytes(blobId(edited)));
    });
    const first = models.sent[3]!;
    models.answer(say("Six."));
    await chat.say("six");
    const sent = models.sent.at(-1)!;
    expectPrefix(first, sent);
    expect(relations(room).at(-1)).toBe("branch");
    expect(textOf(sent)).toContain("Edited three.");
    expect(textOf(sent)).not.toContain("Answer three.");
    for (const name of ["two", "four", "five"]) expect(textOf(sent)).toContain(`Answer ${name}.`);
  });

  test("a fork: another conversation that begins with the state of this one, at any message", async ({ node }) => {
    const models = historyModels();
    const room = openRoom(node.store, models);
    const chat = new Chat(room);
    const states = await five(chat, models);
    for (const at of [1, 3, 5]) {
      const fork = new Chat(room);
      Object.assign(fork, { blobs: chat.blobs, state: states[at]! });
      models.answer(say("From here."));
      const stream = await fork.say(`fork at ${at}`);
      expect(stream.downlink.terminals).toEqual([{ kind: "completed" }]);
      // the second call of turn `at` of the original is the one before
      expectPrefix(models.sent[2 * at - 1]!, models.sent.at(-1)!);
      expect(textOf(models.sent.at(-1)).split("the machine and the workspace")).toHaveLength(2);
    }
    models.answer(say("Untouched."));
    await chat.say("six");
    expect(textOf(models.sent.at(-1))).not.toContain("fork at");
    expect(relations(room).slice(5)).toEqual(["import", "import", "import", "continue"]);
  });

  test("HI-14 HI-26 the context meter after going back is a fresh estimate of the branch: eight categories, their sum is what is used", async ({
    node,
  }) => {
    const measured = (inputTokens: number) =>
      async function* () {
        yield [
          { type: "text", text: "Yes." },
          { type: "usage", usage: { inputTokens, outputTokens: 10, cacheReadTokens: inputTokens - 5 } },
          { type: "finished", reason: "stop", raw: "stop" },
        ] as const;
      };
    const models = historyModels([measured(50_000)]);
    const room = openRoom(node.store, models);
    const chat = new Chat(room);
    chat.context = workspace({ rules: ["Use tabs."], skills: ["deploy"], mcp: ["tracker"] });
    await chat.say("one");
    const details = [stateOf(chat).tokenDetails];
    // what came from the cache is in the prompt's count, and counts once
    expect(details[0]?.usedTokens).toBe(50_010);
    const base = chat.state;
    models.answer(measured(120_000));
    await chat.say("two");
    expect(stateOf(chat).tokenDetails?.usedTokens).toBe(120_010);

    // back before the second turn: nobody has counted this branch, and the provider says nothing of tokens now
    const silent = async function* () {
      yield [{ type: "text", text: "Yes." } as const, { type: "finished", reason: "stop", raw: "stop" } as const];
    };
    models.answer(silent);
    for (const state of [base, new Uint8Array()]) {
      chat.state = state;
      await chat.say("two, but other");
      const { request } = models.sent.at(-1)!;
      const estimate = textTokens(request.system) + textTokens(JSON.stringify([request.tools, request.messages]));
      const { usedTokens = 0 } = stateOf(chat).tokenDetails ?? {};
      expect(Math.abs(usedTokens - estimate) / estimate).toBeLessThan(0.2);
      details.push(stateOf(chat).tokenDetails);
    }
    for (const one of details) {
      expect(one?.breakdown?.categories.map(({ id }) => id)).toEqual([
        ...["system_prompt", "tools", "rules", "skills", "mcp", "subagents"],
        ...["summarized_conversation", "conversation"],
      ]);
      const sum = one?.breakdown?.categories.reduce((all, { estimatedTokens }) => all + estimatedTokens, 0);
      expect([sum, one?.breakdown?.totalUsedTokens]).toEqual([one?.usedTokens, one?.usedTokens]);
      expect(one?.usedTokens).toBeLessThan(one?.maxTokens ?? 0);
    }
  });

  test("HI-08 a server with an empty database makes the same bytes of the client's checkpoint as the one that wrote it", async ({
    node,
    elsewhere,
  }) => {
    const models = historyModels();
    const chat = new Chat(openRoom(node.store, models));
    await five(chat, models);
    const there = chat.at(openRoom(elsewhere, models));
    const clock = { now: () => Date.UTC(2026, 10, 30), setTimeout: () => 0, clearTimeout: () => undefined };
    models.answer(say("Six."));
    for (const [room, who] of [
      [openRoom(elsewhere, models, { clock }), there],
      [openRoom(node.store, models, { clock }), chat],
    ] as const)
      await who.at(room).say("six", { messageId: "m-six", context: workspace({ git: " M six.ts" }) });
    const [a, b] = models.sent.slice(-2);
    expectSame(a!, b!);
    expect(textOf(a)).toContain("Answer five.");
  });

  test("a resume with a state that another server wrote: its open calls are issued again with their ids, each once, and answered calls are not", async ({
    node,
    elsewhere,
  }) => {
    const models = historyModels([
      call({ name: "Read", args: { path: "/ws/demo/a.ts" } }, { name: "Read", args: { path: "/ws/demo/b.ts" } }),
    ]);
    const chat = new Chat(openRoom(node.store, models));
    const answers = chat.onExec;
    chat.onExec = () => undefined;
    const asked = await chat.open(chat.message("read both"));
    await sees(asked, "conversationCheckpointUpdate");
    const before = execsOf(asked);
    expect(stateOf(chat).pendingToolCalls).toHaveLength(1);

    const room = openRoom(elsewhere, models);
    const there = chat.at(room);
    models.answer(say("Read."));
    const resumed = await there.resume();
    expect(execsOf(resumed)).toEqual(before);
    expect(resumed.downlink.terminals).toEqual([{ kind: "completed" }]);
    expect(resumed.downlink.text).toBe("Read.");
    expect(relations(room)).toEqual(["import"]);
    const sent = textOf(models.sent.at(-1));
    for (const file of ["a", "b"]) expect(sent.split(`content of /ws/demo/${file}.ts`)).toHaveLength(2);
    expect(sent).not.toContain("stopped because");
    expect(models.sent).toHaveLength(2);
    expectPrefixes(models.sent);
    expectAllValid(models.sent);
    // what follows stands on it
    await there.say("and on");
    expectPrefixes(models.sent);

    // here its Run lives: the same resume takes it over, and the calls are those of before
    chat.onExec = answers;
    models.answer(say("Read here."));
    const claimed = await chat.resume();
    expect(execsOf(claimed)).toEqual(before);
    expect(claimed.downlink.text).toBe("Read here.");
  });

  test.for(["a cancel", "a message"] as const)(
    "%s while such a call is open closes it as interrupted, and the next request is valid",
    async (what, { node, elsewhere }) => {
      const models = historyModels([call({ name: "Read", args: { path: "/ws/demo/a.ts" } })]);
      const chat = new Chat(openRoom(node.store, models));
      chat.onExec = () => undefined;
      const asked = await chat.open(chat.message("read it"));
      await sees(asked, "conversationCheckpointUpdate");
      const there = chat.at(openRoom(elsewhere, models));
      there.onExec = () => undefined;
      models.answer(say("Fine."));
      const resumed = await there.open(there.asks({ case: "resumeAction", value: { requestContext: there.context } }));
      await sees(resumed, "execServerMessage.readArgs");
      await resumed.send(what === "a cancel" ? cancels : saysNow("never mind", "m-never"));
      await resumed.downlink.ended();
      await there.say("next");
      expect(textOf(models.sent.at(-1))).toMatch(/Tool interrupted.*"next"/su);
      expectAllValid(models.sent);
    },
  );

  test("a message for such a state brings last results of calls that the client stopped: they settle their calls", async ({
    node,
    elsewhere,
  }) => {
    const models = historyModels([
      call({ name: "Shell", args: { command: "npm test" } }, { name: "Read", args: { path: "/ws/demo/a.ts" } }),
    ]);
    const chat = new Chat(openRoom(node.store, models));
    chat.onExec = () => undefined;
    const asked = await chat.open(chat.message("test it"));
    await sees(asked, "conversationCheckpointUpdate");
    const [pending] = stateOf(chat).pendingToolCalls.map((text) => JSON.parse(text) as Pending);
    const toolCallId = pending?.content.find(({ toolName }) => toolName === "Shell")?.toolCallId ?? "";
    const there = chat.at(openRoom(elsewhere, models));
    models.answer(say("Fine."));
    const result = {
      result: { case: "failure" as const, value: { stdout: "3 passed", exitCode: 130, aborted: true } },
    };
    await there.say("what happened?", {
      action: {
        interruptedPendingToolCallResolutions: {
          resolutions: [{ toolCallId, resolution: { case: "shellResult", value: result } }],
        },
      },
    });
    expect(textOf(models.sent.at(-1))).toMatch(
      /3 passed.*The call was stopped because the user sent.*"what happened\?"/su,
    );
    expectPrefixes(models.sent);
    expectAllValid(models.sent);
  });

  test("HI-21 a resume with an older state of the branch goes on from the head: a tool whose result is stored is not run again", async ({
    node,
  }) => {
    const models = historyModels([call({ name: "Read", args: { path: "/ws/demo/a.ts" } }), refused]);
    const room = openRoom(node.store, models);
    const chat = new Chat(room);
    const stream = await chat.stream().attach();
    const states: Uint8Array[] = [];
    const takes = stream.downlink.onMessage;
    stream.downlink.onMessage = (message) => {
      takes?.(message);
      if (message.message.case === "conversationCheckpointUpdate") states.push(chat.state);
    };
    const answers = chat.onExec;
    chat.onExec = () => undefined;
    await stream.send(chat.message("read it"));
    await sees(stream, "conversationCheckpointUpdate");
    chat.onExec = answers;
    // the same client on another stream: its Run is taken over, and answered
    const other = await chat.resume();
    expect(other.downlink.terminals).toMatchObject([{ failure: { code: "PROVIDER_AUTH" } }]);
    chat.state = states[0]!;
    expect(stateOf(chat).pendingToolCalls).toHaveLength(1);
    models.answer(say("Read."));
    const resumed = await chat.resume();
    expect(execsOf(resumed)).toEqual([]);
    expect(resumed.downlink.text).toBe("Read.");
    expect(relations(room)).toEqual(["new", "stale"]);
    expect(models.sent.at(-1)!.request.messages).toEqual(models.sent.at(-2)!.request.messages);
  });

  test("an interrupted turn that the client does not know of is part of what goes on", async ({ node }) => {
    const models = historyModels([hang(["Half a sen"])]);
    const room = openRoom(node.store, models);
    const chat = new Chat(room);
    const first = await chat.open(chat.message("one"));
    await sees(first, "interactionUpdate.textDelta");
    models.answer(say("Two."));
    await chat.say("two");
    expect(textOf(models.sent[1])).toContain("Half a sen");
    expectPrefixes(models.sent);
  });
});

const refused: Answer = async function* () {
  yield [{ type: "failed", failure: { kind: "auth", message: "scripted", retryable: false } }];
};
interface Pending {
  readonly content: readonly { readonly toolName?: string; readonly toolCallId?: string }[];
}
/** The calls of execs, each with what it asks for. */
const execsOf = (stream: RoomStream): readonly string[] =>
  stream.downlink.messages.flatMap(({ message }) =>
    message.case === "execServerMessage" && message.value.message.case === "readArgs"
      ? [`${message.value.message.value.toolCallId} ${message.value.message.value.path}`]
      : [],
  );
const hex = (id: Uint8Array): string => Buffer.from(id).toString("hex");
