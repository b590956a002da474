import type { BlobId } from "./ids.ts";

/** What the client says about its machine and workspace (wire: `RequestContext`), in sections that are compared and rendered one by one. */
export interface RequestContext {
  readonly env?: EnvironmentContext;
  readonly rules: readonly RuleContext[];
  readonly repositories: readonly RepositoryContext[];
  readonly skills: readonly SkillContext[];
  readonly subagents: readonly SubagentContext[];
  readonly mcpServers: readonly McpServerContext[];
  /** Tool definitions that come with the context (`RequestContext.tools`). */
  readonly tools: readonly McpToolOffer[];
  /** A tree of names, as indented text, per root folder. */
  readonly projectLayouts: readonly { readonly root: string; readonly tree: string }[];
  readonly cloudRule?: string;
  readonly hooksContext?: string;
  readonly readLintsEnabled?: boolean;
  readonly webSearchEnabled?: boolean;
  readonly webFetchEnabled?: boolean;
  readonly adminCommandDenylist: readonly string[];
}

export interface EnvironmentContext {
  readonly osVersion: string;
  readonly shell: string;
  readonly workspacePaths: readonly string[];
  readonly timeZone: string;
  readonly projectFolder: string;
  readonly terminalsFolder: string;
  readonly sandboxEnabled: boolean;
}
export interface RuleContext {
  readonly path: string;
  readonly content: string;
  /** `always` applies to each turn; the others are listed for the model to read on demand. */
  readonly kind: "always" | "glob" | "agent" | "manual";
  readonly globs: readonly string[];
  readonly description: string;
}
export interface RepositoryContext {
  readonly path: string;
  readonly branch: string;
  readonly status: string;
  readonly remote?: string;
}
export interface SkillContext {
  readonly name: string;
  readonly description: string;
  readonly path: string;
}
export interface SubagentContext {
  readonly name: string;
  readonly description: string;
}
export interface McpServerContext {
  readonly name: string;
  readonly instructions: string;
}

/** A tool that the client runs (wire: `McpToolDefinition`). */
export interface McpToolOffer {
  /** The full name by which the model calls it. */
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments. */
  readonly inputSchema: JsonObject;
  readonly providerIdentifier: string;
  readonly toolName: string;
}

export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: JsonValue;
}

/** Content given ahead or inline by the client. */
export interface BlobContent {
  readonly id: BlobId;
  readonly data: Uint8Array;
}
