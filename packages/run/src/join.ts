import type { ModelEvent } from "@chartroom/domain";

/** Joins adjacent deltas of the same kind (and, for arguments, of the same call), so that each is encoded once. */
export function joinDeltas(batch: readonly ModelEvent[]): readonly ModelEvent[] {
  if (batch.length < 2) return batch;
  const joined: ModelEvent[] = [];
  for (const event of batch) {
    const last = joined.at(-1);
    const both = last && joinTwo(last, event);
    if (both) joined[joined.length - 1] = both;
    else joined.push(event);
  }
  return joined;
}

function joinTwo(a: ModelEvent, b: ModelEvent): ModelEvent | undefined {
  if (a.type === "text" && b.type === "text") return { type: "text", text: a.text + b.text };
  if (a.type === "thinking" && b.type === "thinking") return { type: "thinking", text: a.text + b.text };
  if (a.type === "callArguments" && b.type === "callArguments" && a.index === b.index) {
    return { type: "callArguments", index: a.index, text: a.text + b.text };
  }
  return undefined;
}
