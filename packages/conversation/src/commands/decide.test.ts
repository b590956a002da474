import type { Action, Carrier, RunId, RunRow } from "@chartroom/domain";
import { describe, expect, it } from "vitest";
import { type CommandView, decide, type Decision } from "./decide.ts";

/* The function alone, value by value; what comes of its decisions on the real actor is in test/lifecycle/table.test.ts. */

type Phase = CommandView["phase"];

const run = (runId: string, more: Partial<RunRow> = {}): RunRow =>
  ({ runId: runId as RunId, kind: "turn", status: "running", wireRunIds: [], delivered: false, ...more }) as RunRow;
const living = run("r1", { messageId: "m-1" as never, wireRunIds: ["w-1" as never] });
const nameless = run("r1");

function view(phase: Phase, more: Partial<CommandView> = {}): CommandView {
  return {
    phase,
    current: phase === "idle" ? undefined : living,
    ...{ waiting: undefined, known: undefined, newestEnded: undefined, meant: undefined },
    ...{ overdue: false, unfinished: false, namesKnown: false, namesCurrent: false, duplicate: false },
    ...more,
  };
}

const message = (messageId: string) => ({ messageId, text: "x" }) as never;
const say = (messageId: string): Action => ({
  kind: "userMessage",
  message: message(messageId),
  prepend: [],
  resolutions: [],
});
const injection = (expectedRunId: string, type: "user" | "system" = "user"): Action => ({
  kind: "inject",
  injection: { injectionId: "i" as never, expectedRunId, payload: { type } as never },
});
const cancel: Action = { kind: "cancel", reason: "user", resolutions: [] };
const resume: Action = { kind: "resume" };
const summarize: Action = { kind: "summarize" };
const completion: Action = { kind: "backgroundCompletion", completions: [] };
const asyncAnswer: Action = { kind: "asyncAnswer", callId: "c" as never, text: "x" };
const idless: readonly Action[] = [asyncAnswer, summarize, completion];

/** A decision in a word, with what is decided besides. */
function word(decision: Decision): string {
  const { kind } = decision;
  if (kind === "wait") return decision.supersede ? "wait, supersede" : "wait";
  if (kind === "inbox") return `${decision.row} ${decision.urgency}${decision.nextTurn ? ", next turn" : ""}`;
  if (kind === "refuse") return decision.code;
  if (kind === "rejectInjection") return `reject: ${decision.reason}`;
  return "runId" in decision ? `${kind} ${decision.runId}` : kind;
}
const on = (carrier: Carrier, action: Action, seen: CommandView, wireRunId?: string): string =>
  word(decide(action, carrier, wireRunId, seen));
const overPhases = (carrier: Carrier, action: Action, more: Partial<CommandView> = {}): readonly string[] =>
  (["idle", "active", "ending"] as const).map((phase) => on(carrier, action, view(phase, more)));

