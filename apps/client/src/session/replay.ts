import type { TurnEvent } from "./events.ts";

/** Output beyond this is not remembered for a replay; it would be shown twice rather than kept for ever. */
const MAX_REMEMBERED_CHARS = 256 * 1024;

/** What was shown of a stretch of a turn. */
interface Shown {
  readonly text: string;
  readonly thinking: string;
  /** Thoughts that were completed. */
  readonly thoughts: number;
  readonly tokens: number;
}

interface ShownTool {
  readonly started: boolean;
  readonly completed: boolean;
  /** Since the last checkpoint. */
  readonly output: string;
}

type Tools = Readonly<Record<string, ShownTool>>;

/**
 * What was shown that no checkpoint covers, and what of it the server is expected to say again after a reconnect
 * (lifecycle: updates that follow the checkpoint, or all of them, come once more). A checkpoint with pending tool calls
 * does not cover the step that asked for them: its state ends before that step.
 */
export interface Replay {
  /** Steps before the present one, as far as no checkpoint covers them. */
  readonly before: Shown;
  readonly step: Shown;
  /** A tool call was completed: text or calls that follow belong to the next step. */
  readonly stepDone: boolean;
  /** Cards of the whole turn, by call id. */
  readonly tools: Tools;
  /** What may come again; undefined when there was no reconnect. */
  readonly expected: (Shown & { readonly tools: Tools }) | undefined;
}

const NOTHING: Shown = { text: "", thinking: "", thoughts: 0, tokens: 0 };
export const FRESH: Replay = { before: NOTHING, step: NOTHING, stepDone: false, tools: {}, expected: undefined };

/** A checkpoint: what it covers will not be said again. Cards are known by their id, so they are remembered on. */
export function atCheckpoint(replay: Replay, pendingCalls: boolean): Replay {
  const cards = Object.entries(replay.tools).map(([id, tool]) => [id, { ...tool, output: "" }] as const);
  return {
    ...replay,
    before: NOTHING,
    step: pendingCalls ? replay.step : NOTHING,
    stepDone: pendingCalls && replay.stepDone,
    tools: pendingCalls ? replay.tools : Object.fromEntries(cards),
  };
}

/** A new stream: all that no checkpoint covers may come again. */
export function atReconnect(replay: Replay): Replay {
  return { ...replay, expected: { ...uncovered(replay), tools: replay.tools } };
}

/** What no checkpoint covers. */
export function uncovered({ before, step }: Replay): Shown {
  return {
    text: before.text + step.text,
    thinking: before.thinking + step.thinking,
    thoughts: before.thoughts + step.thoughts,
    tokens: before.tokens + step.tokens,
  };
}

export interface Judgement {
  /** What is new in the event, if anything. */
  readonly event?: TurnEvent;
  readonly replay: Replay;
  /** The server tells another text than before: what was shown of it since the checkpoint does not hold. */
  readonly diverged: boolean;
}

/** Judges one event of the server. */
export function judge(replay: Replay, event: TurnEvent): Judgement {
  switch (event.type) {
    case "text":
    case "thinking":
      return judgeText(replay, event);
    case "tool.partial":
    case "tool.started":
      return judgeOpening(replay, event);
    case "tool.completed":
      return judgeCompleted(replay, event);
    case "tool.output":
      return judgeOutput(replay, event);
    case "thinking.completed": {
      const due = replay.expected?.thoughts ?? 0;
      if (due > 0) return swallow(replay, { thoughts: due - 1 });
      return pass(remember(replay, { thoughts: replay.step.thoughts + 1 }), event);
    }
    default:
      return pass(replay, event);
  }
}

/** Output tokens that came: gives how many of them are new. */
export function judgeTokens(replay: Replay, tokens: number): { readonly tokens: number; readonly replay: Replay } {
  const due = replay.expected?.tokens ?? 0;
  const again = Math.min(due, tokens);
  const fresh = tokens - again;
  const next = remember(expect(replay, { tokens: due - again }), { tokens: replay.step.tokens + fresh });
  return { tokens: fresh, replay: next };
}

