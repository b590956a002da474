import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import type { ConversationId } from "@chartroom/domain";
import { connect } from "@chartroom/store";
import { percentile } from "../lib/stats.ts";
import { openBenchRoom, principal, turn, type BenchRoom } from "./room.ts";

const HELP = `usage: npm run bench -- actors [--idle N] [--stored N] [--turns N]

  Conversations as actors on one node, its own Postgres with fsync:
  memory of idle conversations, activation out of a full store, a turn's lifecycle without the model, commands per second.

  --idle N     conversations held idle in memory (10000)
  --stored N   conversations in the store when activation is timed (100000)
  --turns N    turns that are timed, and commands per client (200)
`;

/** Prints each number with its goal. Exit code 0; the goals are for the reader. */
export async function actors(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      idle: { type: "string", default: "10000" },
      stored: { type: "string", default: "100000" },
      turns: { type: "string", default: "200" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "chartroom-bench-"));
  fs.chmodSync(folder, 0o755);
  const room = await openBenchRoom(folder);
  try {
    await measure(room, { idle: Number(values.idle), stored: Number(values.stored), turns: Number(values.turns) });
  } finally {
    await room.close();
    fs.rmSync(folder, { recursive: true, force: true });
  }
  return 0;
}

async function measure(
  room: BenchRoom,
  { idle, stored, turns }: { readonly idle: number; readonly stored: number; readonly turns: number },
): Promise<void> {
  const say = (name: string, value: string, goal: string): void =>
    void process.stdout.write(`${name.padEnd(48)} ${value.padStart(14)}   ${goal}\n`);

  const single = await turnTimes(room, turns);
  say("a turn without the model, p50", `${percentile(single, 50).toFixed(2)} ms`, "goal: under 5 ms, fsync on");
  say("a turn without the model, p95", `${percentile(single, 95).toFixed(2)} ms`, "");
  const clients = 32;
  const begun = performance.now();
  await Promise.all(Array.from({ length: clients }, () => turnTimes(room, Math.max(1, Math.floor(turns / 4)))));
  const commands = clients * Math.max(1, Math.floor(turns / 4));
  say(
    `turns per second, ${clients} conversations at once`,
    `${((commands / (performance.now() - begun)) * 1000).toFixed(0)} /s`,
    "each is a committed command with all its barriers",
  );

  collect();
  const before = process.memoryUsage();
  for (let at = 0; at < idle; at += 100)
    await Promise.all(
      Array.from({ length: Math.min(100, idle - at) }, (_, i) =>
        room.service.registry.get(`idle-${at + i}` as ConversationId, principal.member, { create: true }),
      ),
    );
  collect();
  const after = process.memoryUsage();
  const heap = (after.heapUsed + after.external - before.heapUsed - before.external) / 2 ** 20;
  say(`${idle} idle conversations, heap above before`, `${heap.toFixed(1)} MB`, "goal: under 60 MB for 10,000");
  say(`${idle} idle conversations, resident above before`, `${((after.rss - before.rss) / 2 ** 20).toFixed(1)} MB`, "");

  const sql = connect(room.postgres.url());
  await sql`insert into conversation (id, owner_member, fence) select 'stored-' || n, ${principal.member}, 1 from generate_series(1, ${stored}) n`;
  await sql`analyze conversation`;
  await sql.end();
  const activations: number[] = [];
  for (let at = 0; at < 500; at++) {
    const id = `stored-${1 + Math.floor((at * stored) / 500)}` as ConversationId;
    const start = performance.now();
    const found = await room.service.registry.get(id, principal.member, { create: false });
    if (!found.ok) throw new Error(`${id} was not activated`);
    activations.push(performance.now() - start);
  }
  say(`activation out of ${stored}, p50`, `${percentile(activations, 50).toFixed(2)} ms`, "goal: under 3 ms");
  say(`activation out of ${stored}, p95`, `${percentile(activations, 95).toFixed(2)} ms`, "");
}

async function turnTimes(room: BenchRoom, turns: number): Promise<number[]> {
  const conversation = crypto.randomUUID();
  const times: number[] = [];
  let state: Uint8Array = new Uint8Array();
  for (let at = 0; at < turns; at++) {
    const start = performance.now();
    const ended = await turn(room, conversation, state);
    if (ended.terminal.kind !== "completed") throw new Error("a turn failed");
    ({ state } = ended);
    times.push(performance.now() - start);
  }
  return times;
}

/** Exact heap numbers need the collector (`--expose-gc`). */
function collect(): void {
  (globalThis as { gc?: () => void }).gc?.();
}