describe("a command that is new", () => {
  const NO_RUN = "reject: no Run is active";
  const OTHER_RUN = "reject: expected_run_id is not the active Run";
  it.each<readonly [string, Action, readonly string[], readonly string[]]>([
    [
      "userMessage",
      say("m-2"),
      ["start", "wait, supersede", "wait"],
      ["start", "userMessage now", "userMessage now, next turn"],
    ],
    [
      "startPlan",
      { kind: "startPlan", message: message("m-2"), spec: false },
      ["start", "wait, supersede", "wait"],
      ["start", "userMessage now", "userMessage now, next turn"],
    ],
    [
      "executePlan",
      { kind: "executePlan", message: message("m-2") },
      ["start", "wait, supersede", "wait"],
      ["start", "userMessage now", "userMessage now, next turn"],
    ],
    [
      "asyncAnswer",
      asyncAnswer,
      ["start", "wait, supersede", "wait"],
      ["start", "asyncAnswer now", "asyncAnswer now, next turn"],
    ],
    ["summarize", summarize, ["start", "wait", "wait"], ["start", "acknowledge", "acknowledge"]],
    [
      "summarize as a message",
      { kind: "summarize", messageId: "m-2" as never },
      ["start", "wait", "wait"],
      ["start", "acknowledge", "acknowledge"],
    ],
    [
      "backgroundCompletion",
      completion,
      ["start", "completion border", "completion border, next turn"],
      ["start", "completion border", "completion border, next turn"],
    ],
    ["cancel", cancel, ["finishedTurn", "cancel r1", "finishedTurn"], ["acknowledge", "cancel r1", "acknowledge"]],
    ["resume", resume, ["finishedTurn", "claim r1", "claim r1"], ["acknowledge", "acknowledge", "acknowledge"]],
    [
      "inject, user",
      injection("w-1"),
      ["finishedTurn", "finishedTurn", "finishedTurn"],
      [NO_RUN, "inject now", "inject now, next turn"],
    ],
    [
      "inject, system",
      injection("w-1", "system"),
      ["finishedTurn", "finishedTurn", "finishedTurn"],
      [NO_RUN, "inject settle", "inject settle, next turn"],
    ],
    [
      "inject, another Run",
      injection("w-2"),
      ["finishedTurn", "finishedTurn", "finishedTurn"],
      [NO_RUN, OTHER_RUN, OTHER_RUN],
    ],
    [
      "inject, no Run named",
      injection(""),
      ["finishedTurn", "finishedTurn", "finishedTurn"],
      [NO_RUN, OTHER_RUN, OTHER_RUN],
    ],
    [
      "cancelSubagent",
      { kind: "cancelSubagent", subagentId: "s" },
      ["finishedTurn", "finishedTurn", "finishedTurn"],
      ["acknowledge", "acknowledge", "acknowledge"],
    ],
    [
      "unsupported",
      { kind: "unsupported", name: "x" },
      ["finishedTurn", "finishedTurn", "finishedTurn"],
      ["acknowledge", "acknowledge", "acknowledge"],
    ],
  ])("%s, in idle, active and ending", (_, action, onNewStream, onLiveStream) => {
    expect(overPhases("A", action)).toEqual(onNewStream);
    expect(overPhases("B", action)).toEqual(onLiveStream);
  });

  it("an injection that names no Run is for one that has no wire run id", () => {
    expect(on("B", injection(""), view("active", { current: nameless }))).toBe("inject now");
    expect(on("B", injection("w-1"), view("active", { current: nameless }))).toBe(
      "reject: expected_run_id is not the active Run",
    );
  });

  it("an injection into a conversation at rest is rejected, whatever is still in memory", () => {
    expect(on("B", injection("w-1"), view("idle", { current: living }))).toBe("reject: no Run is active");
  });

  it("an injection between two Runs, where none is the current one, is rejected", () => {
    expect(on("B", injection(""), view("ending", { current: undefined }))).toBe("reject: no Run is active");
  });
});

