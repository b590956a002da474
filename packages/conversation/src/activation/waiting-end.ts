import type { ConversationEmitted, Outcome, RunId } from "@chartroom/domain";
import { terminalOf } from "../failures.ts";
import { keepSaid, saidRow } from "../history/said.ts";
import type { Activation } from "./activation.ts";

/** A Run that waited and will never begin: its outcome is written, then its stream ends with the reason. */
export async function endWaiting(activation: Activation, told: ConversationEmitted): Promise<void> {
  const runId = told.runId as RunId;
  const run = activation.runs.get(runId);
  if (!run) return;
  run.release();
  const { kind: status, code } = outcomeOf(told);
  const ended = { status, endedAt: activation.deps.clock.now(), ...(code ? { failureCode: code } : {}) };
  // one that an inbox row opened leaves it there, and it joins
  const inboxPut = run.opener === undefined ? saidRow(activation, run.row) : [];
  let place = {};
  const done = await activation.commit(() => {
    // a follow-up that never came onto its stream: that stream has the end of the Run before it
    place = run.opener !== undefined && !run.attached ? { generation: 0 } : {};
    return { inboxPut, runsChanged: [{ runId, ...ended, ...place }] };
  });
  // who comes to its stream before that is not told what the store may never hear
  if (!done) return;
  keepSaid(activation, inboxPut, done);
  run.ended = true;
  run.row = { ...run.row, ...ended, ...place };
  if (!activation.speaks()) return;
  run.attached?.terminal(terminalOf({ kind: status, code }));
  run.stopped.resolve(true);
}

/** How a Run ends that waited and will not begin. */
function outcomeOf(told: ConversationEmitted): Outcome {
  switch (told.type) {
    case "waiting.replaced":
      return { kind: "superseded", code: "SUPERSEDED" };
    case "waiting.cancelled":
      return { kind: "cancelled", code: "CANCELLED" };
    case "waiting.expired":
      return { kind: "failed", code: told.code };
  }
}
