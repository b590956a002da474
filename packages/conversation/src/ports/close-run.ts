import { publishCheckpoint } from "../streams/checkpoint-publisher.ts";
import { terminalOf } from "../failures.ts";
import { adoptStream, type FollowUp, openFollowUp } from "../commands/follow-up.ts";
import { opensRun } from "../commands/inbox.ts";
import type { PortCall } from "./port.ts";

/** What came in last opens the next Run; turn_ended, then the terminal unless that one goes on on this stream, then `delivered`. */
export async function closeRun({ activation, run, send }: PortCall): Promise<void> {
  const { log, codec, clock } = activation.deps;
  const { runId } = run.row;
  // what is on its way into the inbox was sent before the stream's end
  await activation.written();
  const outcome = activation.context.outcome ?? { kind: "failed", code: "INTERNAL" };
  if (!(await openLate(activation, run, outcome.kind === "completed"))) return;
  // who took over did not wait for it, and asks with the state that it had
  if (outcome.kind !== "superseded") await giveHead(activation, run);
  if (!activation.speaks()) return;
  if (outcome.kind === "completed")
    activation.append(run, "turnEnded", codec.update({ kind: "turnEnded", usage: run.usage }));
  // only one that completed has a follow-up on its stream
  const next = activation.context.followUp ? activation.waitingRun : undefined;
  const stream = run.attached;
  if (next) log.open(activation.conversationId, next.row.runId, activation.lease.fence);
  log.close(activation.conversationId, runId, terminalOf(outcome, run.failureDetail), clock.now(), next?.row.runId);
  run.continued = next !== undefined;
  if (next && stream) adoptStream(activation, next, stream);
  run.ended = true;
  activation.lastRun = run;
  run.release();
  const delivered = stream !== undefined && (stream.delivered || next !== undefined);
  // with the barrier at which the conversation comes to rest, or the next Run begins
  if (delivered) activation.runDelivered(runId);
  run.row = { ...run.row, delivered };
  // in the step in which the client got the terminal: what comes from it now comes after this Run
  send({ type: "run.closed", runId });
}

/** What came in last opens the next Run; `false`: the activation is over. */
async function openLate(
  activation: PortCall["activation"],
  run: PortCall["run"],
  completed: boolean,
): Promise<boolean> {
  if (activation.waitingRun || !activation.inbox.some(opensRun)) return true;
  let late: FollowUp | undefined;
  const done = await activation.commit(() => {
    late = activation.waitingRun ? undefined : openFollowUp(activation, run, completed && run.attached !== undefined);
    return late?.barrier ?? {};
  });
  if (done) late?.announce();
  return done !== undefined;
}

/** A transport that came after the checkpoint was passed over gets it before the end, within half the bound of the closing; so does one that takes its place meanwhile. */
async function giveHead(activation: PortCall["activation"], run: PortCall["run"]): Promise<void> {
  const { clock, settings } = activation.deps;
  const { promise: late, resolve } = Promise.withResolvers<"late">();
  const timer = clock.setTimeout(() => resolve("late"), settings.closeMs / 2);
  while (lacksHead(activation, run)) {
    const asked = run.attached?.downlink;
    const given = await Promise.race([publishCheckpoint(activation, run), late]);
    if (given === "late" || run.attached?.downlink === asked) break;
  }
  clock.clearTimeout(timer);
}

/** A transport is there to which the head was not offered yet, though its client lacks it. */
function lacksHead({ history, wire }: PortCall["activation"], run: PortCall["run"]): boolean {
  const { head } = history.view;
  if (!run.attached || head === undefined) return false;
  // after a restart the log no longer has what was delivered before it
  if (history.chain.nodes.get(head)?.delivered === true && !run.restored) return false;
  return (wire.head ?? head) === head && run.attached.offered !== head;
}
