import type {
  CheckpointId,
  ConversationId,
  OutputAppend,
  OutputEntry,
  OutputLog,
  OutputReader,
  OutputSubscription,
  ReplayFrom,
  RunId,
  Terminal,
} from "@chartroom/domain";
import { Ring, type RingLimits } from "./ring.ts";

interface LoggedRun {
  readonly runId: RunId;
  readonly start: number;
  /** Offset behind its last entry, once it has ended. */
  end: number | undefined;
  terminal: Terminal | undefined;
  endedAt: number;
  /** The follow-up that goes on in its place on the same stream. */
  continuedBy: RunId | undefined;
}

class Reading implements OutputSubscription {
  readonly reader: OutputReader;
  readonly channel: Channel;
  /** Stream entries before this offset were for an earlier transport. */
  readonly liveFrom: number;
  runId: RunId;
  cursor: number;
  open = true;
  paused = false;
  #pumping = false;

  constructor(channel: Channel, reader: OutputReader, runId: RunId, cursor: number) {
    this.channel = channel;
    this.reader = reader;
    this.runId = runId;
    this.cursor = cursor;
    this.liveFrom = channel.ring.next;
  }

  resume(): void {
    this.paused = false;
    this.pump();
  }

  close(): void {
    this.open = false;
    this.channel.readings.delete(this);
  }

  pump(): void {
    // a reader may append or resume from within its own callback
    if (this.#pumping) return;
    this.#pumping = true;
    const { ring } = this.channel;
    while (this.open && !this.paused) {
      if (this.cursor < ring.first) {
        this.close();
        this.reader.lagged();
        break;
      }
      const run = this.channel.runs.get(this.runId);
      if (run?.terminal && this.cursor >= (run.end ?? 0)) {
        if (run.continuedBy && this.channel.runs.has(run.continuedBy)) {
          this.runId = run.continuedBy;
          continue;
        }
        this.close();
        this.reader.terminal(run.terminal);
        break;
      }
      if (this.cursor >= ring.next) break;
      const entry = ring.at(this.cursor++);
      if (entry && this.#wants(entry) && !this.reader.entry(entry)) this.paused = true;
    }
    this.#pumping = false;
  }

  #wants(entry: OutputEntry): boolean {
    if (entry.runId !== this.runId) return false;
    return entry.streamId === undefined || (entry.streamId === this.reader.streamId && entry.offset >= this.liveFrom);
  }
}

class Channel {
  readonly ring: Ring;
  readonly runs = new Map<RunId, LoggedRun>();
  readonly readings = new Set<Reading>();
  current: RunId | undefined;
  fence = 0;

  constructor(limits: RingLimits) {
    this.ring = new Ring(limits);
  }
}

export const ringLimits: RingLimits = { entries: 4096, bytes: 16 * 1024 * 1024 };

/** The output log of one process: a ring per conversation. */
export class LocalOutputLog implements OutputLog {
  readonly #channels = new Map<ConversationId, Channel>();
  readonly #limits: RingLimits;

  constructor(limits: RingLimits = ringLimits) {
    this.#limits = limits;
  }

  /** Conversations that hold a ring. */
  get size(): number {
    return this.#channels.size;
  }

  open(conversationId: ConversationId, runId: RunId, fence: number): void {
    let channel = this.#channels.get(conversationId);
    if (!channel) this.#channels.set(conversationId, (channel = new Channel(this.#limits)));
    channel.fence = fence;
    channel.current = runId;
    if (!channel.runs.has(runId))
      channel.runs.set(runId, {
        runId,
        start: channel.ring.next,
        end: undefined,
        terminal: undefined,
        endedAt: 0,
        continuedBy: undefined,
      });
  }

  append(entry: OutputAppend): number | undefined {
    const channel = this.#channels.get(entry.conversationId);
    if (
      !channel ||
      channel.current !== entry.runId ||
      channel.fence !== entry.fence ||
      channel.runs.get(entry.runId)?.terminal
    )
      return undefined;
    const offset = channel.ring.next;
    channel.ring.push({
      offset,
      runId: entry.runId,
      kind: entry.kind,
      bytes: entry.bytes,
      ...(entry.checkpoint ? { checkpoint: entry.checkpoint } : {}),
      ...(entry.streamId ? { streamId: entry.streamId } : {}),
    });
    for (const reading of channel.readings)
      if (!reading.paused || reading.cursor < channel.ring.first) this.#pump(reading);
    return offset;
  }

  close(conversationId: ConversationId, runId: RunId, terminal: Terminal, atMs: number, continuedBy?: RunId): boolean {
    const channel = this.#channels.get(conversationId);
    const run = channel?.runs.get(runId);
    if (!channel || !run || run.terminal) return false;
    run.end = channel.ring.next;
    run.terminal = terminal;
    run.endedAt = atMs;
    run.continuedBy = continuedBy;
    for (const reading of [...channel.readings]) reading.pump();
    return true;
  }

  subscribe(
    conversationId: ConversationId,
    runId: RunId,
    from: ReplayFrom,
    reader: OutputReader,
  ): OutputSubscription | "gone" | "unknown" {
    const channel = this.#channels.get(conversationId);
    const run = channel?.runs.get(runId);
    if (!channel || !run) return "unknown";
    const cursor = place(channel, run, from);
    if (cursor === undefined || cursor < channel.ring.first) return "gone";
    const reading = new Reading(channel, reader, runId, cursor);
    channel.readings.add(reading);
    reading.pump();
    return reading;
  }

  prune(nowMs: number, retentionMs: number): void {
    for (const [id, channel] of this.#channels) {
      for (const run of channel.runs.values())
        if (run.terminal && nowMs - run.endedAt >= retentionMs) channel.runs.delete(run.runId);
      if (channel.runs.size === 0 && channel.readings.size === 0) this.#channels.delete(id);
      else channel.ring.dropBefore(Math.min(channel.ring.next, ...[...channel.runs.values()].map((run) => run.start)));
    }
  }

  drop(conversationId: ConversationId): void {
    const channel = this.#channels.get(conversationId);
    if (!channel) return;
    this.#channels.delete(conversationId);
    for (const reading of channel.readings) reading.close();
  }

  #pump(reading: Reading): void {
    // a paused reader that the ring has passed must learn it now, not at its next resume
    reading.paused = false;
    reading.pump();
  }
}

function place(channel: Channel, run: LoggedRun, from: ReplayFrom): number | undefined {
  switch (from.kind) {
    case "runStart":
      return run.start;
    case "offset":
      return from.offset;
    case "live":
      return channel.ring.next;
    case "checkpoint":
      return behindCheckpoint(channel.ring, run, from.checkpoint);
  }
}

function behindCheckpoint(ring: Ring, run: LoggedRun, checkpoint: CheckpointId): number | undefined {
  for (let offset = ring.next - 1; offset >= Math.max(ring.first, run.start); offset--)
    if (ring.at(offset)?.checkpoint === checkpoint) return offset + 1;
  return undefined;
}
