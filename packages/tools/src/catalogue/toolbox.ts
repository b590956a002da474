import type { ToolDefinition, ToolScope } from "@chartroom/domain";
import { mcpTool } from "../mcp/mcp.ts";
import { NATIVE_TOOLS } from "../native/all.ts";
import type { ToolSpec } from "../native/tool.ts";
import { nameOffers } from "./names.ts";

/** The tools of a scope. */
export interface Toolbox {
  readonly definitions: readonly ToolDefinition[];
  readonly names: readonly string[];
  /** A tool that may be called in this mode. */
  find(name: string): ToolSpec | undefined;
  /** Also a native tool of other modes: a stored call may come from one. */
  known(name: string): ToolSpec | undefined;
}

/** Native tools of the mode, then the offers by name. Equal scopes give equal toolboxes, byte for byte. */
export function toolbox(scope: ToolScope): Toolbox {
  const native = NATIVE_TOOLS[scope.mode].filter(
    // a client that says so has no linters to ask
    ({ toolIdentifier }) => toolIdentifier !== "READ_LINTS" || scope.context?.readLintsEnabled !== false,
  );
  const reserved = new Set(NATIVE_TOOLS.agent.map(({ definition }) => definition.name));
  const offered = [...nameOffers(scope.offers, reserved)].map(([name, offer]) => mcpTool(name, offer));
  const specs = new Map([...native, ...offered].map((spec) => [spec.definition.name, spec]));
  return {
    definitions: [...specs.values()].map(({ definition }) => definition),
    names: [...specs.keys()],
    find: (name) => specs.get(name),
    known: (name) => specs.get(name) ?? NATIVE_TOOLS.agent.find(({ definition }) => definition.name === name),
  };
}
