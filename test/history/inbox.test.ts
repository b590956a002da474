import { agent } from "@chartroom/protocol";
import { describe, expect } from "vitest";
import { commitGate } from "../support/commit-gate.ts";
import { test } from "../support/database.ts";
import { mortalStore } from "../support/mortal-store.ts";
import { openRoom } from "../support/room.ts";
import { call, hang, say } from "../support/scripted-provider.ts";
import { acts, Chat, saysNow, sees } from "./support/chat.ts";
import { historyModels } from "./support/models.ts";
import { inOrder, times } from "./support/order.ts";
import { expectPrefixes, textOf } from "./support/prefix.ts";
import { expectAllValid } from "./support/valid.ts";

const done = (taskId: string, title = `job ${taskId}`): Parameters<typeof acts>[0] => ({
  case: "backgroundTaskCompletionAction",
  value: {
    completions: [{ taskId, title, kind: agent.BackgroundTaskKind.SHELL, status: agent.BackgroundTaskStatus.SUCCESS }],
  },
});
const inject = (injectionId: string, content: string, from: "user" | "system" = "system") =>
  acts({
    case: "injectContextAction",
    value: {
      injectionId,
      expectedRunId: "wire-run",
      payload:
        from === "system"
          ? { case: "systemContext", value: { producer: "hook", content } }
          : {
              case: "userContext",
              value: { userMessage: { text: content, messageId: `m-${injectionId}`, mode: agent.AgentMode.AGENT } },
            },
    },
  });
const run = { request: { runId: "wire-run" } };

