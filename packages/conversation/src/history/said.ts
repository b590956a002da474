import type { Action, Barrier, HistoryRelation, InboxRow, RunRow } from "@chartroom/domain";
import type { Activation } from "../activation/activation.ts";
import type { Committed } from "../activation/fenced-writes.ts";
import { LiveRun } from "../activation/live-run.ts";
import { requestOf } from "../commands/follow-up.ts";
import { inboxKey } from "../commands/inbox.ts";
import { fetchContent, keepPrefetched, messageIdOf, messagesOf } from "../commands/message-content.ts";
import type { ClientBlobs } from "./client-state.ts";
import { openingRows } from "./opening.ts";

type InboxPut = NonNullable<Barrier["inboxPut"]>[number];

/** Actions that say something: what one of them said is in history, though its Run was stopped before it was prepared. */
const SAYS: ReadonlySet<Action["kind"]> = new Set([
  ...(["userMessage", "startPlan", "executePlan", "asyncAnswer", "backgroundCompletion"] as const),
]);
export const says = ({ kind }: Action): boolean => SAYS.has(kind);

/**
 * The inbox row of a Run that waited and will not begin: its client shows what it said, and does not say it again. It is for
 * the next Run's opening, opens none itself, and no Run that lives takes it. None: it said nothing.
 */
export function saidRow(activation: Activation, { runId, request, requestId, generation }: RunRow): InboxPut[] {
  const decoded = activation.deps.codec.decodeUplink(request);
  if (!decoded.ok || decoded.value.kind !== "run") return [];
  const { action } = decoded.value.request;
  if (!says(action)) return [];
  return [
    { kind: "run", key: inboxKey(action, activation.conversationId), body: request, runId, requestId, generation },
  ];
}

/** The rows of a commit are in the inbox. */
export function keepSaid({ inbox }: Activation, rows: readonly InboxPut[], done: Committed): void {
  for (const row of rows) {
    const placed = done.inbox.find(({ key }) => key === row.key);
    if (placed && !placed.duplicate) inbox.push({ ...row, seq: placed.seq, state: "waiting" });
  }
}

/**
 * What Runs said that waited and did not begin, and that were asked for before this one (ids of Runs rise with time, UUIDv7):
 * it comes before what opens this one. The same message that comes again is said by its own Run; a client that goes back to
 * before has taken it back.
 */
export async function saidRows(
  activation: Activation,
  run: LiveRun,
  relation: HistoryRelation,
  client: ClientBlobs,
): Promise<readonly Barrier[]> {
  // a Run whose place this one took in the last moment is still on its way there
  await activation.written();
  const rows: Barrier[] = [];
  for (const row of activation.inbox.filter(({ kind, runId }) => kind === "run" && (runId ?? "") < run.row.runId))
    rows.push(...(await said(activation, run, row, relation, client)));
  return rows;
}

async function said(
  activation: Activation,
  run: LiveRun,
  row: InboxRow,
  relation: HistoryRelation,
  client: ClientBlobs,
): Promise<readonly Barrier[]> {
  activation.inbox.splice(activation.inbox.indexOf(row), 1);
  const request = requestOf(activation, row, run.request);
  const own = messageIdOf(run.request.action);
  if (!request || relation === "rewind" || (own !== undefined && messageIdOf(request.action) === own))
    return [{ inboxDropped: [row.seq] }];
  const before = new LiveRun({ ...run.row, runId: row.runId ?? run.row.runId }, request);
  keepPrefetched(activation, before);
  await fetchContent(activation, before, messagesOf(request.action), client);
  const opened = await openingRows(activation, before, undefined);
  for (const [id, wire] of before.userMessages) run.userMessages.set(id, wire);
  return [...opened, { inboxTaken: [row.seq] }];
}
