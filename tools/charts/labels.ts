import type { ChartTransition } from "./chart.ts";

/** An event as a reader of the chart knows it: `after bound`, `done prepare`, `error prepare`, `always`, or its own name. */
function eventLabel(type: string, source: string): string {
  if (type === "") return "always";
  const after = strip(type, "xstate.after.");
  if (after !== undefined) return `after ${withoutEnd(after, `.${source}`)}`;
  const done = strip(type, "xstate.done.actor.");
  if (done !== undefined) return `done ${withoutEnd(done, `.${source}`)}`;
  const error = strip(type, "xstate.error.actor.");
  if (error !== undefined) return `error ${withoutEnd(error, `.${source}`)}`;
  return strip(type, "xstate.done.state.") === undefined ? type : "done";
}

/** `event [guard]`. */
export function label({ type, source, guard }: ChartTransition): string {
  return `${eventLabel(type, source)}${guard === null ? "" : ` [${guard}]`}`;
}

/** `event [guard] / action, action`. */
export function fullLabel(transition: ChartTransition): string {
  const { actions } = transition;
  return `${label(transition)}${actions.length === 0 ? "" : ` / ${actions.join(", ")}`}`;
}

function strip(text: string, start: string): string | undefined {
  return text.startsWith(start) ? text.slice(start.length) : undefined;
}

function withoutEnd(text: string, end: string): string {
  return text.endsWith(end) ? text.slice(0, -end.length) : text;
}
