import type { JsonObject, ToolCallId, ToolDefinition, ToolScope } from "@chartroom/domain";
import { unwrapArguments } from "../arguments/parse.ts";
import type { Shape } from "../arguments/shape.ts";
import type { ToolProgram } from "../execution/program.ts";
import type { ToolVariant } from "../wire.ts";

/** Where a call is made. */
export interface CallSite {
  readonly scope: ToolScope;
  readonly callId: ToolCallId;
}

/** What the cards of one call show besides what its program shows. */
export interface CallCards {
  /** The call as a failure that has only a text. */
  failed(text: string): ToolVariant;
  /** The call as a success of which only the text is known (a result from another server's history). */
  told(text: string): ToolVariant;
}

export type Prepared =
  | { readonly ok: true; readonly program: ToolProgram }
  | { readonly ok: false; readonly problems: readonly string[] };

/** One tool of the catalogue, native or offered, as the port sees it. */
export interface ToolSpec {
  readonly definition: ToolDefinition;
  /** The tool's stored name in `pending_tool_calls` (wire section 8.4). */
  readonly toolIdentifier: string;
  readonly dynamic: boolean;
  /** Does a call change anything outside the conversation? */
  readonly changes: boolean;
  /** The argument whose text is shown in the file while it streams in. */
  readonly streamed?: string;
  /** The tool case with what can be read of the arguments; without any: the card that opens. */
  card(site: CallSite, args: JsonObject): ToolVariant;
  cards(site: CallSite, args: JsonObject): CallCards;
  prepare(site: CallSite, args: JsonObject): Prepared;
}

/** What a native tool declares. `A`: its arguments; `R`: the wire's result message of its tool case. */
export interface NativeTool<A, R> {
  readonly name: string;
  readonly description: string;
  readonly shape: Shape<A>;
  readonly changes: boolean;
  readonly streamed?: keyof A & string;
  /** The tool case; no result: not done yet. */
  variant(args: Partial<A>, site: CallSite, result?: R): ToolVariant;
  failed(text: string, args: Partial<A>): R;
  told(text: string, args: Partial<A>): R;
  program(args: A, site: CallSite): ToolProgram;
}

export function nativeTool<A, R>(tool: NativeTool<A, R>): ToolSpec {
  const { shape } = tool;
  return {
    definition: { name: tool.name, description: tool.description, inputSchema: shape.schema },
    toolIdentifier: upperSnake(tool.name),
    dynamic: false,
    changes: tool.changes,
    ...(tool.streamed !== undefined && { streamed: tool.streamed }),
    card: (site, args) => tool.variant(shape.some(args), site),
    cards(site, given) {
      const args = shape.some(given);
      return {
        failed: (text) => tool.variant(args, site, tool.failed(text, args)),
        told: (text) => tool.variant(args, site, tool.told(text, args)),
      };
    },
    prepare(site, given) {
      const read = shape.read(given);
      if (read.ok) return { ok: true, program: tool.program(read.value, site) };
      const inner = unwrapArguments(given, shape.declares);
      const unwrapped = inner === undefined ? read : shape.read(inner);
      return unwrapped.ok ? { ok: true, program: tool.program(unwrapped.value, site) } : read;
    },
  };
}

/** `ReadLints` → `READ_LINTS`. */
export function upperSnake(name: string): string {
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1_$2")
    .replaceAll(/[^A-Za-z0-9]+/g, "_")
    .toUpperCase();
}
