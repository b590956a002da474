import { expect } from "vitest";
import type { Receipt, RunRow } from "@chartroom/domain";
import type { RoomStream } from "../support/room.ts";
import type { Command, Outcome, State } from "./table.ts";
import type { Given, Stage } from "./table-stage.ts";

/** What was so before the command, at once after it, and when all had come to rest. */
export interface Trial {
  readonly command: Command;
  readonly stage: Stage;
  readonly state: State;
  readonly given: Given;
  readonly receipt: Receipt;
  readonly marker: string;
  /** How often it was given. */
  readonly times: number;
  readonly runsBefore: readonly RunRow[];
  readonly droppedBefore: number;
  readonly callsBefore: number;
  /** At once after the command: the model pass was stopped, the open call was aborted on the wire. */
  readonly atOnce: { readonly modelStopped: boolean; readonly callAborted: boolean };
  readonly runs: readonly RunRow[];
}

const kindsOf = (stream: RoomStream): readonly string[] => stream.downlink.kinds;
const count = (stream: RoomStream, kind: string): number => kindsOf(stream).filter((one) => one === kind).length;
const turnsEnded = (stream: RoomStream): number => count(stream, "interactionUpdate.turnEnded");
const terminals = ({ downlink }: RoomStream): readonly string[] =>
  downlink.terminals.map((terminal) => (terminal.kind === "completed" ? "completed" : terminal.failure.code));
const statuses = (runs: readonly RunRow[]): readonly string[] => runs.map(({ status }) => status);

/** States of an injection, as the client was told on any of its streams, without repeats of a replay. */
export function injectionStates(stage: Stage): readonly string[] {
  return stage.streams.flatMap(({ downlink }) =>
    downlink.messages.flatMap(({ message }) =>
      message.case === "interactionUpdate" && message.value.message.case === "contextInjectionState"
        ? [message.value.message.value.state?.state.case ?? ""]
        : [],
    ),
  );
}

/** The first Run lived when the command came, or was over. */
function lived({ runsBefore }: Trial, expected: boolean): void {
  expect(runsBefore[0]?.endedAt === undefined, "the first Run lived when the command came").toBe(expected);
}

/** The first Run as it would have been without the command, and no Run besides. What the command brought is nowhere. */
function untouched(trial: Trial): void {
  if (trial.marker !== "") expect(trial.stage.runsWith(trial.marker)).toEqual([]);
  expect(statuses(trial.runs)).toEqual(trial.state === "idle" ? statuses(trial.runsBefore) : ["completed"]);
  expect(trial.runs.map(({ runId }) => runId)).toEqual(trial.runsBefore.map(({ runId }) => runId));
  if (trial.state !== "idle") {
    expect(terminals(trial.stage.stream)).toEqual(["completed"]);
    expect(turnsEnded(trial.stage.stream)).toBe(1);
    expect(trial.atOnce).toMatchObject({ modelStopped: false, callAborted: false });
  } else expect(trial.stage.models.calls).toHaveLength(trial.callsBefore);
}

function logged(trial: Trial): void {
  expect(trial.stage.dropped.length, "a line in the log").toBeGreaterThan(trial.droppedBefore);
}

function unlogged(trial: Trial): void {
  expect(trial.stage.dropped.length, "no line in the log").toBe(trial.droppedBefore);
}

/** One Run came to be besides the first, with the content of the command, and it ended well. */
function another(trial: Trial, first: string, on: RoomStream, kind: RunRow["kind"] = "turn"): void {
  const { runs, runsBefore, stage, marker } = trial;
  const [, second] = runs;
  expect(second?.kind).toBe(kind);
  expect(runsBefore).toHaveLength(1);
  expect(statuses(runs)).toEqual([first, "completed"]);
  if (marker !== "") expect(stage.runsWith(marker)).toEqual([second?.runId]);
  expect(terminals(on).slice(-1)).toEqual(["completed"]);
  expect(kindsOf(on).at(-1)).toBe("interactionUpdate.turnEnded");
}

