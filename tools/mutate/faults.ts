import type { Fault } from "./named.ts";

/* Faults that servers of this kind are known for, and that no rule of `operators.ts` makes. */

const PORTS = "packages/conversation/src/activation/provide.ts";
const swapped = (what: string, a: string, b: string): Fault => ({
  what,
  file: PORTS,
  changes: [
    [`${a}: bindPort("${a}", find, ${a})`, `${a}: bindPort("${a}", find, ${b})`],
    [`${b}: bindPort("${b}", find, ${b})`, `${b}: bindPort("${b}", find, ${a})`],
  ],
  suites: ["command table", "lifecycle", "random schedules"],
});
const TURN_ENDED = `  if (outcome.kind === "completed")
    activation.append(run, "turnEnded", codec.update({ kind: "turnEnded", usage: run.usage }));
`;
const CLOSES = `  log.close(activation.conversationId, runId, terminalOf(outcome, run.failureDetail), clock.now(), next?.row.runId);
`;
const ACKNOWLEDGED = `  if ((await giveBlobs(activation, stream)) !== "given" || !stream.attached) return false;
`;
const UPDATE = `  activation.append(run, "checkpoint", activation.deps.codec.checkpoint(state), { checkpoint: head });
`;

/** The order of the last checkpoint, the outcome, `turn_ended` and the terminal. */
export const ORDER: readonly Fault[] = [
  swapped(
    "the terminal is sent where the checkpoint should be, and the other way round",
    "publishCheckpoint",
    "closeRun",
  ),
  swapped("the terminal is sent before the outcome is committed", "finalizeRun", "closeRun"),
  swapped("the checkpoint is published before it is committed", "commitCheckpoint", "publishCheckpoint"),
  swapped("the calls go out before they are committed", "recordStep", "dispatchTools"),
  {
    what: "turn_ended follows the terminal",
    file: "packages/conversation/src/ports/close-run.ts",
    changes: [
      [TURN_ENDED, ""],
      [CLOSES, `${CLOSES}${TURN_ENDED}`],
    ],
    suites: ["command table", "lifecycle", "random schedules"],
  },
  {
    what: "the checkpoint does not wait for its blobs",
    file: "packages/conversation/src/streams/checkpoint-publisher.ts",
    changes: [
      [ACKNOWLEDGED, ""],
      [UPDATE, `${UPDATE}${ACKNOWLEDGED}`],
    ],
    suites: ["command table", "lifecycle", "random schedules"],
  },
];

const COMMIT = "packages/store/src/commit.ts";
const ACTIVATE = "packages/store/src/activate.ts";
const fenced = (what: string, file: string, from: string, to: string): Fault => ({
  what,
  file,
  changes: [[from, to]],
  suites: ["store", "store contract", "two servers"],
});

