import type { CheckpointNode, ConversationStore, NodeId, RunId, ToolCallId } from "@chartroom/domain";
import { connect, openStore, type Sql } from "@chartroom/store";
import { describe, expect, it } from "vitest";
import { systemClock } from "../support/clock.ts";
import { createDatabase } from "../support/database.ts";
import {
  anchor,
  bytes,
  chart,
  checkpoint,
  inboxPut,
  modelCall,
  runRow,
  take,
  textMessage,
  toolCall,
  toolResult,
  transition,
  write,
} from "./store-samples.ts";

const NODE = "cost" as NodeId;
/** What all connections of a measurement are called. */
const NAME = `chartroom ${NODE}`;

/** A conversation that grows by turns, as the runtime writes them. */
class Growing {
  readonly id = "growing";
  readonly store: ConversationStore;
  readonly #url: string;
  head: CheckpointNode | undefined;
  #made = 0;

  constructor(store: ConversationStore, url: string) {
    this.store = store;
    this.#url = url;
  }

  node(added: readonly string[]): CheckpointNode {
    const node = checkpoint(`k${++this.#made}`, this.head, added);
    this.head = node;
    return node;
  }

  /** Messages by the hundred, and keys of an inbox long taken, to have a long conversation soon. */
  async fill(messages: number): Promise<void> {
    const held = await take(this.store, this.id);
    for (let done = 0; done < messages; done += 100) {
      const ids = Array.from({ length: 100 }, (_, n) => `filled-${done + n}`);
      const nodes = Array.from({ length: 50 }, (_, n) => this.node(ids.slice(2 * n, 2 * n + 2)));
      const runs = nodes.map(({ id }) => runRow(`run-${id}`, { status: "completed", endedAt: 1, delivered: true }));
      await write(this.store, held, {
        ...{ messages: ids.map((id) => textMessage(id)), checkpoints: nodes, head: this.head!.id, runsOpened: runs },
        callsOpened: nodes.map(({ id }) => toolCall(`call-${id}`, `run-${id}`)),
        journal: nodes.map((_, n) => transition(done + n + 1, { fence: held.lease.fence })),
      });
    }
    await this.store.release(held.lease);
    const sql = connect(this.#url, { name: NAME });
    await sql`insert into applied (conversation_id, key, seq, state)
      select ${this.id}, 'old-' || n, -n, 'taken' from generate_series(1, ${messages}::int) n`;
    await sql.end();
  }

  /** One turn with a tool call, from its activation to its end: every part of a barrier occurs. */
  async turn(): Promise<void> {
    const { id } = this;
    const store = this.store;
    const held = await take(store, id);
    const before = this.head;
    const opening = this.node([`u${this.#made}`]);
    const n = this.#made;
    const runId = `run-${n}` as RunId;
    const callId = `call-${n}` as ToolCallId;
    const put = await write(store, held, { inboxPut: [inboxPut(`key-${n}`)] });
    await write(store, held, {
      ...{
        chart: chart(id, "modeling"),
        head: opening.id,
        checkpoints: [opening],
        messages: [textMessage(opening.added[0]!)],
      },
      ...{ runsOpened: [runRow(runId)], anchors: [anchor(`i${n}`, `e${n}`, before)], inboxTaken: [put.inbox[0]!.seq] },
      ...{ blobs: [{ id: `b${n}` as never, data: bytes(1) }], journal: [transition(1, { fence: held.lease.fence })] },
    });
    await write(store, held, { callsOpened: [toolCall(callId, runId)], modelCalls: [modelCall(`p${n}`, runId)] });
    await write(store, held, { callsSettled: [{ callId, result: toolResult(callId) }] });
    const last = this.node([`a${this.#made}`]);
    await write(store, held, {
      ...{ chart: chart(id, "idle"), head: last.id, checkpoints: [last], messages: [textMessage(last.added[0]!)] },
      ...{
        checkpointDelivered: [opening.id],
        runsChanged: [{ runId, status: "completed", endedAt: 5, delivered: true }],
      },
    });
    expect(await store.messages(held.lease, last.id, before?.id)).toHaveLength(2);
    expect(await store.toolCalls(held.lease, runId)).toHaveLength(1);
    expect(await store.run(held.lease, { runId })).toMatchObject({ status: "completed" });
    await store.checkpoint(held.lease, last.id);
    await store.release(held.lease);
  }
}

/** Rows and index entries that the database has touched. */
async function touched(sql: Sql): Promise<number> {
  const [row] = await sql<{ rows: string }[]>`
    select (select coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0) + n_tup_ins + n_tup_upd + n_tup_del), 0)
              from pg_stat_user_tables)
         + (select coalesce(sum(idx_tup_read), 0) from pg_stat_user_indexes) as rows`;
  return Number(row!.rows);
}

/** What a fresh database has touched after some work over one connection, whose plans are as old as the empty tables. */
async function costOf(work: (conversation: Growing) => Promise<void>): Promise<number> {
  const { url, drop } = await createDatabase();
  const sql = connect(url);
  const { store, close } = openStore({ url, nodeId: NODE, clock: systemClock, connections: 1 });
  const before = await touched(sql);
  await work(new Growing(store, url));
  await close();
  // a connection reports what it did at its end
  const open = async (): Promise<number> => {
    const rows = await sql`select from pg_stat_activity where application_name = ${NAME}`;
    return rows.length;
  };
  await expect.poll(open, { timeout: 10_000 }).toBe(0);
  const after = await touched(sql);
  await sql.end();
  await drop();
  return after - before;
}

const TURNS = 40;
const turns = async (conversation: Growing): Promise<void> => {
  for (let n = 0; n < TURNS; n++) await conversation.turn();
};

describe("a turn", () => {
  it("touches as many rows in a conversation of 10,000 messages as in a new one", async () => {
    const fresh = await costOf(turns);
    for (const messages of [1_000, 10_000]) {
      const fill = async (conversation: Growing): Promise<void> => {
        await turns(conversation);
        await conversation.fill(messages);
      };
      const filled = await costOf(fill);
      const both = await costOf(async (conversation) => {
        await fill(conversation);
        await turns(conversation);
      });
      expect((both - filled) / TURNS).toBeLessThan((fresh / TURNS) * 1.2);
    }
    expect(fresh / TURNS).toBeLessThan(100);
  }, 60_000);
});

describe("a whole history", () => {
  it("is read with one look-up per node and message", async () => {
    const read = async (messages: number): Promise<number> => {
      const fill = (conversation: Growing): Promise<void> => conversation.fill(messages);
      return (
        (await costOf(async (conversation) => {
          await fill(conversation);
          await take(conversation.store, conversation.id).then(({ lease, head }) =>
            conversation.store.messages(lease, head!),
          );
        })) - (await costOf(fill))
      );
    };
    const [short, long] = [await read(1_000), await read(10_000)];
    expect(long / short).toBeLessThan(11);
    // 1.5 look-ups per message, each seen once in an index and once in a table
    expect(long / 10_000).toBeLessThan(3.5);
  }, 60_000);
});
