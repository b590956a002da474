import type { Box, ChartLayout, LaidEdge, LaidState, LineKind, Point } from "./layout.ts";

const LIGHT = {
  page: "#ffffff",
  box: "#f5f7f9",
  group: "#ffffff",
  line: "#8895a3",
  text: "#1c2733",
  muted: "#566371",
  port: "#0b6b5a",
  event: "#6b3fa0",
  way: "#9a4a0b",
  active: "#1d5fd1",
  glow: "#dce9ff",
};
const DARK: typeof LIGHT = {
  page: "#12161b",
  box: "#1d242c",
  group: "#161b21",
  line: "#75828f",
  text: "#e6ebf0",
  muted: "#a3b0bc",
  port: "#5fcdb5",
  event: "#c3a5ee",
  way: "#f0ae78",
  active: "#7fb0ff",
  glow: "#1f3355",
};

const LINE_CLASS: Record<LineKind, string> = {
  title: "title",
  description: "muted",
  invoke: "port",
  action: "muted",
  event: "event",
  way: "way",
};

/** Inner distance from a state's edge to its text, in pixels; the layout is made with the same. */
export const PADDING = 10;

/**
 * Draws a chart as a whole SVG document, with the given states highlighted (see `activeStates`) and the ways out of them.
 * The same layout and states always give the same text. Follows the viewer's light or dark preference.
 */
export function drawChart(layout: ChartLayout, currentStateIds: readonly string[] = []): string {
  const current = new Set(currentStateIds);
  const { width, height, fontSize } = layout;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="chart-title">`,
    `<title id="chart-title">${escapeText(`${layout.id}: ${layout.description}`)}</title>`,
    `<style>${style(fontSize)}</style>`,
    `<defs>${marker("arrow", "arrow")}${marker("arrow-active", "arrow active")}</defs>`,
    `<rect class="page" width="${width}" height="${height}"/>`,
    ...layout.states.map((state) => drawState(layout, state, current.has(state.id))),
    ...layout.edges.map((edge) => drawEdge(edge, isWayOut(edge, current))),
    ...layout.edges.map((edge) => drawLabel(layout, edge, isWayOut(edge, current))),
    "</svg>",
    "",
  ].join("\n");
}

function isWayOut(edge: LaidEdge, current: ReadonlySet<string>): boolean {
  return edge.from.some((id) => current.has(id));
}

function style(fontSize: number): string {
  const rules = (c: typeof LIGHT) =>
    [
      `.page{fill:${c.page}}`,
      `.state{fill:${c.box};stroke:${c.line};stroke-width:1.2}`,
      `.state.group{fill:${c.group}}`,
      `.state.active{fill:${c.glow};stroke:${c.active};stroke-width:2.5}`,
      // a group that is active holds the active state, which alone is filled
      `.state.group.active{fill:${c.group}}`,
      `.rule{stroke:${c.line};stroke-width:.6}`,
      `.edge{fill:none;stroke:${c.line};stroke-width:1.2}`,
      `.edge.active{stroke:${c.active};stroke-width:1.8}`,
      `.arrow,.dot{fill:${c.line}}.arrow.active{fill:${c.active}}`,
      `.behind{fill:${c.page};fill-opacity:.85}`,
      `text{fill:${c.text}}`,
      `.muted{fill:${c.muted}}.port{fill:${c.port}}.event{fill:${c.event}}.way{fill:${c.way}}`,
      `text.label{fill:${c.muted}}text.label.active{fill:${c.active}}`,
    ].join("");
  return [
    `text{font:${fontSize}px "DejaVu Sans Mono",Menlo,Consolas,monospace;white-space:pre}`,
    `.title{font-weight:bold}`,
    rules(LIGHT),
    `@media (prefers-color-scheme:dark){${rules(DARK)}}`,
  ].join("");
}

function marker(id: string, className: string): string {
  return `<marker id="${id}" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto"><path class="${className}" d="M0 0 8 4 0 8z"/></marker>`;
}

function drawState(layout: ChartLayout, state: LaidState, active: boolean): string {
  const { x, y, width, height } = state.box;
  const group = state.kind === "compound" || state.kind === "parallel";
  const names = ["state", ...(group ? ["group"] : []), ...(active ? ["active"] : [])].join(" ");
  const dash = state.kind === "parallel" ? ' stroke-dasharray="6 3"' : "";
  const parts = [
    `<g id="${escapeText(`state-${state.id}`)}"><title>${escapeText(`${state.id}: ${state.description}`)}</title>`,
    `<rect class="${names}" x="${x}" y="${y}" width="${width}" height="${height}" rx="6"${dash}/>`,
  ];
  if (state.kind === "final")
    parts.push(`<rect class="edge" x="${x + 3}" y="${y + 3}" width="${width - 6}" height="${height - 6}" rx="4"/>`);
  state.lines.forEach(({ kind, text }, index) => {
    const at = y + PADDING + (index + 1) * layout.lineHeight - (layout.lineHeight - layout.fontSize);
    parts.push(`<text class="${LINE_CLASS[kind]}" x="${x + PADDING}" y="${at}">${escapeText(text)}</text>`);
  });
  if (group) {
    const at = y + PADDING * 1.5 + state.lines.length * layout.lineHeight;
    parts.push(`<path class="rule" d="M${x} ${at}H${x + width}"/>`);
  }
  parts.push("</g>");
  return parts.join("");
}

function drawEdge(edge: LaidEdge, active: boolean): string {
  const start = edge.points[0];
  const dot = edge.source === null && start ? `<circle class="dot" cx="${start.x}" cy="${start.y}" r="4"/>` : "";
  const suffix = active ? "-active" : "";
  return `${dot}<path class="edge${active ? " active" : ""}" marker-end="url(#arrow${suffix})" d="${rounded(edge.points)}"/>`;
}

function drawLabel(layout: ChartLayout, edge: LaidEdge, active: boolean): string {
  const box = edge.labelBox;
  if (!box) return "";
  const lines = edge.label.map((text, index) => {
    const at = box.y + (index + 1) * layout.lineHeight - (layout.lineHeight - layout.fontSize);
    return `<text class="label${active ? " active" : ""}" x="${box.x + 3}" y="${at}">${escapeText(text)}</text>`;
  });
  return `${rectangle("behind", box)}${lines.join("")}`;
}

function rectangle(className: string, { x, y, width, height }: Box): string {
  return `<rect class="${className}" x="${x}" y="${y}" width="${width}" height="${height}" rx="3"/>`;
}

/** A path through the points with its corners rounded. */
function rounded(points: readonly Point[]): string {
  const [first, ...rest] = points;
  if (!first) return "";
  let path = `M${first.x} ${first.y}`;
  rest.forEach((point, index) => {
    const before = points[index] ?? point;
    const after = rest[index + 1];
    if (!after) {
      path += `L${point.x} ${point.y}`;
      return;
    }
    const into = towards(point, before);
    const out = towards(point, after);
    path += `L${into.x} ${into.y}Q${point.x} ${point.y} ${out.x} ${out.y}`;
  });
  return path;
}

/** The point 6 pixels from a corner on the way to its neighbour, or half-way if that is nearer. */
function towards(corner: Point, neighbour: Point): Point {
  const length = Math.hypot(neighbour.x - corner.x, neighbour.y - corner.y);
  const share = length === 0 ? 0 : Math.min(6, length / 2) / length;
  return {
    x: round(corner.x + (neighbour.x - corner.x) * share),
    y: round(corner.y + (neighbour.y - corner.y) * share),
  };
}

function round(n: number): number {
  return Math.round(n * 10) / 10;
}

function escapeText(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
