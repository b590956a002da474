import type { Chart, ChartState, ChartTransition } from "./chart.ts";
import { label } from "./labels.ts";

/** An arrow to draw: between states with the same parent. */
export interface Arrow {
  readonly id: string;
  readonly source: string;
  readonly target: string;
  /** The states whose transitions it stands for. */
  readonly from: readonly string[];
  /** Labels of the transitions from `source` itself to `target` itself, unless they are text in `source`. */
  readonly label: readonly string[];
}

/** Ways out to siblings that a state may have before they all become text. */
const MOST_LABELLED = 3;

/**
 * The arrows of a chart. A transition that ends in another part of the chart is drawn as one between the two parts, so that a
 * chart with many ways to the same end stays readable; what it is in full is text in its state (`waysInText`).
 */
export function arrowsOf(chart: Chart): Arrow[] {
  const arrows = new Map<string, Arrow & { from: string[]; label: string[] }>();
  for (const transition of chart.transitions)
    for (const target of transition.targets) {
      const ends = partsOf(chart, transition.source, target);
      if (!ends) continue;
      const id = `${ends.source}->${ends.target}`;
      const arrow = arrows.get(id) ?? { id, ...ends, from: [], label: [] };
      if (!arrow.from.includes(transition.source)) arrow.from.push(transition.source);
      if (isLabelled(chart, transition.source, target)) arrow.label.push(label(transition));
      arrows.set(id, arrow);
    }
  return [...arrows.values()];
}

/** What no arrow's label says: target → labels, in the order of the chart. */
export function waysInText(chart: Chart, state: ChartState): Map<string, string[]> {
  const ways = new Map<string, string[]>();
  for (const transition of chart.transitions) {
    if (transition.source !== state.id) continue;
    for (const target of transition.targets) {
      if (target === state.id || isLabelled(chart, state.id, target)) continue;
      ways.set(target, [...(ways.get(target) ?? []), label(transition)]);
    }
  }
  return ways;
}

/**
 * Whether an arrow says what the transitions from one state to another are: both have the same parent, and the source has not
 * so many ways out that their labels would push the chart apart.
 */
function isLabelled(chart: Chart, source: string, target: string): boolean {
  const siblings = (end: string) => {
    const ends = partsOf(chart, source, end);
    return ends?.source === source && ends.target === end;
  };
  if (!siblings(target)) return false;
  const ends = chart.transitions.filter((one) => one.source === source).flatMap((one) => one.targets);
  return new Set(ends.filter(siblings)).size <= MOST_LABELLED;
}

/** Whether a transition is text in its state alone: it has no target, or its only target is the state itself. */
export function staysInside({ source, targets }: ChartTransition): boolean {
  return targets.every((target) => target === source);
}

/** The two states with the same parent that hold the ends; undefined if one end holds the other. */
function partsOf(chart: Chart, source: string, target: string): { source: string; target: string } | undefined {
  const from = lineage(chart, source);
  const to = lineage(chart, target);
  const at = from.findIndex((id, index) => id !== to[index]);
  const ends = { source: from[at], target: to[at] };
  return ends.source === undefined || ends.target === undefined
    ? undefined
    : { source: ends.source, target: ends.target };
}

/** Ids from the root down to a state. */
function lineage(chart: Chart, id: string): string[] {
  const state = chart.states.find((one) => one.id === id);
  return state === undefined || state.parent === null ? [id] : [...lineage(chart, state.parent), id];
}
