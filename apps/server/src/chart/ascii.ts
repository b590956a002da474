import type { ChartLayout, LaidState } from "./layout.ts";

/**
 * Draws a chart for a terminal: the tree of states with their ways out, the current ones marked with `▶`.
 * With `currentOnly`, ways out are shown for current states alone. Ends with a newline.
 */
export function drawAscii(
  layout: ChartLayout,
  currentStateIds: readonly string[] = [],
  options: { readonly currentOnly?: boolean } = {},
): string {
  const current = new Set(currentStateIds);
  const lines: string[] = [];
  const visit = (state: LaidState, lead: string, branch: string, rest: string) => {
    const active = current.has(state.id);
    lines.push(`${active ? "▶" : " "} ${lead}${branch}${state.key}${note(layout, state)}`);
    const children = layout.states.filter((child) => child.parent === state.id);
    if (active || !options.currentOnly) {
      const stem = `${lead}${rest}${children.length > 0 ? "│ " : "  "}`;
      for (const text of waysOut(layout, state)) lines.push(`  ${stem}  ${text}`);
    }
    children.forEach((child, index) => {
      const last = index === children.length - 1;
      visit(child, `${lead}${rest}`, last ? "└─ " : "├─ ", last ? "   " : "│  ");
    });
  };
  for (const root of layout.states.filter((state) => state.parent === null)) visit(root, "", "", "");
  return `${lines.join("\n")}\n`;
}

function note(layout: ChartLayout, state: LaidState): string {
  const notes = [
    ...(layout.edges.some((edge) => edge.source === null && edge.target === state.id) ? ["initial"] : []),
    ...(state.kind === "final" || state.kind === "parallel" || state.kind === "history" ? [state.kind] : []),
  ];
  return notes.length > 0 ? ` (${notes.join(", ")})` : "";
}

function waysOut(layout: ChartLayout, state: LaidState): string[] {
  const pathOf = (id: string) => layout.states.find((one) => one.id === id)?.path ?? id;
  return layout.ways
    .filter((way) => way.source === state.id)
    .map((way) => `${way.label} → ${pathOf(way.target) || layout.id}`);
}
