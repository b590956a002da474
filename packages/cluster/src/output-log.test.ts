import type {
  CheckpointId,
  ConversationId,
  OutputEntry,
  OutputReader,
  RunId,
  StreamId,
  Terminal,
} from "@chartroom/domain";
import { describe, expect, it } from "vitest";
import { LocalOutputLog } from "./output-log.ts";

const conversation = "c" as ConversationId;
const runA = "a" as RunId;
const runB = "b" as RunId;
const done: Terminal = { kind: "completed" };

class Reader implements OutputReader {
  readonly streamId: StreamId;
  readonly seen: string[] = [];
  room = Number.POSITIVE_INFINITY;
  constructor(streamId = "s1") {
    this.streamId = streamId as StreamId;
  }
  entry(entry: OutputEntry): boolean {
    this.seen.push(Buffer.from(entry.bytes).toString());
    return --this.room > 0;
  }
  terminal(terminal: Terminal): void {
    this.seen.push(`!${terminal.kind}`);
  }
  lagged(): void {
    this.seen.push("!lagged");
  }
}

function fixture(limits = { entries: 8, bytes: 1000 }) {
  const log = new LocalOutputLog(limits);
  const write = (
    runId: RunId,
    text: string,
    more: { streamId?: StreamId; checkpoint?: CheckpointId; fence?: number } = {},
  ) =>
    log.append({
      conversationId: conversation,
      runId,
      fence: more.fence ?? 1,
      kind: "update",
      bytes: Buffer.from(text),
      ...more,
    });
  log.open(conversation, runA, 1);
  return { log, write };
}