/** The fence of a conversation and the lease of a node. */
export const FENCE: readonly Fault[] = [
  fenced("a write is not asked for its fence", COMMIT, "and fence = ${lease.fence} ", ""),
  fenced("a write is not asked for its node", COMMIT, "and owner_node = ${node} ", ""),
  fenced("a write of before is taken after a later one", COMMIT, " and write_seq < ${writeSeq}", ""),
  fenced("a write lands in every conversation", COMMIT, "id = ${lease.conversationId} and ", ""),
  fenced(
    "a conversation is taken without a higher fence",
    ACTIVATE,
    "update conversation c set fence = c.fence + 1",
    "update conversation c set fence = c.fence",
  ),
  fenced(
    "a conversation is opened again without a higher fence",
    ACTIVATE,
    "do update set fence = c.fence + 1",
    "do update set fence = c.fence",
  ),
  fenced(
    "a conversation is taken from its living owner",
    ACTIVATE,
    "where c.id = ${conversationId} and c.owner_member = ${member} and ${free(sql, node)}",
    "where c.id = ${conversationId} and c.owner_member = ${member}",
  ),
  fenced(
    "a conversation is opened although it has a living owner",
    ACTIVATE,
    "where c.owner_member = excluded.owner_member and ${free(sql, node)}",
    "where c.owner_member = excluded.owner_member",
  ),
  fenced(
    "a conversation of another member is taken",
    ACTIVATE,
    "where c.id = ${conversationId} and c.owner_member = ${member} and ${free(sql, node)}",
    "where c.id = ${conversationId} and ${free(sql, node)}",
  ),
  fenced(
    "a conversation of another member is opened",
    ACTIVATE,
    "where c.owner_member = excluded.owner_member and ${free(sql, node)}",
    "where ${free(sql, node)}",
  ),
  fenced(
    "whose conversation it is is told to every member",
    ACTIVATE,
    `where c.id = \${conversationId} and c.owner_member = \${member}\`;`,
    "where c.id = ${conversationId}`;",
  ),
  fenced("a conversation without an owner is not free", ACTIVATE, "c.owner_node is null or ", ""),
  fenced("a node does not get its own conversation again", ACTIVATE, "c.owner_node = ${node}\n    or not", "not"),
  fenced(
    "the conversation of a node that is gone is never free",
    ACTIVATE,
    "\n    or not exists (select from node n where n.id = c.owner_node and n.lease_until > now())",
    "",
  ),
  fenced("the lease of a node holds for ever", ACTIVATE, " and n.lease_until > now()", ""),
  fenced("one living node makes every conversation its own", ACTIVATE, "n.id = c.owner_node and ", ""),
  fenced("an older owner gives up the newer one's conversation", ACTIVATE, " and c.fence = ${lease.fence} and", " and"),
  fenced("a node gives up another's conversation", ACTIVATE, " and c.owner_node = ${node}`,", "`,"),
  fenced(
    "numbers of writes go on from the owner before",
    ACTIVATE,
    "update conversation c set fence = c.fence + 1, owner_node = ${node}, write_seq = 0",
    "update conversation c set fence = c.fence + 1, owner_node = ${node}",
  ),
  fenced(
    "numbers of writes go on from the owner before, in an opened one",
    ACTIVATE,
    "owner_node = excluded.owner_node, write_seq = 0",
    "owner_node = excluded.owner_node",
  ),
  {
    what: "a conversation speaks though its node has lost its lease",
    file: "packages/conversation/src/activation/activation.ts",
    changes: [["if (this.deps.holdsLease()) return true;", "if (Date.now() > 0) return true;"]],
    suites: ["lifecycle", "two servers"],
  },
  {
    what: "a node that was robbed of a conversation tells its clients so",
    file: "packages/conversation/src/activation/activation.ts",
    changes: [['release === "fence-lost" || !this.deps.holdsLease()', "Date.now() < 0"]],
    suites: ["lifecycle", "two servers"],
  },
  {
    what: "an owner goes on after a write that the fence refused",
    file: "packages/conversation/src/activation/fenced-writes.ts",
    changes: [['          this.#host.send({ type: "fence.lost" });\n', ""]],
    suites: ["lifecycle", "random schedules", "two servers"],
  },
  {
    what: "the server speaks whether or not it holds its lease",
    file: "apps/server/src/compose.ts",
    changes: [["() => alone || store.nodeLease.held()", "() => true"]],
    suites: ["two servers"],
  },
];

const history = (what: string, file: string, from: string, to: string): Fault => ({
  what,
  file,
  changes: [[from, to]],
  suites: ["history", "random histories", "history rooms"],
});
const PROJECT = "packages/history/src/project.ts";
const IDS = "packages/history/src/ids.ts";
const OPENING = "packages/history/src/opening.ts";

