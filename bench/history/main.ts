import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { type BenchRoom, openBenchRoom, turn } from "../actors/room.ts";
import { median, percentile } from "../lib/stats.ts";
import { Grown, MESSAGES_PER_TURN } from "./grown.ts";
import { store } from "./stored.ts";

const HELP = `usage: npm run bench -- history [options]

  What a turn costs in a conversation of 10, 100, 1,000 and 10,000 messages: history alone (append, project, compare with the
  call before), its checkpoint, and a whole turn on a node with its own Postgres.

  --turns N    turns that are timed at each length, history alone (200)
  --stored N   turns that are timed at each length on a node (30)
`;

const LENGTHS = [10, 100, 1_000, 10_000] as const;
/** A turn at 10,000 messages may cost so many times that of 100. */
const FLAT = 2;

interface Measured {
  readonly length: number;
  readonly turnMs: number;
  readonly checkpointMs: number;
  readonly wholeMs: number;
  readonly stateKb: number;
  readonly heapMb: number;
}

/** Prints each number. Exit code 1: the cost of a turn is not flat. */
export async function history(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      turns: { type: "string", default: "200" },
      stored: { type: "string", default: "30" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  // once over everything, so that the first length is not the one that is compiled
  measure(1_000, 200);
  const measured = LENGTHS.map((length) => measure(length, Number(values.turns)));
  say("history alone: append, project, compare", measured, ({ turnMs }) => `${turnMs.toFixed(3)} ms`);
  say("checkpoint of one turn more", measured, ({ checkpointMs }) => `${checkpointMs.toFixed(3)} ms`);
  say("checkpoint from nothing", measured, ({ wholeMs }) => `${wholeMs.toFixed(1)} ms`);
  say("state of the checkpoint", measured, ({ stateKb }) => `${stateKb.toFixed(0)} kB`);
  say("heap of the conversation", measured, ({ heapMb }) => `${heapMb.toFixed(2)} MB`);
  const nodes = await onNode(Number(values.stored));
  say("a whole turn on a node, p50", nodes, ({ turnMs }) => `${turnMs.toFixed(2)} ms`);
  say("the first turn after its activation", nodes, ({ firstMs }) => `${firstMs.toFixed(1)} ms`);

  const ratio = at(measured, 10_000).turnMs / at(measured, 100).turnMs;
  process.stdout.write(
    `\na turn at 10,000 messages against one at 100: ${ratio.toFixed(2)} ×   goal: within ${FLAT} ×\n`,
  );
  process.stdout.write(
    `the same on a node: ${(at(nodes, 10_000).turnMs / at(nodes, 100).turnMs).toFixed(2)} ×   each checkpoint is a list of all ids\n`,
  );
  return ratio <= FLAT ? 0 : 1;
}

function at<T extends { readonly length: number }>(all: readonly T[], length: number): T {
  return all.find((one) => one.length === length)!;
}

function say<T extends { readonly length: number }>(name: string, all: readonly T[], of: (one: T) => string): void {
  const cells = all.map((one) => `${one.length}: ${of(one)}`.padStart(18));
  process.stdout.write(`${name.padEnd(42)}${cells.join("")}\n`);
}

/** Turns at a length: the conversation is grown to it, and grows on by what is timed. */
function measure(length: number, turns: number): Measured {
  collect();
  const before = process.memoryUsage().heapUsed;
  const grown = new Grown();
  for (let count = 0; count < length / MESSAGES_PER_TURN; count += 1) grown.turn();
  grown.take();
  collect();
  const heapMb = (process.memoryUsage().heapUsed - before) / 2 ** 20;
  const wholeMs = timed(() => void grown.checkpoint());
  const times: number[] = [];
  const checkpoints: number[] = [];
  // a short conversation would outgrow its length: it is begun anew
  const room = Math.max(1, Math.floor(length / MESSAGES_PER_TURN / 2));
  let current = grown;
  for (let count = 0; count < turns; count += 1) {
    if (count > 0 && count % room === 0 && length < turns * MESSAGES_PER_TURN) current = begun(length);
    times.push(timed(() => current.turn()));
    checkpoints.push(timed(() => void current.checkpoint()));
  }
  return {
    ...{ length, heapMb, wholeMs, turnMs: median(times), checkpointMs: median(checkpoints) },
    stateKb: grown.state.byteLength / 1_024,
  };
}

function begun(length: number): Grown {
  const grown = new Grown();
  for (let count = 0; count < length / MESSAGES_PER_TURN; count += 1) grown.turn();
  grown.checkpoint();
  return grown;
}

interface OnNode {
  readonly length: number;
  readonly turnMs: number;
  readonly firstMs: number;
}

async function onNode(turns: number): Promise<readonly OnNode[]> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "chartroom-bench-"));
  fs.chmodSync(folder, 0o755);
  const room = await openBenchRoom(folder);
  try {
    await wholeTurns(room, 10, turns);
    const all: OnNode[] = [];
    for (const length of LENGTHS) all.push(await wholeTurns(room, length, turns));
    return all;
  } finally {
    await room.close();
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

async function wholeTurns(room: BenchRoom, length: number, turns: number): Promise<OnNode> {
  const grown = new Grown();
  for (let count = 0; count < length / MESSAGES_PER_TURN; count += 1) grown.turn();
  const conversationId = crypto.randomUUID();
  await store(room, conversationId, grown.take());
  const times: number[] = [];
  let state: Uint8Array = new Uint8Array();
  for (let count = 0; count <= turns; count += 1) {
    const start = performance.now();
    const ended = await turn(room, conversationId, state);
    if (ended.terminal.kind !== "completed") throw new Error("a turn failed");
    ({ state } = ended);
    times.push(performance.now() - start);
  }
  const [firstMs = 0, ...rest] = times;
  return { length, firstMs, turnMs: percentile(rest, 50) };
}

function timed(work: () => void): number {
  const start = performance.now();
  work();
  return performance.now() - start;
}

/** Exact heap numbers need the collector (`--expose-gc`). */
function collect(): void {
  (globalThis as { gc?: () => void }).gc?.();
}
