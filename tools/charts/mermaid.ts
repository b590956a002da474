import type { Chart, ChartState } from "./chart.ts";
import { fullLabel } from "./labels.ts";

/** A chart as Mermaid's `stateDiagram-v2`, with its hierarchy; each arrow says event, guard and actions. */
export function mermaid(chart: Chart): string {
  const lines = ["---", `title: ${chart.id}`, "---", "stateDiagram-v2"];
  const root = chart.states.find((state) => state.parent === null);
  const body = (parent: ChartState, indent: string) => {
    const children = chart.states.filter((state) => state.parent === parent.id);
    if (parent.initial !== null) lines.push(`${indent}[*] --> ${name(parent.initial)}`);
    children.forEach((child, index) => {
      if (parent.kind === "parallel" && index > 0) lines.push(`${indent}--`);
      lines.push(`${indent}state "${quoted(child.key)}" as ${name(child.id)}`);
      if (chart.states.some((state) => state.parent === child.id)) {
        lines.push(`${indent}state ${name(child.id)} {`);
        body(child, `${indent}  `);
        lines.push(`${indent}}`);
      }
      if (child.kind === "final") lines.push(`${indent}${name(child.id)} --> [*]`);
    });
  };
  if (root) body(root, "  ");
  for (const transition of chart.transitions) {
    // Mermaid cannot draw an arrow of the whole diagram; what the root handles in place stands in the JSON and the SVG
    if (transition.source === root?.id && transition.targets.length === 0) continue;
    const targets = transition.targets.length === 0 ? [transition.source] : transition.targets;
    for (const target of targets) {
      if (transition.source === root?.id)
        lines.push(`  %% from any state: ${name(target)} : ${text(fullLabel(transition))}`);
      else lines.push(`  ${name(transition.source)} --> ${name(target)} : ${text(fullLabel(transition))}`);
    }
  }
  return `${lines.join("\n")}\n`;
}

/** Mermaid takes letters, digits and `_` as a name. */
function name(id: string): string {
  return id.replaceAll(/[^A-Za-z0-9_]/g, "_");
}

function quoted(text: string): string {
  return text.replaceAll('"', "'");
}

/** A colon or a semicolon ends a label. */
function text(label: string): string {
  return label.replaceAll(":", "#58;").replaceAll(/;(?!)/g, ",");
}
