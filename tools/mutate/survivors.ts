const CHART = "machines/conversation.machine.ts";
const RUN = "machines/cursor-run.machine.ts";
const LOG = "packages/cluster/src/output-log.ts: LocalOutputLog";
const RELATE = "packages/history/src/relate.ts";
const CONTEXT = "packages/history/src/context.ts: sectionsOf";
const LEASE = "packages/store/src/lease.ts: nodeLease";
const NO_STATE = "without a stored context nothing is spread, and what is set besides is what a chart begins with";
const ONLY_THESE = "the chart takes the action for these events alone; the condition tells the type checker";
const ONLY_TEXT = "a part without a text has no section's name; the condition tells the type checker";
const NO_TIMER = "a clock that is given no timer clears none; the condition tells the type checker";
const STORE_FAILS =
  "an attempt on the database fails with a StoreError or not at all; anything else would be a fault of this file";
const NO_CHANNEL = "without a channel there is no Run, which is asked next; the condition tells the type checker";

/**
 * Mutants that no test can tell from the program, and why: what they alter makes no difference, or none that can be brought
 * about. By id; the run fails when one of them is killed or is no longer made, and when a mutant survives that is not here.
 */
export const EXPLAINED: Readonly<Record<string, string>> = {
  [`${CHART}: action takeRestored: event.type === "restored" && event.context !== null is true`]: NO_STATE,
  [`${CHART}: action takeRestored: without event.context !== null of event.type === "restored" && event.context !== null`]:
    NO_STATE,
  [`${CHART}: action spawnRestored: context.runId !== null is true`]:
    "what is restored to anything but idle has a Run; the condition tells the type checker",
  [`${RUN}: action notePark: event.type === "transport.lost" || event.type === "tool.boundary" is true`]: ONLY_THESE,
  [`${RUN}: action noteParkAgain: without attached: false #2`]: ONLY_THESE,
  'packages/conversation/src/commands/decide.ts: decideRequest: decision.kind === "wait" is true':
    "`supersede` is read of a decision to wait alone",
  [`${LOG}.close: without !channel of !channel || !run`]: NO_CHANNEL,
  [`${LOG}.subscribe: without !channel of !channel || !run`]: NO_CHANNEL,
  [`${LEASE}.renew: expiry !== undefined is true`]: NO_TIMER,
  [`${LEASE}.stop: renewal !== undefined is true`]: NO_TIMER,
  [`${LEASE}.stop: expiry !== undefined is true`]: NO_TIMER,
  [`${LEASE}.stop: !(error instanceof StoreError) is false`]: STORE_FAILS,
  [`${LEASE}.stop: error instanceof StoreError is true`]: STORE_FAILS,
  [`${RELATE}: relate: own !== undefined && sameBytes(outline.bytes, own.wireState) is false`]:
    "a shorter way for what nearly all bring: the head is the first candidate behind it too",
  [`${RELATE}: candidates: wireState === undefined is false`]:
    "a node without a state has no outline, and nothing is the same as it: it is not looked at sooner",
  [`${RELATE}: candidates.outline: read === undefined is true`]:
    "a shorter way: a state is decoded once, however often it is compared",
  [`${RELATE}: candidates.outline: result.ok is true`]:
    "a state that cannot be read has no outline; the condition tells the type checker",
  [`${RELATE}: olderThanHead: from === undefined is false`]:
    "no node has the id undefined: the path is taken from its first node",
  "packages/history/src/opening.ts: chooseEvent: without view.head !== undefined of view.head !== undefined && branchHas(chain, view.head, id)":
    "nothing is on the branch of no head; the condition tells the type checker",
  [`${CONTEXT}: part.type === "text" is true`]: ONLY_TEXT,
  [`${CONTEXT}: without part.type === "text" of part.type === "text" && name !== undefined`]: ONLY_TEXT,
  "packages/store/src/activate.ts: a conversation without an owner is not free":
    "no node has the id null, so `not exists` finds none that lives; said for whoever reads the statement",
  "packages/store/src/parts/inbox.ts: applied is written without the fence":
    "its rows come from those that leave the inbox in the same statement, and they depend on the fence",
  "apps/server/src/compose.ts: the server speaks whether or not it holds its lease":
    "a process that comes back runs its overdue timer before it reads what would make it speak, and the timer ends its activations; that the answer is asked for is tested where it is asked",
};
