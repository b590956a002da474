import {
  appendResults,
  eventId,
  interruptedResult,
  openCalls,
  openCompletion,
  openResume,
  openRuntime,
  openTurn,
} from "@chartroom/history";
import { completionText, contextSections, RESUME_TEXT, turnText, userParts } from "@chartroom/prompting";
import type { Barrier, FailureCode, RequestContext, RunId, UserMessage } from "@chartroom/domain";
import type { Activation } from "../activation.ts";
import { subscribeStream } from "../attachment.ts";
import { encodeHead, publishCheckpoint } from "../checkpoint-publisher.ts";
import { takeClientState } from "../client-state.ts";
import { ClientAccess } from "../client-access.ts";
import { compileRun, contextOf } from "../compile.ts";
import type { LiveRun } from "../live-run.ts";
import { localTime } from "../local-time.ts";
import { mergeBarriers } from "../merge-barriers.ts";
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

  const client = new ClientAccess(activation, run, signal);
  const context = await contextOf(run, client);
  if (!(await fetchTexts(activation, run, client))) return fail("BLOB_MISSING");
  if (signal.aborted) return;
  // from here on history moves: what moves it is committed, whatever happens meanwhile
  const taken = await takeClientState(activation, run, client);
  if (!taken.ok) return fail(taken.code);
  run.compiled = compileRun(activation, run, context);
  const barriers = [taken.barrier, ...(await openingRows(activation, run, context))];
  const accepted = run.accepted.settled;
  const { head } = activation.history.view;
  const done = await activation.commit(() =>
    mergeBarriers(
      ...barriers,
      head ? { head } : {},
      accepted ? { runsChanged: [{ runId, status: "running" }] } : { runsOpened: [run.row] },
    ),
  );
  if (!done) return;
  run.accepted.resolve(true);
  // nothing newer than what the client brought was delivered: it gets our head before anything else of the Run
  if (taken.stale) await publishHead(activation, run);
  send({ type: "prepared", runId, joins: activation.inbox.length });
}

/** The messages that open the Run; nothing where the rows of a retry stand. */
async function openingRows(
  activation: Activation,
  run: LiveRun,
  context: RequestContext | undefined,
): Promise<readonly Barrier[]> {
  const { history } = activation;
  const { action } = run.request;
  const { runId } = run.row;
  const rows: Barrier[] = [];
  if (run.continues) await moveToEndOf(activation, run.continues);
  const open = openCalls(history.view.messages);
  if (open.length > 0)
    rows.push(
      history.append(
        appendResults(
          history.place(runId),
          open.map((call) => interruptedResult(call, "user-message")),
        ),
      ),
    );
  switch (action.kind) {
    case "userMessage":
    case "startPlan":
    case "executePlan": {
      const prepend =
        action.kind === "userMessage"
          ? action.prepend.map((message) => ({ message, parts: userParts(message, run.texts.get(message.messageId)) }))
          : [];
      const opening = openTurn({
        ...history.place(runId),
        input: { message: action.message, parts: userParts(action.message, run.texts.get(action.message.messageId)) },
        prepend,
        again: run.again,
        runtime: turnText({
          time: localTime(activation.deps.clock.now(), context?.env?.timeZone),
          mode: action.message.mode,
        }),
        ...(context ? { context: contextSections(context, { inSystem: run.compiled?.custom ?? [] }) } : {}),
      });
      rows.push(inlineBlobs(action.message));
      if (opening.kind === "opened") {
        rows.push(history.extend(opening.node, opening.messages, opening.anchors));
        const last = opening.messages.at(-1);
        if (last) run.userMessages.set(last.id, action.message.wire);
      } else {
        await history.moveTo(activation.deps.store, activation.lease, opening.head);
        if (run.continues) rows.push(history.append(openResume(history.place(runId), RESUME_TEXT)));
      }
      break;
    }
    case "resume":
      rows.push(history.append(openResume(history.place(runId), RESUME_TEXT)));
      break;
    case "backgroundCompletion":
      for (const completion of action.completions)
        rows.push(history.append(openCompletion(history.place(runId), completion, completionText(completion))));
      break;
    case "asyncAnswer":
      rows.push(history.append(openRuntime(history.place(runId), eventId(`answer:${action.callId}`, ""), action.text)));
      break;
    default:
      break;
  }
  return rows;
}

/** A retry goes on from the branch head of the Run that it repeats. */
async function moveToEndOf(activation: Activation, ended: RunId): Promise<void> {
  const { store } = activation.deps;
  const row = await store.run(activation.lease, { runId: ended });
  if (row?.finalHead) await activation.history.moveTo(store, activation.lease, row.finalHead);
}

async function publishHead(activation: Activation, run: LiveRun): Promise<void> {
  const head = await encodeHead(activation, run);
  if (await activation.commit(() => head)) void publishCheckpoint(activation, run);
}

/** Long texts that came as blob ids (wire section 4.6), and pictures that came inline: both belong to the store. */
async function fetchTexts(activation: Activation, run: LiveRun, client: ClientAccess): Promise<boolean> {
  const { action } = run.request;
  if (!("message" in action)) return true;
  const messages = [...(action.kind === "userMessage" ? action.prepend : []), action.message];
  for (const message of messages) {
    if (!message.textBlob || run.texts.has(message.messageId)) continue;
    const data =
      (await activation.deps.store.blobs(activation.member, [message.textBlob])).get(message.textBlob) ??
      activation.wire.blobs.get(message.textBlob) ??
      (await client.get(message.textBlob));
    if (!data || activation.deps.codec.blobId(data) !== message.textBlob) return false;
    run.texts.set(message.messageId, new TextDecoder().decode(data));
  }
  return true;
}

function inlineBlobs(message: UserMessage): Barrier {
  return {
    blobs: message.attachments.flatMap((attachment) =>
      attachment.type === "image" && attachment.data ? [{ id: attachment.blob, data: attachment.data }] : [],
    ),
  };
}