/** The content of the command joined the first Run, which went on to its end with it. */
function joined(trial: Trial): void {
  const { runs, stage, marker } = trial;
  expect(statuses(runs)).toEqual(["completed"]);
  expect(stage.runsWith(marker)).toEqual([runs[0]?.runId]);
  expect(JSON.stringify(stage.models.calls.at(-1)?.request.messages)).toContain(marker);
  expect(terminals(stage.stream)).toEqual(["completed"]);
  expect(turnsEnded(stage.stream)).toBe(1);
}

/** The first Run ended well, and what waited opened another one on the same stream. */
function openedNext(trial: Trial): void {
  const { runs, stage, marker } = trial;
  expect(statuses(runs)).toEqual(["completed", "completed"]);
  // its client has seen the end of the one, for it sees the other
  expect(runs[0]?.delivered).toBe(true);
  expect(stage.runsWith(marker)).toEqual([runs[1]?.runId]);
  expect(terminals(stage.stream)).toEqual(["completed"]);
  expect(turnsEnded(stage.stream)).toBe(2);
}

const finishedTurn = ({ receipt }: Trial): void => expect(receipt.kind).toBe("finishedTurn");
const taken = ({ receipt }: Trial): void => expect(receipt.kind).toBe("acknowledged");
const runOf = ({ receipt }: Trial): string => (receipt.kind === "run" ? receipt.runId : receipt.kind);

/** What must have become of a command, for each outcome of the table. */
export const CHECKS: Readonly<
  Record<Exclude<Outcome, "gateway" | "impossible">, (trial: Trial) => void | Promise<void>>
