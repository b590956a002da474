import { drawChart } from "@chartroom/server/chart";
import type { AnyStateMachine } from "xstate";
import { chartOf } from "./chart.ts";
import { layoutOf } from "./layout.ts";
import { mermaid } from "./mermaid.ts";

/** The files that are generated for a machine, by their names in machines/charts. */
export async function outputsOf(machine: AnyStateMachine): Promise<Map<string, string>> {
  const chart = chartOf(machine);
  const layout = await layoutOf(chart);
  return new Map([
    [`${chart.id}.mmd`, mermaid(chart)],
    [`${chart.id}.json`, json(chart)],
    [`${chart.id}.layout.json`, json(layout)],
    [`${chart.id}.svg`, drawChart(layout)],
  ]);
}

/** How the files of a folder differ from what they should be: missing or with another text, and belonging to no machine. */
export function differences(
  expected: ReadonlyMap<string, string>,
  present: ReadonlyMap<string, string>,
): { readonly differing: string[]; readonly stale: string[] } {
  return {
    differing: [...expected].flatMap(([name, text]) => (present.get(name) === text ? [] : [name])),
    stale: [...present.keys()].filter((name) => !expected.has(name)),
  };
}

/** The one machine that a module exports; an error names the module if there is none or more than one. */
export function machineIn(file: string, module: Record<string, unknown>): AnyStateMachine {
  const machines = new Set(Object.values(module).filter(isMachine));
  const [machine] = machines;
  if (!machine || machines.size > 1) throw new Error(`${file} exports ${machines.size} machines, not one`);
  return machine;
}

function isMachine(value: unknown): value is AnyStateMachine {
  return typeof value === "object" && value !== null && "root" in value && "implementations" in value;
}

function json(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}
