import type { Barrier, FailureCode } from "@chartroom/domain";
import type { Activation } from "../activation/activation.ts";
import { subscribeStream } from "../streams/attachment.ts";
import { encodeHead, publishCheckpoint } from "../streams/checkpoint-publisher.ts";
import { hasBegun, stands, takeClientState } from "../history/client-state.ts";
import { ClientAccess } from "../streams/client-access.ts";
import { compileRun, contextOf } from "../history/compile.ts";
import type { LiveRun } from "../activation/live-run.ts";
import { fetchContent, keepPrefetched, messagesOf } from "../commands/message-content.ts";
import { mergeBarriers } from "../activation/merge-barriers.ts";
import { openerTaken, openingRows } from "../history/opening.ts";
import { related } from "../history/related.ts";
import { saidRows } from "../history/said.ts";
import type { PortCall } from "./port.ts";

/** Claims the Run, brings history and context in, appends the opening messages and compiles; one barrier. */
export async function prepare(call: PortCall): Promise<void> {
  const task = prepareRun(call);
  call.run.work = task.catch(() => undefined);
  await task;
}

async function prepareRun({ activation, run, signal, send }: PortCall): Promise<void> {
  const { deps } = activation;
  const { runId } = run.row;
  const fail = (code: FailureCode): void => send({ type: "prepare.failed", runId, code });
  deps.log.open(activation.conversationId, runId, activation.lease.fence);
  // the stream of a follow-up reads on where its predecessor ended
  if (run.attached && !run.attached.subscription) subscribeStream(activation, run, run.attached, { kind: "runStart" });
  if (!deps.models.resolve(run.request.model.modelId)) return fail("MODEL_NOT_FOUND");
  await activation.loadHistory();

  keepPrefetched(activation, run);
  const client = new ClientAccess(activation, run, signal);
  const context = await contextOf(run, client);
  if (!(await fetchContent(activation, run, messagesOf(run.request.action), client))) return fail("BLOB_MISSING");
  if (signal.aborted) return;
  // from here on history moves: what moves it is committed, whatever happens meanwhile
  const begun = hasBegun(activation, run);
  const taken = begun ? stands("continue") : await takeClientState(activation, run, client);
  if (!taken.ok) return fail(taken.code);
  const { relation } = taken;
  run.compiled = compileRun(activation, run, context);
  const barriers: Barrier[] = [
    taken.barrier,
    related(activation, run, relation),
    ...(begun ? [] : await saidRows(activation, run, relation, client)),
    ...(begun ? [] : await openingRows(activation, run, context)),
    openerTaken(activation, run),
  ];
  const accepted = run.accepted.settled;
  // a claim in the last moment of the Run before has given it another stream
  const { requestId, generation } = run.row;
  const { head } = activation.history.view;
  const done = await activation.commit(() =>
    mergeBarriers(
      ...barriers,
      head ? { head } : {},
      accepted
        ? // one that was given up meanwhile has its outcome, or gets it next
          { runsChanged: signal.aborted ? [] : [{ runId, status: "running", requestId, generation }] }
        : { runsOpened: [run.row] },
    ),
  );
  if (!done) return;
  run.opened = true;
  run.accepted.resolve(true);
  // nothing newer than what the client brought was delivered: it gets our head before anything else of the Run
  if (taken.stale) await publishHead(activation, run);
  send({ type: "prepared", runId, joins: activation.joins });
}

async function publishHead(activation: Activation, run: LiveRun): Promise<void> {
  const head = await encodeHead(activation, run);
  if (await activation.commit(() => head)) activation.beside("checkpoint", publishCheckpoint(activation, run));
}