> = {
  starts(trial) {
    another(trial, trial.runsBefore[0]?.status ?? "", trial.given.stream);
    lived(trial, false);
    // a resume has nothing to say, all else says it in the new Run, behind what was said before
    if (!trial.command.startsWith("resume")) expect(saidBySecond(trial)).not.toEqual([]);
    if (trial.runs[1]?.messageId !== undefined) expect(saidBySecond(trial)).toContain("user");
    if (trial.runs[0]?.status === "completed") expect(lastRequest(trial)).toContain("first answer");
    if (trial.receipt.kind !== "acknowledged") expect(runOf(trial)).toBe(trial.runs[1]?.runId);
  },
  supersedes(trial) {
    another(trial, "superseded", trial.given.stream);
    lived(trial, true);
    expect(runOf(trial)).toBe(trial.runs[1]?.runId);
    expect(terminals(trial.stage.stream)).toEqual(["SUPERSEDED"]);
    // who took over asks with the state that it had: the end gives none; calls that went out have had theirs
    const updates = kindsOf(trial.stage.stream).filter((kind) => kind === "conversationCheckpointUpdate");
    expect(updates).toHaveLength(trial.state === "waitingTools" ? 1 : 0);
    const [first, second] = trial.runs;
    // what was stopped while it was prepared has not begun to be history
    if (trial.state !== "preparing") expect(trial.stage.runsWith("alpha")).toContain(first?.runId);
    expect(second?.acceptedAt).toBeLessThanOrEqual(first?.endedAt ?? 0);
  },
  waitsThenStarts(trial) {
    another(trial, "completed", trial.given.stream);
    lived(trial, true);
    expect(runOf(trial)).toBe(trial.runs[1]?.runId);
    expect(terminals(trial.stage.stream)).toEqual(["completed"]);
    expect(trial.atOnce).toMatchObject({ modelStopped: false, callAborted: false });
  },
  claims(trial) {
    const { runs, runsBefore, stage, given } = trial;
    lived(trial, true);
    expect(statuses(runs)).toEqual(["completed"]);
    expect(runOf(trial)).toBe(runsBefore[0]?.runId ?? runs[0]?.runId);
    expect(terminals(stage.stream)).toEqual(["REPLACED"]);
    expect(terminals(given.stream)).toEqual(["completed"]);
    const said = stage.messages.flatMap(({ content }) => (content.kind === "assistant" ? content.record.blocks : []));
    const text = said.map((block) => block.text).join("");
    // a client that resumes brings a checkpoint and gets what follows it; one that asks again gets the whole Run
    if (trial.command.startsWith("resume")) expect(text.endsWith(given.stream.downlink.text)).toBe(true);
    else expect(given.stream.downlink.text).toBe(text);
    expect(stage.runsWith("alpha")).toHaveLength(1);
  },
  answeredFromStore(trial) {
    const { runs, runsBefore, stage, given, callsBefore } = trial;
    lived(trial, false);
    expect(runs).toHaveLength(runsBefore.length);
    expect(stage.models.calls).toHaveLength(callsBefore);
    expect(runOf(trial)).toBe(runs[0]?.runId);
    expect(given.stream.downlink.text).toBe("half first answer");
    expect(kindsOf(given.stream).slice(-2)).toEqual(["conversationCheckpointUpdate", "interactionUpdate.turnEnded"]);
    expect(terminals(given.stream)).toEqual(["completed"]);
  },
  continues(trial) {
    another(trial, "failed", trial.given.stream);
    expect(saidBySecond(trial)).not.toContain("user");
    const last = lastRequest(trial);
    expect(last.split("alpha")).toHaveLength(2);
    expect(last).toContain("half ");
  },
  runsAnew(trial) {
    another(trial, "completed", trial.given.stream);
    expect(trial.given.stream.downlink.text).toBe("Done.");
    expect(lastRequest(trial)).not.toContain("first answer");
  },
  softInterrupt(trial) {
    joined(trial);
    taken(trial);
    if (trial.state === "modeling") expect(trial.atOnce.modelStopped).toBe(true);
    if (trial.state === "waitingTools") expect(trial.atOnce.callAborted).toBe(true);
    told(trial);
  },
  settlesFirst(trial) {
    joined(trial);
    taken(trial);
    if (trial.state === "modeling") expect(trial.atOnce.modelStopped).toBe(true);
    if (trial.state === "waitingTools") {
      expect(trial.atOnce.callAborted).toBe(false);
      expect(trial.stage.runsWith("contents")).toHaveLength(1);
    }
    told(trial);
  },
  nextBorder(trial) {
    joined(trial);
    taken(trial);
    expect(trial.atOnce).toMatchObject({ modelStopped: false, callAborted: false });
  },
  nextBorderAndFinishedTurn(trial) {
    joined(trial);
    finishedTurn(trial);
    expect(trial.atOnce).toMatchObject({ modelStopped: false, callAborted: false });
  },
  opensNextRun(trial) {
    openedNext(trial);
    taken(trial);
  },
  opensNextRunAndFinishedTurn(trial) {
    openedNext(trial);
    finishedTurn(trial);
  },
  async joinsNextOpening(trial) {
    untouched(trial);
    taken(trial);
    expect(injectionStates(trial.stage)).toEqual(["queuedForNextTurn"]);
    // the next message of the user takes it along
    const { stage, marker } = trial;
    const next = await stage.open().attach();
    await next.send(stage.person.runRequest("gamma", { messageId: "m-gamma" }));
    await stage.finish();
    const [, second] = await stage.runs();
    expect(stage.runsWith(marker)).toEqual([second?.runId]);
    expect(JSON.stringify(stage.models.calls.at(-1)?.request.messages)).toContain(marker);
    expect(injectionStates(stage)).toEqual(["queuedForNextTurn", "delivered"]);
  },
  rejected(trial) {
    expect(trial.marker, "only what brings something can be rejected").not.toBe("");
    untouched(trial);
    taken(trial);
    unlogged(trial);
    if (trial.state === "idle") return;
    expect(injectionStates(trial.stage)).toEqual(["rejected"]);
  },
  cancels(trial) {
    const { runs, stage, given, receipt } = trial;
    expect(statuses(runs)).toEqual(["cancelled"]);
    expect(terminals(stage.stream)).toEqual(["CANCELLED"]);
    expect(turnsEnded(stage.stream)).toBe(0);
    expect(receipt.kind).toBe(given.stream === stage.stream ? "acknowledged" : "finishedTurn");
    if (trial.state === "modeling") expect(trial.atOnce.modelStopped).toBe(true);
    if (trial.state === "waitingTools") expect(trial.atOnce.callAborted).toBe(true);
    if (trial.state !== "preparing") expect(stage.runsWith("alpha")).toHaveLength(1);
  },
  acknowledged(trial) {
    untouchedBut(trial);
    taken(trial);
    // of a subagent that is not there the log says so
    if (trial.command !== "cancelSubagent") unlogged(trial);
  },
  finishedTurn(trial) {
    untouchedBut(trial);
    finishedTurn(trial);
    unlogged(trial);
  },
  finishedTurnLogged(trial) {
    untouched(trial);
    finishedTurn(trial);
    logged(trial);
  },
  logged(trial) {
    untouched(trial);
    taken(trial);
    logged(trial);
  },
  applied(trial) {
    lived(trial, true);
    expect(["checkpointing", "finalizing"], "the Run takes results").not.toContain(trial.state);
    // an active Run whose call is not open
    if (trial.state !== "waitingTools") return CHECKS.dropped(trial);
    untouched(trial);
    taken(trial);
    expect(trial.stage.runsWith("beta")).toHaveLength(1);
    expect(trial.stage.runsWith("contents")).toHaveLength(0);
    expect(trial.stage.dropped).toHaveLength(trial.droppedBefore);
  },
  dropped(trial) {
    untouched(trial);
    expect(trial.receipt.kind).toBe("dropped");
    logged(trial);
    expect(trial.stage.runsWith("beta")).toHaveLength(0);
  },
  summarizes(trial) {
    lived(trial, false);
    summarized(trial, trial.runsBefore[0]?.status ?? "");
  },
  waitsThenSummarizes(trial) {
    lived(trial, true);
    summarized(trial, "completed");
    expect(terminals(trial.stage.stream)).toEqual(["completed"]);
    expect(trial.atOnce).toMatchObject({ modelStopped: false, callAborted: false });
  },
  async unspecified(trial) {
    const { stage } = trial;
    for (const stream of stage.streams) expect(terminals(stream).length).toBeLessThanOrEqual(1);
    expect(trial.runs.every(({ endedAt }) => endedAt !== undefined)).toBe(true);
    const next = await stage.open().attach();
    await next.send(stage.person.runRequest("gamma", { messageId: "m-gamma" }));
    await stage.finish();
    expect(terminals(next)).toEqual(["completed"]);
  },
};

