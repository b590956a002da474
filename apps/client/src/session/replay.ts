import type { TurnEvent } from "./events.ts";

/** Output beyond this is not remembered for a replay; it would be shown twice rather than kept for ever. */
const MAX_REMEMBERED_CHARS = 256 * 1024;

interface Shown {
  readonly text: string;
  readonly thinking: string;
  /** Thoughts that were completed. */
  readonly thoughts: number;
  /** Tool cards by call id: how far they were shown, and their output. */
  readonly tools: Readonly<Record<string, ShownTool>>;
}

interface ShownTool {
  readonly started: boolean;
  readonly completed: boolean;
  readonly output: string;
}

/**
 * What was shown since the last checkpoint of the turn, and what of it the server is expected to say again after a
 * reconnect (lifecycle: updates that follow the checkpoint, or all of them, come once more).
 */
export interface Replay {
  readonly shown: Shown;
  /** Still expected again; undefined when nothing is replayed. */
  readonly expected: Shown | undefined;
}

const NOTHING: Shown = { text: "", thinking: "", thoughts: 0, tools: {} };
export const FRESH: Replay = { shown: NOTHING, expected: undefined };

/** A checkpoint: what came before it will not be said again. */
export function atCheckpoint(replay: Replay): Replay {
  return { ...replay, shown: NOTHING };
}

/** A new stream: all that was shown since the checkpoint may come again. */
export function atReconnect(replay: Replay): Replay {
  return { ...replay, expected: replay.shown };
}

/**
 * Judges one event of the server: gives what is new in it, if anything, and the state after it. `diverged` says that
 * the server tells another text than before, so that what was shown of it since the checkpoint does not hold.
 */
export function judge(replay: Replay, event: TurnEvent): { event?: TurnEvent; replay: Replay; diverged: boolean } {
  switch (event.type) {
    case "text":
    case "thinking":
      return judgeText(replay, event);
    case "tool.partial":
    case "tool.started":
    case "tool.completed":
      return judgeCard(replay, event);
    case "tool.output":
      return judgeOutput(replay, event);
    case "thinking.completed": {
      const due = replay.expected?.thoughts ?? 0;
      if (due > 0) return swallow(replay, { thoughts: due - 1 });
      return pass(remember(replay, { thoughts: replay.shown.thoughts + 1 }), event);
    }
    default:
      return pass(replay, event);
  }
}

function judgeText(replay: Replay, event: Extract<TurnEvent, { type: "text" | "thinking" }>) {
  const key = event.type;
  const due = replay.expected?.[key] ?? "";
  const cut = afterDue(due, event.text);
  if (cut.kind === "again") return swallow(replay, { [key]: cut.due });
  if (cut.kind === "new") {
    const after = remember(replay, { [key]: replay.shown[key] + cut.text });
    return pass(expect(after, { [key]: "" }), { ...event, text: cut.text });
  }
  // an answer that differs makes the former one void; thoughts that differ are just further thoughts
  const after = expect(remember(replay, { [key]: key === "text" ? event.text : replay.shown[key] + event.text }), {
    [key]: "",
  });
  return { ...pass(after, event), diverged: key === "text" };
}

function judgeCard(
  replay: Replay,
  event: Extract<TurnEvent, { type: "tool.partial" | "tool.started" | "tool.completed" }>,
) {
  const shown = replay.shown.tools[event.callId] ?? { started: false, completed: false, output: "" };
  const due = replay.expected?.tools[event.callId];
  const completed = event.type === "tool.completed";
  if (due !== undefined && (completed ? due.completed : due.started)) {
    return completed
      ? swallow(replay, { tools: without(replay.expected?.tools ?? {}, event.callId) })
      : swallow(replay);
  }
  const next = {
    ...shown,
    started: shown.started || event.type !== "tool.partial",
    completed: shown.completed || completed,
  };
  return pass(remember(replay, { tools: { ...replay.shown.tools, [event.callId]: next } }), event);
}

function judgeOutput(replay: Replay, event: Extract<TurnEvent, { type: "tool.output" }>) {
  const due = replay.expected?.tools[event.callId];
  const cut = afterDue(due?.output ?? "", event.text);
  const rest = (output: string) =>
    due === undefined ? {} : { tools: { ...replay.expected?.tools, [event.callId]: { ...due, output } } };
  if (cut.kind === "again") return swallow(replay, rest(cut.due));
  const text = cut.kind === "new" ? cut.text : event.text;
  const shown = replay.shown.tools[event.callId] ?? { started: false, completed: false, output: "" };
  const output = shown.output.length > MAX_REMEMBERED_CHARS ? shown.output : shown.output + text;
  const after = remember(replay, { tools: { ...replay.shown.tools, [event.callId]: { ...shown, output } } });
  return pass(expect(after, rest("")), { ...event, text });
}

type Cut =
  | { readonly kind: "again"; readonly due: string }
  | { readonly kind: "new"; readonly text: string }
  | { readonly kind: "other" };

/** How a piece stands to what is due: part of it, beyond it, or something else. */
function afterDue(due: string, text: string): Cut {
  if (due === "") return { kind: "new", text };
  if (due.startsWith(text)) return { kind: "again", due: due.slice(text.length) };
  return text.startsWith(due) ? { kind: "new", text: text.slice(due.length) } : { kind: "other" };
}

function remember(replay: Replay, change: Partial<Shown>): Replay {
  return { ...replay, shown: { ...replay.shown, ...change } };
}

function expect(replay: Replay, change: Partial<Shown>): Replay {
  return replay.expected === undefined ? replay : { ...replay, expected: { ...replay.expected, ...change } };
}

function without(tools: Shown["tools"], callId: string): Shown["tools"] {
  return Object.fromEntries(Object.entries(tools).filter(([id]) => id !== callId));
}

function pass(replay: Replay, event: TurnEvent) {
  return { event, replay, diverged: false };
}

function swallow(replay: Replay, change: Partial<Shown> = {}) {
  return { replay: expect(replay, change), diverged: false };
}
