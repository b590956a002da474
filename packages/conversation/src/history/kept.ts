import type { Barrier } from "@chartroom/domain";
import type { Activation } from "../activation/activation.ts";
import type { LiveRun } from "../activation/live-run.ts";
import { mergeBarriers } from "../activation/merge-barriers.ts";
import { fetchContent, keepPrefetched, messagesOf } from "../commands/message-content.ts";
import { type ClientBlobs, hasBegun, takeClientState } from "./client-state.ts";
import { broughtContext, compileRun } from "./compile.ts";
import { openerTaken, openingRows } from "./opening.ts";
import { related } from "./related.ts";
import { saidRows, says } from "./said.ts";

const NOBODY: ClientBlobs = { get: () => Promise.resolve(undefined) };

/**
 * What an inbox row said to a Run that ends before it was prepared becomes history all the same; unless another Run waits,
 * which takes the row.
 */
export async function keepOpening(activation: Activation, run: LiveRun): Promise<Barrier> {
  if (run.opener === undefined || activation.waitingRun) return {};
  await activation.loadHistory();
  const before = await saidRows(activation, run, "continue", NOBODY);
  const rows = await openingRows(activation, run, undefined);
  const { head } = activation.history.view;
  return mergeBarriers(...before, ...rows, openerTaken(activation, run), head ? { head } : {});
}

/**
 * What a Run request said is history when the Run is stopped before it was prepared: its client shows it, and does not say it
 * again. Nobody is asked for anything; what cannot be placed, or read, without the client is not kept.
 */
export async function keepRequest(activation: Activation, run: LiveRun): Promise<Barrier> {
  const { action } = run.request;
  if (run.opened || run.opener !== undefined || activation.context.step > 0 || !says(action)) return {};
  await activation.loadHistory();
  if (hasBegun(activation, run)) return {};
  keepPrefetched(activation, run);
  if (!(await fetchContent(activation, run, messagesOf(action), NOBODY))) return {};
  const taken = await takeClientState(activation, run, NOBODY);
  if (!taken.ok) return {};
  const context = broughtContext(run);
  run.compiled ??= compileRun(activation, run, context);
  const before = await saidRows(activation, run, taken.relation, NOBODY);
  const rows = await openingRows(activation, run, context);
  run.opened = true;
  const { head } = activation.history.view;
  return mergeBarriers(
    taken.barrier,
    related(activation, run, taken.relation),
    ...before,
    ...rows,
    head ? { head } : {},
  );
}