describe("output log", () => {
  it("gives a reader all entries of the Run, then its terminal once", () => {
    const { log, write } = fixture();
    write(runA, "1");
    const reader = new Reader();
    log.subscribe(conversation, runA, { kind: "runStart" }, reader);
    write(runA, "2");
    expect(log.close(conversation, runA, done, 0)).toBe(true);
    expect(log.close(conversation, runA, done, 0)).toBe(false);
    expect(write(runA, "late")).toBeUndefined();
    expect(reader.seen).toEqual(["1", "2", "!completed"]);
  });

  it("drops what is not of the current Run and fence", () => {
    const { write } = fixture();
    expect(write(runB, "x")).toBeUndefined();
    expect(write(runA, "x", { fence: 2 })).toBeUndefined();
    expect(write(runA, "x")).toBe(0);
  });

  it("never replays the messages of a stream, and gives live ones to that stream only", () => {
    const { log, write } = fixture();
    const streamId = "s1" as StreamId;
    write(runA, "exec-old", { streamId });
    const [one, two] = [new Reader("s1"), new Reader("s2")];
    log.subscribe(conversation, runA, { kind: "runStart" }, one);
    log.subscribe(conversation, runA, { kind: "runStart" }, two);
    write(runA, "exec-new", { streamId });
    expect(one.seen).toEqual(["exec-new"]);
    expect(two.seen).toEqual([]);
  });

  it("replays behind a checkpoint, and says `gone` when the ring has passed the place", () => {
    const { log, write } = fixture({ entries: 2, bytes: 1000 });
    write(runA, "1");
    write(runA, "cp", { checkpoint: "k" as CheckpointId });
    write(runA, "2");
    const reader = new Reader();
    log.subscribe(conversation, runA, { kind: "checkpoint", checkpoint: "k" as CheckpointId }, reader);
    expect(reader.seen).toEqual(["2"]);
    expect(log.subscribe(conversation, runA, { kind: "runStart" }, new Reader())).toBe("gone");
    expect(log.subscribe(conversation, runB, { kind: "runStart" }, new Reader())).toBe("unknown");
  });

  it("holds back for a full reader, and takes its transport when the ring has passed it", () => {
    const { log, write } = fixture({ entries: 2, bytes: 1000 });
    const reader = new Reader();
    reader.room = 1;
    const subscription = log.subscribe(conversation, runA, { kind: "live" }, reader);
    for (const text of ["1", "2", "3"]) write(runA, text);
    expect(reader.seen).toEqual(["1"]);
    reader.room = 1;
    if (typeof subscription === "object") subscription.resume();
    expect(reader.seen).toEqual(["1", "2"]);
    for (const text of ["4", "5"]) write(runA, text);
    expect(reader.seen).toEqual(["1", "2", "!lagged"]);
  });

  it("lets a follow-up go on on the same stream, even for a reader that lags behind", () => {
    const { log, write } = fixture();
    const reader = new Reader();
    reader.room = 1;
    const subscription = log.subscribe(conversation, runA, { kind: "runStart" }, reader);
    write(runA, "1");
    write(runA, "2");
    log.open(conversation, runB, 1);
    log.close(conversation, runA, done, 0, runB);
    write(runB, "3");
    log.close(conversation, runB, done, 0);
    reader.room = Number.POSITIVE_INFINITY;
    if (typeof subscription === "object") subscription.resume();
    expect(reader.seen).toEqual(["1", "2", "3", "!completed"]);
  });

  it("forgets ended Runs after the retention", () => {
    const { log, write } = fixture();
    write(runA, "1");
    log.close(conversation, runA, done, 1000);
    log.prune(1999, 1000);
    expect(log.size).toBe(1);
    log.prune(2000, 1000);
    expect(log.size).toBe(0);
  });

  it("a Run that is opened again goes on: what it gave stays, and after its end nothing is added", () => {
    const { log, write } = fixture();
    write(runA, "1");
    log.open(conversation, runA, 2);
    expect(write(runA, "of the old owner")).toBeUndefined();
    write(runA, "2", { fence: 2 });
    const reader = new Reader();
    log.subscribe(conversation, runA, { kind: "runStart" }, reader);
    log.close(conversation, runA, done, 0);
    log.open(conversation, runA, 2);
    expect(write(runA, "late", { fence: 2 })).toBeUndefined();
    expect(reader.seen).toEqual(["1", "2", "!completed"]);
  });

  it("says so when there is no such conversation, Run or checkpoint", () => {
    const { log, write } = fixture();
    const elsewhere = "other" as ConversationId;
    const entry = {
      conversationId: elsewhere,
      runId: runA,
      fence: 1,
      kind: "update",
      bytes: Buffer.from("1"),
    } as const;
    expect(log.append(entry)).toBeUndefined();
    expect(log.close(elsewhere, runA, done, 0)).toBe(false);
    expect(log.close(conversation, runB, done, 0)).toBe(false);
    write(runA, "1", { checkpoint: "cp_1" as CheckpointId });
    const from = (checkpoint: string) => ({ kind: "checkpoint", checkpoint: checkpoint as CheckpointId }) as const;
    expect(log.subscribe(conversation, runA, from("cp_2"), new Reader())).toBe("gone");
    expect(log.subscribe(conversation, runA, from("cp_1"), new Reader())).toBeTypeOf("object");
    expect(log.subscribe(conversation, runB, { kind: "runStart" }, new Reader())).toBe("unknown");
    expect(log.subscribe(elsewhere, runA, { kind: "runStart" }, new Reader())).toBe("unknown");
  });

  it("keeps what lives, and what somebody still reads, however old it is", () => {
    const { log, write } = fixture();
    write(runA, "1");
    log.prune(1_000_000, 1_000);
    const slow = new Reader();
    slow.room = 1;
    const reading = log.subscribe(conversation, runA, { kind: "runStart" }, slow);
    write(runA, "2");
    log.close(conversation, runA, done, 0);
    log.prune(1_000_000, 1_000);
    expect([slow.seen, log.size]).toEqual([["1"], 1]);
    if (typeof reading === "object") reading.close();
    log.prune(1_000_000, 1_000);
    expect(log.size).toBe(0);
  });

  it("forgets the entries of a Run with the Run", () => {
    const { log, write } = fixture();
    write(runA, "1");
    log.close(conversation, runA, done, 0);
    log.open(conversation, runB, 1);
    write(runB, "2");
    log.prune(1_000, 1_000);
    expect(log.subscribe(conversation, runB, { kind: "offset", offset: 0 }, new Reader())).toBe("gone");
    const reader = new Reader();
    log.subscribe(conversation, runB, { kind: "offset", offset: 1 }, reader);
    expect(reader.seen).toEqual(["2"]);
  });

  it("lets go of a conversation and its readers at once, and of one that it does not have", () => {
    const { log, write } = fixture();
    const reader = new Reader();
    reader.room = 1;
    const reading = log.subscribe(conversation, runA, { kind: "runStart" }, reader);
    write(runA, "1");
    write(runA, "2");
    log.drop(conversation);
    log.drop(conversation);
    if (typeof reading === "object") reading.resume();
    expect([log.size, write(runA, "3"), reader.seen]).toEqual([0, undefined, ["1"]]);
  });
});
