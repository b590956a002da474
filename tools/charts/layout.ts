import { PADDING, type ChartLayout, type LaidEdge, type LaidState, type StateLine } from "@chartroom/server/chart";
import elk, { type ElkExtendedEdge, type ElkNode } from "elkjs/lib/elk.bundled.js";
import { arrowsOf, staysInside, waysInText, type Arrow } from "./arrows.ts";
import type { Chart, ChartState } from "./chart.ts";
import { fullLabel, label } from "./labels.ts";

const FONT_SIZE = 12;
const LINE_HEIGHT = 16;
/** Width of a character of the fixed-width fonts that the drawing names, as a share of the font's size. */
const CHARACTER = 0.603;
/** Characters per line of text; a state with children is wide anyway. */
const WIDTH = { alone: { description: 46, event: 52 }, group: { description: 90, event: 90 } };
const MARGIN = 24;
const NO_BREAK = "\u00a0";

const OPTIONS = {
  "elk.algorithm": "layered",
  "elk.edgeRouting": "ORTHOGONAL",
  "elk.randomSeed": "1",
  "elk.json.shapeCoords": "ROOT",
  "elk.json.edgeCoords": "ROOT",
  "elk.spacing.nodeNode": "36",
  "elk.spacing.edgeNode": "18",
  "elk.spacing.edgeEdge": "14",
  "elk.spacing.edgeLabel": "4",
  "elk.layered.spacing.nodeNodeBetweenLayers": "40",
  "elk.layered.spacing.edgeNodeBetweenLayers": "18",
  "elk.layered.spacing.edgeEdgeBetweenLayers": "14",
  "elk.layered.cycleBreaking.strategy": "MODEL_ORDER",
  "elk.layered.considerModelOrder.strategy": "NODES_AND_EDGES",
  "elk.layered.nodePlacement.strategy": "NETWORK_SIMPLEX",
  "elk.layered.thoroughness": "20",
};

/** Lays a chart out. The same chart always gives the same layout. */
export async function layoutOf(chart: Chart): Promise<ChartLayout> {
  const arrows = arrowsOf(chart);
  const root = chart.states.find((state) => state.parent === null);
  if (!root) throw new Error(`${chart.id} has no root state`);
  const laid: ElkNode = await new elk.default().layout({
    id: "",
    layoutOptions: { ...OPTIONS, "elk.padding": padding(MARGIN, MARGIN) },
    children: [elkNode(chart, arrows, root)],
  });
  const nodes = new Map<string, ElkNode>();
  const edges = new Map<string, ElkExtendedEdge>();
  const collect = (node: ElkNode) => {
    nodes.set(node.id, node);
    for (const edge of node.edges ?? []) edges.set(edge.id, edge);
    node.children?.forEach(collect);
  };
  collect(laid);
  return {
    id: chart.id,
    description: chart.description,
    width: round(laid.width),
    height: round(laid.height),
    fontSize: FONT_SIZE,
    lineHeight: LINE_HEIGHT,
    states: chart.states.map((state) => laidState(chart, state, nodes.get(state.id))),
    edges: [
      ...chart.states.flatMap(({ id, initial }) =>
        initial === null
          ? []
          : [laidEdge({ source: null, target: initial, from: [], label: [] }, edges.get(markOf(id)))],
      ),
      ...arrows.map((arrow) => laidEdge(arrow, edges.get(arrow.id))),
    ],
    ways: chart.transitions.flatMap((transition) =>
      staysInside(transition)
        ? []
        : transition.targets.map((target) => ({ source: transition.source, target, label: label(transition) })),
    ),
  };
}

function elkNode(chart: Chart, arrows: readonly Arrow[], state: ChartState): ElkNode {
  const size = sizeOf(
    linesOf(chart, state).map(({ text }) => text),
    PADDING,
  );
  const children = chart.states.filter((child) => child.parent === state.id);
  if (children.length === 0) return { id: state.id, ...size };
  const inside = new Set(children.map(({ id }) => id));
  const mark = markOf(state.id);
  return {
    id: state.id,
    layoutOptions: {
      ...OPTIONS,
      // the whole runs down the page, what is inside its parts runs across: about as wide as high
      "elk.direction": state.parent === null ? "DOWN" : "RIGHT",
      "elk.padding": padding(size.height + PADDING * 1.5, PADDING * 2),
      "elk.nodeSize.constraints": "MINIMUM_SIZE",
      "elk.nodeSize.minimum": `(${size.width},${size.height})`,
    },
    children: [
      ...(state.initial === null ? [] : [{ id: mark, width: 8, height: 8 }]),
      ...children.map((child) => elkNode(chart, arrows, child)),
    ],
    edges: [
      ...(state.initial === null ? [] : [{ id: mark, sources: [mark], targets: [state.initial] }]),
      ...arrows
        .filter(({ source }) => inside.has(source))
        .map(({ id, source, target, label: lines }) => ({
          id,
          sources: [source],
          targets: [target],
          ...(lines.length > 0 ? { labels: [{ text: lines.join("\n"), ...sizeOf(lines, 3) }] } : {}),
        })),
    ],
  };
}

