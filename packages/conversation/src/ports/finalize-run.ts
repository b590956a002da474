import type { RunStatus } from "@chartroom/domain";
import { type FollowUp, openFollowUp } from "../commands/follow-up.ts";
import { mergeBarriers } from "../activation/merge-barriers.ts";
import { keepOpening } from "../history/kept.ts";
import type { PortCall } from "./port.ts";

/** Outcome and release of the Run in one transaction; what is left in the inbox opens the next Run in the same one. */
export async function finalizeRun({ activation, run, send }: PortCall): Promise<void> {
  const outcome = activation.context.outcome ?? { kind: "failed", code: "INTERNAL" };
  const endedAt = activation.deps.clock.now();
  const status: RunStatus = outcome.kind;
  const opening = await keepOpening(activation, run);
  const { head } = activation.history.view;
  const ended = {
    status,
    endedAt,
    ...(outcome.code ? { failureCode: outcome.code } : {}),
    ...(head ? { finalHead: head } : {}),
  };
  const { runId, requestId, generation } = run.row;
  let followUp: FollowUp | undefined;
  const done = await activation.commit(() => {
    const goesOn = status === "completed" && run.attached !== undefined;
    followUp = activation.waitingRun ? undefined : openFollowUp(activation, run, goesOn);
    return mergeBarriers(
      opening,
      // a follow-up that never began may have gone to another stream than the one that it was opened for
      { runsChanged: [{ runId, requestId, generation, partial: null, ...ended }] },
      // a Run that failed before its first commit is written here
      run.accepted.settled ? {} : { runsOpened: [run.row] },
      followUp?.barrier ?? {},
    );
  });
  if (!done) return;
  run.row = { ...run.row, ...ended };
  run.accepted.resolve(true);
  run.stopped.resolve(true);
  followUp?.announce();
  const { acceptedAt } = run.row;
  activation.deps.events({
    type: "run.ended",
    conversationId: activation.conversationId,
    runId,
    outcome,
    steps: activation.context.step,
    durationMs: endedAt - acceptedAt,
    usage: run.usage,
  });
  send({ type: "run.finalized", runId });
}
