import type { ToolSpec } from "../native/tool.ts";
import type { Toolbox } from "./toolbox.ts";

/** The model called what is not there (case TL-05). */
export function unknownTool(name: string, box: Toolbox): string {
  return `There is no tool ${JSON.stringify(name)}. ${available(box)}`;
}

/** The arguments do not fit; with the schema, so that the next try does. */
export function badArguments(spec: ToolSpec, problems: readonly string[], box: Toolbox): string {
  const { name, inputSchema } = spec.definition;
  const list = problems.map((problem) => `- ${problem}`).join("\n");
  return `${name} was not run, since its arguments do not fit:\n${list}\nSchema of its arguments: ${JSON.stringify(inputSchema)}\n${available(box)}`;
}

function available({ names }: Toolbox): string {
  return `Tools of this mode: ${names.join(", ")}.`;
}
