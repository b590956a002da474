import { compact } from "@chartroom/history";
import { contextSections, summaryText } from "@chartroom/prompting";
import { compiledOf } from "../history/compile.ts";
import { encodeHead, publishCheckpoint } from "../streams/checkpoint-publisher.ts";
import { modelRows } from "../history/model-rows.ts";
import type { PortCall } from "./port.ts";

/** Commits the new prefix; what the user sees of the chat keeps everything. */
export async function commitCompaction({ activation, run, send }: PortCall): Promise<void> {
  const { codec } = activation.deps;
  const { runId } = run.row;
  const { scope, model } = compiledOf(run);
  const { history, wire } = activation;
  const compacted = compact({
    ...history.place(runId),
    summary: summaryText(run.summary, run.survivors),
    context: scope.context ? contextSections(scope.context, { inSystem: compiledOf(run).custom }) : [],
    window: activation.window.windowOf(model),
    opening: [...run.userMessages.keys()],
  });
  const done = await activation.commit(() => ({
    ...history.extend(compacted.node, compacted.added),
    messages: compacted.messages,
    ...modelRows(run),
  }));
  if (!done) return;
  activation.window.compacted();
  // the branch has a new prefix: its state is written anew
  wire.head = undefined;
  const head = await encodeHead(activation, run);
  if (!(await activation.commit(() => head))) return;
  activation.append(run, "update", codec.update({ kind: "summaryCompleted" }));
  activation.beside("checkpoint", publishCheckpoint(activation, run));
  send({ type: "compaction.committed", runId });
}
