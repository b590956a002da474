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
import { completionText, contextSections, RESUME_TEXT, turnText } from "@chartroom/prompting";
import type { Barrier, RequestContext, RunId } from "@chartroom/domain";
import type { Activation } from "./activation.ts";
import type { LiveRun } from "./live-run.ts";
import { localTime } from "./local-time.ts";
import { messagesOf, partsOf, pictureBlobs } from "./message-content.ts";
import { mergeBarriers } from "./merge-barriers.ts";

/** The row that opened the Run leaves the inbox with the barrier that makes it history. */
export function openerTaken(activation: Activation, run: LiveRun): Barrier {
  const { opener } = run;
  if (opener === undefined) return {};
  run.opener = undefined;
  const at = activation.inbox.findIndex(({ seq }) => seq === opener);
  if (at >= 0) activation.inbox.splice(at, 1);
  return { inboxTaken: [opener] };
}

/**
 * What an inbox row said to a Run that ends before it was prepared becomes history all the same; unless another Run waits,
 * which takes the row.
 */
export async function keepOpening(activation: Activation, run: LiveRun): Promise<Barrier> {
  if (run.opener === undefined || activation.waitingRun) return {};
  await activation.loadHistory();
  const rows = await openingRows(activation, run, undefined);
  const { head } = activation.history.view;
  return mergeBarriers(...rows, openerTaken(activation, run), head ? { head } : {});
}

/** The messages that open the Run; nothing where the rows of a retry stand. */
export async function openingRows(
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
          ? action.prepend.map((message) => ({ message, parts: partsOf(run, message) }))
          : [];
      const opening = openTurn({
        ...history.place(runId),
        input: { message: action.message, parts: partsOf(run, action.message) },
        prepend,
        again: run.again,
        runtime: turnText({
          time: localTime(activation.deps.clock.now(), context?.env?.timeZone),
          mode: action.message.mode,
        }),
        ...(context ? { context: contextSections(context, { inSystem: run.compiled?.custom ?? [] }) } : {}),
      });
      rows.push(pictureBlobs(run, messagesOf(action)));
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