/** What breaks a cached prefix, or says the same thing by another name. */
export const PREFIX: readonly Fault[] = [
  history(
    "keys of arguments are sorted",
    PROJECT,
    "arguments: args.text }",
    "arguments: JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(args.text) as object).toSorted())) }",
  ),
  history(
    "an old result is trimmed",
    PROJECT,
    "const messages = out.slice();",
    `const messages = out.map((message, at): ModelMessage =>
        message.role === "tool" && at < out.length - 2
          ? { role: "tool", results: message.results.map((one) => ({ ...one, text: one.text.slice(0, 4) })) }
          : message,
      );`,
  ),
  history(
    "a date stands in every message of the user",
    PROJECT,
    "    return made.length === 0 ?",
    '    if (made.length > 0) return [{ type: "text", text: `${performance.now()}` }, ...made];\n    return made.length === 0 ?',
  ),
  history(
    "replay state goes to every vendor",
    PROJECT,
    "block.replay?.vendor === options.vendor ? block.replay : undefined",
    "block.replay",
  ),
  history("calls are sent in the order in which they came", PROJECT, ".toSorted((a, b) => a.index - b.index)", ""),
  history(
    "a date stands in the system text",
    "packages/prompting/src/system.ts",
    "    toolGuide(tools, input.mode),\n",
    "    toolGuide(tools, input.mode),\n    `Today is ${new Date().toISOString().slice(0, 10)}.`,\n",
  ),
  history("the event of an input has no digest", IDS, "`${inputId}.${digest}${", "`${inputId}${"),
  history("the second use of an input is the first", IDS, '${use > 1 ? `.${use}` : ""}` as EventId', "` as EventId"),
  history("the text is not in the digest of an input", IDS, "[message.text, message.textBlob", "[message.textBlob"),
  history("a text by its blob is not in the digest", IDS, "message.textBlob ?? null, ", ""),
  history("the mode is not in the digest", IDS, "message.mode, message.attachments", "message.attachments"),
  history("attachments are not in the digest", IDS, ", message.attachments.map(attachmentKey)]", "]"),
  history(
    "a user message gets a new id each time",
    IDS,
    "`user-message:${event}`",
    "`user-message:${event}${Math.random()}`",
  ),
  history(
    "a request context gets a new id each time",
    IDS,
    "`request-context:${event}`",
    "`request-context:${event}${Math.random()}`",
  ),
  history(
    "an injection gets a new id each time",
    IDS,
    "`inject-context:${injection}`",
    "`inject-context:${injection}${Math.random()}`",
  ),
  history("a result gets a new id each time", IDS, "`tool:${call}`", "`tool:${call}${Math.random()}`"),
  history(
    "a call gets a new id each time",
    IDS,
    "`call_${digestOf(JSON.stringify([run, step, index]), 24)}`",
    "`call_${digestOf(JSON.stringify([run, step, index, Math.random()]), 24)}`",
  ),
  history("calls of different Steps have the same id", IDS, "[run, step, index]", "[run, index]"),
  history(
    "a partial message has the id of the whole one",
    IDS,
    '${partial === undefined ? "" : `:partial-${digestOf(partial, 16)}`}',
    "",
  ),
  history(
    "progress of a task is one report",
    IDS,
    '${completion.callId ?? ""}${progress}',
    '${completion.callId ?? ""}',
  ),
  history(
    "a checkpoint gets a new id each time",
    IDS,
    "JSON.stringify([parent ?? null, added, reset])",
    "JSON.stringify([parent ?? null, added, reset, Math.random()])",
  ),
  history("a checkpoint does not name its parent", IDS, "[parent ?? null, added, reset]", "[added, reset]"),
  history("a compaction's checkpoint is another's", IDS, "[parent ?? null, added, reset]", "[parent ?? null, added]"),
  history(
    "an anchor does not know where it stands",
    OPENING,
    "event: own, base: view.head }",
    "event: own, base: undefined }",
  ),
  history(
    "every context is written in full",
    "packages/history/src/context.ts",
    "now.filter((section) => known.get(section.name) !== section.text)",
    "now",
  ),
  history(
    "a section that is gone is not told",
    "packages/history/src/context.ts",
    "[...changed, ...gone]",
    "[...changed]",
  ),
];