/** Id of the mark of a state's initial child, and of the arrow from it. */
function markOf(id: string): string {
  return `initial:${id}`;
}

function padding(top: number, other: number): string {
  return `[top=${top},left=${other},bottom=${other},right=${other}]`;
}

function linesOf(chart: Chart, state: ChartState): StateLine[] {
  const inside = chart.transitions.filter((transition) => transition.source === state.id && staysInside(transition));
  const width = chart.states.some((child) => child.parent === state.id) ? WIDTH.group : WIDTH.alone;
  const pathOf = (id: string) => chart.states.find((one) => one.id === id)?.path ?? id;
  return [
    { kind: "title", text: state.key },
    ...wrap(state.description, width.description).map((text): StateLine => ({ kind: "description", text })),
    ...state.invoke.map(({ src }): StateLine => ({ kind: "invoke", text: `▸ ${src}` })),
    ...action("entry", state.entry, width.event),
    ...action("exit", state.exit, width.event),
    ...inside.flatMap((transition) => {
      const again = transition.reenter ? `↻ ${fullLabel(transition)}` : fullLabel(transition);
      return wrap(again, width.event, "    ").map((text): StateLine => ({ kind: "event", text }));
    }),
    ...[...waysInText(chart, state)].flatMap(([target, labels]) =>
      wrap(`→ ${pathOf(target)}: ${labels.map(whole).join(", ")}`, width.event, "    ").map((text): StateLine => ({
        kind: "way",
        text,
      })),
    ),
  ];
}

function action(when: string, names: readonly string[], width: number): StateLine[] {
  if (names.length === 0) return [];
  return wrap(`${when} / ${names.join(", ")}`, width, "    ").map((text): StateLine => ({
    kind: "action",
    text,
  }));
}

function laidState(chart: Chart, state: ChartState, node: ElkNode | undefined): LaidState {
  if (!node) throw new Error(`${state.id} was not laid out`);
  const { id, key, path, parent, kind, description } = state;
  const box = { x: round(node.x), y: round(node.y), width: round(node.width), height: round(node.height) };
  return { id, key, path, parent, kind, box, description, lines: linesOf(chart, state) };
}

function laidEdge(
  { source, target, from, label: lines }: Pick<LaidEdge, "source" | "target" | "from" | "label">,
  edge: ElkExtendedEdge | undefined,
): LaidEdge {
  const section = edge?.sections?.[0];
  if (!section) throw new Error(`the arrow to ${target} was not laid out`);
  const points = [section.startPoint, ...(section.bendPoints ?? []), section.endPoint].map(({ x, y }) => ({
    x: round(x),
    y: round(y),
  }));
  const at = edge.labels?.[0];
  const labelBox = at ? { x: round(at.x), y: round(at.y), width: round(at.width), height: round(at.height) } : null;
  return { source, target, from, points, label: lines, labelBox };
}

function sizeOf(lines: readonly string[], inset: number): { width: number; height: number } {
  const longest = Math.max(0, ...lines.map((line) => line.length));
  return {
    width: Math.ceil(longest * FONT_SIZE * CHARACTER) + 2 * inset,
    height: lines.length * LINE_HEIGHT + (inset > 5 ? 2 * inset : 0),
  };
}

function wrap(text: string, width: number, hang = ""): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ").filter((one) => one !== "")) {
    const next = line === "" ? word : `${line} ${word}`;
    if (next.length > width && line !== "") {
      lines.push(line);
      line = hang + word;
    } else line = next;
  }
  return (line === "" ? lines : [...lines, line]).map((one) => one.replaceAll(NO_BREAK, " "));
}

/** Keeps the words of a label together, unless they need more than a line. */
function whole(words: string): string {
  return words.length > WIDTH.alone.event - 8 ? words : words.replaceAll(" ", NO_BREAK);
}

function round(n: number | undefined): number {
  return Math.round((n ?? 0) * 10) / 10;
}
