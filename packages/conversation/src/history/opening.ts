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
import type { Action, Barrier, RequestContext, RunId, ToolCallRecord, ToolResultRecord } from "@chartroom/domain";
import type { Activation } from "../activation/activation.ts";
import type { LiveRun } from "../activation/live-run.ts";
import { type ClientBlobs, hasBegun, takeClientState } from "./client-state.ts";
import { broughtContext, compileRun } from "./compile.ts";
import { localTime } from "./local-time.ts";
import { fetchContent, keepPrefetched, messagesOf, partsOf, pictureBlobs } from "../commands/message-content.ts";
import { mergeBarriers } from "../activation/merge-barriers.ts";

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

/** Actions that say something: what one of them said is in history, though its Run was stopped before it was prepared. */
const SAYS: ReadonlySet<Action["kind"]> = new Set([
  ...(["userMessage", "startPlan", "executePlan", "asyncAnswer", "backgroundCompletion"] as const),
]);
const NOBODY: ClientBlobs = { get: () => Promise.resolve(undefined) };

/**
 * What a Run request said is history when the Run is stopped before it was prepared: its client shows it, and does not say it
 * again. Nobody is asked for anything; what cannot be placed, or read, without the client is not kept.
 */
export async function keepRequest(activation: Activation, run: LiveRun): Promise<Barrier> {
  const { action } = run.request;
  if (run.opened || run.opener !== undefined || activation.context.step > 0 || !SAYS.has(action.kind)) return {};
  await activation.loadHistory();
  if (hasBegun(activation, run)) return {};
  keepPrefetched(activation, run);
  if (!(await fetchContent(activation, run, messagesOf(action), NOBODY))) return {};
  const taken = await takeClientState(activation, run, NOBODY);
  if (!taken.ok) return {};
  const context = broughtContext(run);
  run.compiled ??= compileRun(activation, run, context);
  const rows = [...(await replacedRows(activation, run, NOBODY)), ...(await openingRows(activation, run, context))];
  run.opened = true;
  const { head } = activation.history.view;
  return mergeBarriers(taken.barrier, ...rows, head ? { head } : {});
}

/** What Runs said whose place this one took while they waited. */
export async function replacedRows(
  activation: Activation,
  run: LiveRun,
  client: ClientBlobs,
): Promise<readonly Barrier[]> {
  const rows: Barrier[] = [];
  for (const before of run.replaced) {
    const { action } = before.request;
    if (!SAYS.has(action.kind)) continue;
    keepPrefetched(activation, before);
    await fetchContent(activation, before, messagesOf(action), client);
    rows.push(...(await openingRows(activation, before, undefined)));
    for (const [id, wire] of before.userMessages) run.userMessages.set(id, wire);
  }
  return rows;
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
