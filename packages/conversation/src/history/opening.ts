import {
  appendResults,
  eventId,
  interruptedResult,
  openCalls,
  openCompletion,
  openResume,
  openRuntime,
  openTurn,
  toolMessageId,
} from "@chartroom/history";
import { completionText, contextSections, RESUME_TEXT, turnText } from "@chartroom/prompting";
import type { Barrier, RequestContext, RunId, ToolCallRecord, ToolResultRecord } from "@chartroom/domain";
import type { Activation } from "../activation/activation.ts";
import type { LiveRun } from "../activation/live-run.ts";
import { localTime } from "./local-time.ts";
import { messagesOf, partsOf, pictureBlobs } from "../commands/message-content.ts";

/** The row that opened the Run leaves the inbox with the barrier that makes it history. */
export function openerTaken(activation: Activation, run: LiveRun): Barrier {
  const { opener } = run;
  if (opener === undefined) return {};
  run.opener = undefined;
  const at = activation.inbox.findIndex(({ seq }) => seq === opener);
  if (at >= 0) activation.inbox.splice(at, 1);
  return { inboxTaken: [opener] };
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
  // a client that resumes wants them carried out; a call whose result is stored is not asked for again
  const goOn = action.kind === "resume" && open.every((call) => !history.chain.listing.has(toolMessageId(call.id)));
  if (open.length > 0 && !goOn)
    rows.push(
      history.append(
        appendResults(
          history.place(runId),
          open.map((call) => lastResult(activation, run, call) ?? interruptedResult(call, "user-message")),
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
      if (open.length > 0 && goOn) break;
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

/** The result that the client gives for a call of its state which it stopped itself. */
function lastResult({ deps }: Activation, run: LiveRun, call: ToolCallRecord): ToolResultRecord | undefined {
  const { action } = run.request;
  if (!run.compiled || !("resolutions" in action)) return undefined;
  const resolution = action.resolutions.find(({ callId }) => callId === call.id);
  return resolution && deps.tools.resolve(run.compiled.scope, call, resolution);
}

/** A retry goes on from the branch head of the Run that it repeats. */
async function moveToEndOf(activation: Activation, ended: RunId): Promise<void> {
  const { store } = activation.deps;
  const row = await store.run(activation.lease, { runId: ended });
  if (row?.finalHead) await activation.history.moveTo(store, activation.lease, row.finalHead);
}
