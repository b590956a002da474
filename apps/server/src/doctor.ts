import type { ModelDirectory } from "@chartroom/domain";
import { chainOf, doctor, type Finding, headView } from "@chartroom/history";
import { StoreError } from "@chartroom/store";
import type { Visit } from "./visit.ts";

/** A finding of the history doctor; a broken chain has no message of its own, and nothing heals it. */
export interface Diagnosis {
  readonly kind: Finding["kind"] | "broken-chain";
  readonly message: string | null;
  readonly call: string | null;
  readonly healing: string;
}

const BROKEN: Diagnosis = {
  kind: "broken-chain",
  message: null,
  call: null,
  healing: "Nothing: a row that the chain of checkpoints lists is not stored. Restore the database from a backup.",
};

/** What is wrong with the history that the conversation's head stands on, for the model that was asked last. */
export async function examine(
  { view, store, lease }: Visit,
  models: Pick<ModelDirectory, "resolve">,
): Promise<readonly Diagnosis[]> {
  const { head, chart } = view;
  if (head === undefined) return [];
  const [nodes, anchors] = await Promise.all([store.checkpoints(lease), store.anchors(lease)]);
  const rows = await store.messages(lease, head).catch((error: unknown) => {
    if (error instanceof StoreError && error.code === "brokenChain") return undefined;
    throw error;
  });
  const read = rows && headView(chainOf(nodes, anchors), head, rows);
  if (!read?.ok) return [BROKEN];
  const { messages } = read.view;
  // calls of a Run that lives are out, not lost
  const living = chart?.context.runId
    ? messages.findLast(({ content }) => content.kind === "assistant")?.id
    : undefined;
  const asked = view.runs.toSorted((a, b) => a.acceptedAt - b.acceptedAt).at(-1)?.modelId;
  const provider = asked === undefined ? undefined : models.resolve(asked)?.provider;
  const { id: vendor = "", requiresThinking: requireThinking = false } = provider ?? {};
  return doctor(messages, { vendor, requireThinking })
    .filter(({ kind, message }) => kind !== "missing-result" || message !== living)
    .map(({ kind, message, call, healing }) => ({ kind, message, call: call ?? null, healing }));
}