describe("what comes in while a Run lives", () => {
  test("SA-10 HI-22 a user message, an injection and two completions at the same moment: all once, in the order in which they were taken, one request context", async ({
    node,
  }) => {
    const models = historyModels([hang(["Working"]), say("All seen.")]);
    const chat = new Chat(openRoom(node.store, models));
    const stream = await chat.open(chat.message("Begin", run));
    await sees(stream, "interactionUpdate.textDelta");
    await Promise.all([
      stream.send(acts(done("t-1"))),
      stream.send(inject("i-1", "Format on save.")),
      stream.send(acts(done("t-2"))),
      stream.send(saysNow("And be brief.", "m-brief")),
    ]);
    await stream.downlink.ended();
    expect(stream.downlink.terminals).toEqual([{ kind: "completed" }]);
    const last = textOf(models.sent.at(-1));
    inOrder(last, "Working", "job t-1", "Format on save.", "job t-2", "And be brief.");
    for (const piece of ["job t-1", "Format on save.", "job t-2", "And be brief.", "the machine and the workspace"])
      expect(times(last, piece)).toBe(1);
    expectPrefixes(models.sent);
    expectAllValid(models.sent);
  });

  test("SA-10 two completions and a user message at the same moment in a conversation that rests: all once, whichever came first", async ({
    node,
  }) => {
    for (const order of [
      ["t-1", "t-2", "user"],
      ["t-1", "user", "t-2"],
      ["user", "t-1", "t-2"],
    ]) {
      // no Run ends before all three are taken: one that comes after a checkpoint was delivered would go back behind it
      const { promise: taken, resolve: takenAll } = Promise.withResolvers<void>();
      const models = historyModels([
        say("One."),
        async function* (request, signal) {
          await taken;
          yield* say("All seen.")(request, signal);
        },
      ]);
      const room = openRoom(node.store, models);
      const chat = new Chat(room);
      await chat.say("one");
      const streams = await Promise.all(order.map(() => chat.stream().attach()));
      const receipts = order.map((what, at) =>
        streams[at]!.send(what === "user" ? chat.message("And be brief.") : chat.asks(done(what))),
      );
      expect((await Promise.all(receipts)).map(({ kind }) => kind)).not.toContain("refused");
      takenAll();
      await expect.poll(() => room.service.openRuns).toBe(0);
      await chat.say("and on");
      const last = textOf(models.sent.at(-1));
      for (const piece of ["job t-1", "job t-2", "And be brief."])
        expect([order, piece, times(last, piece)]).toEqual([order, piece, 1]);
      // on streams of their own the order is that in which the server took them
      for (const piece of ["job t-1", "job t-2", "And be brief."]) inOrder(last, "One.", piece, "and on");
      expect(times(last, "the machine and the workspace")).toBe(1);
      expectPrefixes(models.sent);
      expectAllValid(models.sent);
    }
  });

  test("an injection that is kept for the next turn stays kept while a summary is made, and joins the turn behind it", async ({
    node,
  }) => {
    const gate = commitGate(node.store);
    const models = historyModels([say("One."), say("Two.")]);
    const chat = new Chat(openRoom(gate.store, models));
    gate.hold((barrier) => (barrier.runsChanged ?? []).some(({ status }) => status === "completed"));
    const stream = await chat.open(chat.message("one", run));
    await expect.poll(() => gate.held).toBe(1);
    const kept = stream.send(inject("i-1", "Format on save."));
    gate.release();
    await kept;
    await stream.downlink.ended();
    const summary = await chat.summarize();
    expect(summary.downlink.kinds).toContain("interactionUpdate.summaryCompleted");
    expect(models.turns).toHaveLength(1);
    await chat.say("two");
    const last = textOf(models.sent.at(-1));
    inOrder(last, "What was said so far.", "two");
    expect(times(last, "Format on save.")).toBe(1);
    expectAllValid(models.sent);
  });

  test("what was queued before a message is said with it, first to last, also where it joins a Run", async ({
    node,
  }) => {
    const models = historyModels([hang(["Working"]), say("Seen.")]);
    const chat = new Chat(openRoom(node.store, models));
    const stream = await chat.open(chat.message("Begin", run));
    await sees(stream, "interactionUpdate.textDelta");
    const said = (text: string) => ({ text, messageId: `m-${text.replaceAll(" ", "-")}`, mode: agent.AgentMode.AGENT });
    await stream.send(
      acts({
        case: "userMessageAction",
        value: { userMessage: said("and third"), prependUserMessages: [said("queued first"), said("queued second")] },
      }),
    );
    await stream.downlink.ended();
    const last = textOf(models.sent.at(-1));
    inOrder(last, "Working", "queued first", "queued second", "and third");
    for (const piece of ["queued first", "queued second", "and third"]) expect(times(last, piece)).toBe(1);
    expectPrefixes(models.sent);
    expectAllValid(models.sent);
  });

  test("the same completion and injection again, also through a restarted server: nothing is said twice", async ({
    node,
  }) => {
    const mortal = mortalStore(node.store);
    const models = historyModels([hang(["Working"]), say("Seen."), say("Again.")]);
    const chat = new Chat(openRoom(mortal.store, models));
    const stream = await chat.open(chat.message("Begin", run));
    await sees(stream, "interactionUpdate.textDelta");
    await stream.send(inject("i-1", "Format on save."));
    await stream.send(inject("i-1", "Format on save."));
    await stream.send(acts(done("t-1")));
    await stream.downlink.ended();
    mortal.kill();
    const there = chat.at(openRoom(node.store, models));
    const late = await there.stream().attach();
    expect((await late.send(there.asks(done("t-1")))).kind).toBe("finishedTurn");
    await there.say("And now?");
    const last = textOf(models.sent.at(-1));
    expect(times(last, "job t-1")).toBe(1);
    expect(times(last, "Format on save.")).toBe(1);
    expectPrefixes(models.sent);
  });

  test("a completion in the middle of a tool round waits for its results, joins once, and the round stays whole", async ({
    node,
  }) => {
    const models = historyModels([call({ name: "Read", args: { path: "/ws/demo/a.ts" } }), say("Both.")]);
    const chat = new Chat(openRoom(node.store, models));
    const { onExec } = chat;
    chat.onExec = () => undefined;
    const stream = await chat.open(chat.message("Begin", run));
    await sees(stream, "execServerMessage.readArgs");
    await stream.send(acts(done("t-1")));
    await stream.send(inject("i-1", "Format on save."));
    const exec = stream.downlink.messages.find(({ message }) => message.case === "execServerMessage")?.message;
    if (exec?.case !== "execServerMessage") throw new Error("no exec");
    await stream.send({
      message: {
        case: "execClientMessage",
        value: { id: exec.value.id, execId: exec.value.execId, message: onExec(exec.value)! },
      },
    });
    await stream.downlink.ended();
    const last = textOf(models.sent.at(-1));
    inOrder(last, '"role":"tool"', "job t-1", "Format on save.");
    expect(models.sent).toHaveLength(2);
    expectAllValid(models.sent);
    expectPrefixes(models.sent);
  });

  test("a completion between turns is a turn of its own, without a request context; one on the stream's way out opens the next", async ({
    node,
  }) => {
    const gate = commitGate(node.store);
    const models = historyModels([say("One."), say("Noted."), say("Noted too.")]);
    const chat = new Chat(openRoom(gate.store, models));
    await chat.say("one");
    const own = await chat.finish(chat.asks(done("t-1")));
    expect(own.downlink.text).toBe("Noted.");
    models.answer(say("Two."), say("Noted too."));
    gate.hold((barrier) => (barrier.runsChanged ?? []).some(({ status }) => status === "completed"));
    const stream = await chat.open(chat.message("two"));
    await expect.poll(() => gate.held).toBe(1);
    const late = stream.send(acts(done("t-2")));
    gate.release();
    await late;
    await stream.downlink.ended();
    expect(stream.downlink.text).toBe("Two.Noted too.");
    const last = textOf(models.sent.at(-1));
    inOrder(last, "one", "job t-1", "Noted.", "two", "Two.", "job t-2");
    expect(times(last, "the machine and the workspace")).toBe(1);
    expect(last).not.toContain("Changed since then.");
    expectPrefixes(models.sent);
  });

  test("HI-20 a user message while calls are open: they are closed as interrupted, the conversation goes on", async ({
    node,
  }) => {
    const models = historyModels([
      call({ name: "Read", args: { path: "/ws/demo/a.ts" } }, { name: "Shell", args: { command: "sleep 60" } }),
      say("Then so."),
      say("Next."),
    ]);
    const chat = new Chat(openRoom(node.store, models));
    const stream = await chat.open(chat.message("Begin", run));
    await stream.downlink.until(() => stream.downlink.kinds.includes("interactionUpdate.toolCallCompleted"));
    await stream.send(saysNow("Rather this", "m-rather"));
    await stream.downlink.ended();
    await chat.say("and on");
    const last = textOf(models.sent.at(-1));
    inOrder(last, "content of /ws/demo/a.ts", "the user sent a new message while it ran", "Rather this");
    expectAllValid(models.sent);
    expectPrefixes(models.sent);
  });
});
