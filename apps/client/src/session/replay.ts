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

/** Running text that may come again: one of the candidates, in pieces. */
interface Due {
  readonly candidates: readonly string[];
  /** What came since the reconnect and may still be one of them. */
  readonly said: string;
}

interface Expected {
  readonly text: Due;
  readonly thinking: Due;
  readonly thoughts: number;
  readonly tokens: number;
  readonly tools: Tools;
}

/**
 * What was shown that no checkpoint covers, and what of it the server is expected to say again after a reconnect
 * (lifecycle: updates that follow the checkpoint, or all of them, come once more). The state of a checkpoint with
 * pending tool calls ends before the step that asked for them, so a server may say that step again from its beginning
 * or only what followed the checkpoint.
 */
export interface Replay {
  /** Steps before the present one, as far as no checkpoint covers them. */
  readonly before: Shown;
  readonly step: Shown;
  /** How much text and thinking of these two the last checkpoint came after. */
  readonly mark: { readonly text: number; readonly thinking: number };
  /** A tool call was completed: text or calls that follow belong to the next step. */
  readonly stepDone: boolean;
  /** Cards of the whole turn, by call id. */
  readonly tools: Tools;
  /** What may come again; undefined when there was no reconnect. */
  readonly expected: Expected | undefined;
}

const NOTHING: Shown = { text: "", thinking: "", thoughts: 0, tokens: 0 };
const NO_MARK = { text: 0, thinking: 0 };
const NOT_DUE: Due = { candidates: [""], said: "" };
export const FRESH: Replay = {
  before: NOTHING,
  step: NOTHING,
  mark: NO_MARK,
  stepDone: false,
  tools: {},
  expected: undefined,
};

/** A checkpoint: what it covers will not be said again. Cards are known by their id, so they are remembered on. */
export function atCheckpoint(replay: Replay, pendingCalls: boolean): Replay {
  const cards = Object.entries(replay.tools).map(([id, tool]) => [id, { ...tool, output: "" }] as const);
  const covered = { ...replay, before: NOTHING, step: NOTHING, mark: NO_MARK, stepDone: false };
  if (!pendingCalls) return { ...covered, tools: Object.fromEntries(cards) };
  const { step, stepDone } = replay;
  return { ...covered, step, stepDone, mark: { text: step.text.length, thinking: step.thinking.length } };
}

/** A new stream: all that no checkpoint covers may come again. */
export function atReconnect(replay: Replay): Replay {
  const { mark, tools } = replay;
  const { text, thinking, thoughts, tokens } = uncovered(replay);
  return {
    ...replay,
    expected: { text: due(text, mark.text), thinking: due(thinking, mark.thinking), thoughts, tokens, tools },
  };
}

function due(shown: string, mark: number): Due {
  return { candidates: [shown, shown.slice(mark)], said: "" };
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
      const thoughts = replay.expected?.thoughts ?? 0;
      if (thoughts > 0) return swallow(replay, { thoughts: thoughts - 1 });
      return pass(remember(replay, { thoughts: replay.step.thoughts + 1 }), event);
    }
    default:
      return pass(replay, event);
  }
}

/** Output tokens that came: gives how many of them are new. */
export function judgeTokens(replay: Replay, tokens: number): { readonly tokens: number; readonly replay: Replay } {
  const old = replay.expected?.tokens ?? 0;
  const again = Math.min(old, tokens);
  const fresh = tokens - again;
  const next = remember(expect(replay, { tokens: old - again }), { tokens: replay.step.tokens + fresh });
  return { tokens: fresh, replay: next };
}

function judgeText(replay: Replay, event: Extract<TurnEvent, { type: "text" | "thinking" }>): Judgement {
  const key = event.type;
  const heard = hear(replay.expected?.[key] ?? NOT_DUE, event.text);
  if (heard.kind === "again") return swallow(replay, { [key]: heard.due });
  const next = expect(nextStep(replay), { [key]: NOT_DUE, tokens: 0 });
  const { text } = heard;
  // thoughts that differ are just further thoughts; an answer that differs makes the former one void
  if (heard.kind === "new" || key === "thinking") {
    return pass(remember(next, { [key]: next.step[key] + text }), { ...event, text });
  }
  const anew = {
    ...next,
    before: { ...next.before, text: "" },
    step: { ...next.step, text },
    mark: { ...next.mark, text: 0 },
  };
  return { event: { ...event, text }, replay: anew, diverged: true };
}

type Heard =
  /** So far it is what was shown. */
  | { readonly kind: "again"; readonly due: Due }
  /** Beyond what was shown. */
  | { readonly kind: "new"; readonly text: string }
  /** Not what was shown; `text` is all that came. */
  | { readonly kind: "other"; readonly text: string };

function hear({ candidates, said: before }: Due, piece: string): Heard {
  const said = before + piece;
  const alive = candidates.filter((candidate) => candidate.startsWith(said) || said.startsWith(candidate));
  if (alive.some((candidate) => candidate.startsWith(said))) return { kind: "again", due: { candidates: alive, said } };
  if (alive.length === 0) return { kind: "other", text: said };
  return { kind: "new", text: said.slice(Math.max(...alive.map((candidate) => candidate.length))) };
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
  const known = replay.expected?.tools[event.callId];
  const heard = hear({ candidates: [known?.output ?? ""], said: "" }, event.text);
  const rest = (output: string) =>
    known === undefined ? {} : { tools: { ...replay.expected?.tools, [event.callId]: { ...known, output } } };
  if (heard.kind === "again") return swallow(replay, rest((known?.output ?? "").slice(event.text.length)));
  const shown = toolOf(replay, event.callId);
  const output = shown.output.length > MAX_REMEMBERED_CHARS ? shown.output : shown.output + heard.text;
  return pass(expect(withTool(replay, event.callId, { ...shown, output }), rest("")), { ...event, text: heard.text });
}

/** Something new begins: the next step, if the calls of this one are done. */
function nextStep(replay: Replay): Replay {
  if (!replay.stepDone) return replay;
  return { ...replay, before: uncovered(replay), step: NOTHING, stepDone: false };
}

/** News of a call come after the words of its step: words that did not come again by now will not. */
function replayed(replay: Replay): Replay {
  return expect(replay, { text: NOT_DUE, thinking: NOT_DUE, thoughts: 0, tokens: 0 });
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

function expect(replay: Replay, change: Partial<Expected>): Replay {
  return replay.expected === undefined ? replay : { ...replay, expected: { ...replay.expected, ...change } };
}

function without(tools: Tools, callId: string): Tools {
  return Object.fromEntries(Object.entries(tools).filter(([id]) => id !== callId));
}

function pass(replay: Replay, event: TurnEvent): Judgement {
  return { event, replay, diverged: false };
}

function swallow(replay: Replay, change: Partial<Expected> = {}): Judgement {
  return { replay: expect(replay, change), diverged: false };
}