/** An injection is told as queued, then once as delivered; a message is told as appended at most once. */
function told({ stage, marker }: Trial): void {
  const states = injectionStates(stage);
  if (states.length > 0) expect(states).toEqual(["queued", "delivered"]);
  const appended = stage.stream.downlink.messages.filter(
    ({ message }) =>
      message.case === "interactionUpdate" &&
      message.value.message.case === "userMessageAppended" &&
      message.value.message.value.userMessage?.text.includes(marker) === true,
  );
  expect(appended.length).toBeLessThanOrEqual(1);
}

/** Where what the second Run brought in comes from, message by message. */
function saidBySecond({ stage, runs }: Trial): readonly string[] {
  return stage.messages.flatMap(({ role, runId, origin }) =>
    role === "user" && runId === runs[1]?.runId ? [origin] : [],
  );
}

function lastRequest({ stage }: Trial): string {
  return JSON.stringify(stage.models.calls.at(-1)?.request.messages);
}

/** Untouched, but for a completion that was given before and is now the Run's, or opened one. */
function untouchedBut(trial: Trial): void {
  if (trial.marker === "") return untouched(trial);
  expect(trial.times).toBeGreaterThan(1);
  expect(trial.stage.runsWith(trial.marker)).toHaveLength(1);
  expect(trial.runs.every(({ status }) => status === "completed")).toBe(true);
}

function summarized(trial: Trial, first: string): void {
  another(trial, first, trial.given.stream, "summarize");
  const kinds = kindsOf(trial.given.stream).filter(
    (kind) => kind !== "kvServerMessage.setBlobArgs" && kind !== "interactionUpdate.heartbeat",
  );
  // a client that had asked before the turn's checkpoint came gets that checkpoint meanwhile
  const told = kinds.filter((kind) => kind !== "conversationCheckpointUpdate");
  expect(told.slice(0, -1)).toEqual([
    "interactionUpdate.summaryStarted",
    "interactionUpdate.summary",
    "interactionUpdate.summaryCompleted",
  ]);
  expect(kinds.indexOf("interactionUpdate.summaryCompleted")).toBeLessThan(
    kinds.lastIndexOf("conversationCheckpointUpdate"),
  );
}