function judgeText(replay: Replay, event: Extract<TurnEvent, { type: "text" | "thinking" }>): Judgement {
  const key = event.type;
  const cut = afterDue(replay.expected?.[key] ?? "", event.text);
  if (cut.kind === "again") return swallow(replay, { [key]: cut.due });
  const next = expect(nextStep(replay), { [key]: "" });
  if (cut.kind === "new") {
    return pass(remember(next, { [key]: next.step[key] + cut.text }), { ...event, text: cut.text });
  }
  // an answer that differs makes the former one void; thoughts that differ are just further thoughts
  if (key === "thinking") return pass(remember(next, { thinking: next.step.thinking + event.text }), event);
  const anew = { ...next, before: { ...next.before, text: "" }, step: { ...next.step, text: event.text } };
  return { event, replay: anew, diverged: true };
}

function judgeOpening(replay: Replay, event: Extract<TurnEvent, { type: "tool.partial" | "tool.started" }>): Judgement {
  const shown = toolOf(replay, event.callId);
  if (replay.expected?.tools[event.callId]?.started === true) return swallow(replay);
  // a card that is open is not opened once more
  if (shown.started && !shown.completed) return swallow(replay);
  const next = replayed(nextStep(replay));
  return pass(withTool(next, event.callId, { ...shown, started: event.type === "tool.started" }), event);
}

function judgeCompleted(replay: Replay, event: Extract<TurnEvent, { type: "tool.completed" }>): Judgement {
  const due = replay.expected?.tools[event.callId];
  const done = { ...replay, stepDone: true };
  if (due?.completed === true) return swallow(done, { tools: without(replay.expected?.tools ?? {}, event.callId) });
  const shown = toolOf(replay, event.callId);
  return pass(withTool(replayed(done), event.callId, { ...shown, completed: true }), event);
}

function judgeOutput(replay: Replay, event: Extract<TurnEvent, { type: "tool.output" }>): Judgement {
  const due = replay.expected?.tools[event.callId];
  const cut = afterDue(due?.output ?? "", event.text);
  const rest = (output: string) =>
    due === undefined ? {} : { tools: { ...replay.expected?.tools, [event.callId]: { ...due, output } } };
  if (cut.kind === "again") return swallow(replay, rest(cut.due));
  const text = cut.kind === "new" ? cut.text : event.text;
  const shown = toolOf(replay, event.callId);
  const output = shown.output.length > MAX_REMEMBERED_CHARS ? shown.output : shown.output + text;
  return pass(expect(withTool(replay, event.callId, { ...shown, output }), rest("")), { ...event, text });
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

/** Something new begins: the next step, if the calls of this one are done. */
function nextStep(replay: Replay): Replay {
  if (!replay.stepDone) return replay;
  return { ...replay, before: uncovered(replay), step: NOTHING, stepDone: false };
}

/** News of a call come after the words of its step: words that did not come again by now will not. */
function replayed(replay: Replay): Replay {
  return expect(replay, NOTHING);
}

function toolOf(replay: Replay, callId: string): ShownTool {
  return replay.tools[callId] ?? { started: false, completed: false, output: "" };
}

function withTool(replay: Replay, callId: string, tool: ShownTool): Replay {
  return { ...replay, tools: { ...replay.tools, [callId]: tool } };
}

function remember(replay: Replay, change: Partial<Shown>): Replay {
  return { ...replay, step: { ...replay.step, ...change } };
}

function expect(replay: Replay, change: Partial<Shown & { tools: Tools }>): Replay {
  return replay.expected === undefined ? replay : { ...replay, expected: { ...replay.expected, ...change } };
}

function without(tools: Tools, callId: string): Tools {
  return Object.fromEntries(Object.entries(tools).filter(([id]) => id !== callId));
}

function pass(replay: Replay, event: TurnEvent): Judgement {
  return { event, replay, diverged: false };
}

function swallow(replay: Replay, change: Partial<Shown & { tools: Tools }> = {}): Judgement {
  return { replay: expect(replay, change), diverged: false };
}