describe("a command that was given before", () => {
  const duplicate = { duplicate: true };
  it("by its key: a completion is an empty finished turn on a stream of its own, all else is acknowledged", () => {
    expect(overPhases("A", completion, duplicate)).toEqual(["finishedTurn", "finishedTurn", "finishedTurn"]);
    for (const action of [completion, say("m-2"), asyncAnswer, injection("w-1")])
      expect(overPhases("B", action, duplicate)).toEqual(["acknowledge", "acknowledge", "acknowledge"]);
  });

  it("by the message of the Run that lives, or that waits", () => {
    const both = { waiting: run("r2", { messageId: "m-2" as never }) };
    expect(on("A", say("m-1"), view("active", both))).toBe("claim r1");
    expect(on("A", say("m-2"), view("ending", both))).toBe("claim r2");
    expect(on("A", { kind: "summarize", messageId: "m-2" as never }, view("active", both))).toBe("claim r2");
    for (const id of ["m-1", "m-2"])
      for (const phase of ["active", "ending"] as const)
        expect(on("B", say(id), view(phase, both))).toBe("acknowledge");
    // what is over repeats nothing that lives
    expect(on("A", say("m-1"), view("idle", { current: living }))).toBe("start");
    expect(on("B", say("m-1"), view("idle", { current: living }))).toBe("start");
  });

  it("a message without an id repeats nothing, and is refused where it could", () => {
    const none = view("active", { current: nameless });
    expect(on("A", say(""), none)).toBe("IDENTITY_CONFLICT");
    expect(on("A", say(""), none, "w-9")).toBe("wait, supersede");
    expect(on("A", say(""), view("active", { current: run("r1", { wireRunIds: ["w-1" as never] }) }))).toBe(
      "wait, supersede",
    );
    expect(on("A", say(""), view("active"))).toBe("wait, supersede");
    expect(on("A", say("m-2"), none)).toBe("wait, supersede");
    const empty = run("r1", { messageId: "" as never });
    expect(on("A", say(""), view("active", { current: empty }))).toBe("wait, supersede");
    expect(on("B", say(""), view("active", { current: empty }))).toBe("userMessage now");
    expect(on("B", asyncAnswer, view("active", { current: nameless }))).toBe("asyncAnswer now");
  });

  it("an action without a message id by the request that opened the Run", () => {
    for (const action of idless) {
      expect(on("A", action, view("active", { current: nameless, namesCurrent: true }))).toBe("claim r1");
      expect(on("A", action, view("active", { namesCurrent: true }))).not.toBe("claim r1");
      expect(on("A", action, view("active", { current: nameless }))).not.toBe("claim r1");
      expect(on("A", action, view("idle", { current: undefined, namesCurrent: true }))).toBe("start");
    }
    expect(on("A", say("m-2"), view("active", { current: nameless, namesCurrent: true }))).toBe("wait, supersede");
    expect(on("A", cancel, view("active", { current: nameless, namesCurrent: true }))).toBe("cancel r1");
  });

  it("in idle: answered or gone on with while its end is unseen, or its request is named; else anew", () => {
    const known = (status: RunRow["status"], delivered: boolean, namesKnown = false): string =>
      on("A", say("m-1"), view("idle", { known: run("r0", { status, delivered }), namesKnown }));
    expect([known("completed", false), known("failed", false), known("cancelled", false)]).toEqual([
      "answer r0",
      "continue r0",
      "continue r0",
    ]);
    expect([known("completed", true), known("failed", true)]).toEqual(["start", "start"]);
    expect([known("completed", true, true), known("failed", true, true)]).toEqual(["answer r0", "continue r0"]);
  });
});

describe("resume and cancel", () => {
  it("a resume takes the living Run over, unless that is stuck", () => {
    expect(overPhases("A", resume, { overdue: true })).toEqual(["finishedTurn", "wait, supersede", "claim r1"]);
    expect(on("A", resume, view("ending", { current: undefined, unfinished: true }))).toBe("start");
  });

  it("in idle a resume goes on with what is unfinished, or tells how the last Run ended", () => {
    const ended = { newestEnded: run("r0") };
    expect(on("A", resume, view("idle", { ...ended, unfinished: true }))).toBe("start");
    expect(on("A", resume, view("idle", ended))).toBe("answer r0");
    // the chart is at rest, whatever is still in memory
    expect(on("A", resume, view("idle", { ...ended, current: living }))).toBe("answer r0");
  });

  it("a cancel is for the Run of its stream", () => {
    const waiting = run("r2");
    const meant = (id: string | undefined, phase: Phase = "active"): readonly string[] =>
      (["A", "B"] as const).map((carrier) =>
        on(carrier, cancel, view(phase, { waiting, meant: id as RunId | undefined })),
      );
    expect(meant("r1")).toEqual(["cancel r1", "cancel r1"]);
    expect(meant("r2")).toEqual(["cancel r2", "cancel r2"]);
    expect(meant("r2", "ending")).toEqual(["cancel r2", "cancel r2"]);
    expect(meant("r0")).toEqual(["finishedTurn", "acknowledge"]);
    expect(meant(undefined)).toEqual(["cancel r1", "cancel r1"]);
    expect(meant("r1", "ending")).toEqual(["finishedTurn", "acknowledge"]);
    expect(on("B", cancel, view("active", { current: undefined }))).toBe("acknowledge");
  });
});
