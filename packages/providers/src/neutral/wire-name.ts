import { createHash } from "node:crypto";

const TOOL_NAME = /^[a-zA-Z0-9_-]{1,64}$/;
const CALL_ID = /^[a-zA-Z0-9_-]{1,40}$/;

/**
 * A tool's name as every vendor takes it: letters, digits, `_` and `-`, at most 64. Another name gets a form of its own,
 * which depends on nothing but the name, so that it is the same in every request.
 */
export function toolName(name: string): string {
  return fit(name, TOOL_NAME, 64);
}

/** A call's id as every vendor takes it: letters, digits, `_` and `-`, at most 40. */
export function callId(id: string): string {
  return fit(id, CALL_ID, 40);
}

/** From the names that went out back to the tools' own. */
export function toolNames(tools: readonly { readonly name: string }[]): (wire: string) => string {
  const changed = new Map<string, string>();
  for (const { name } of tools) if (toolName(name) !== name) changed.set(toolName(name), name);
  return (wire) => changed.get(wire) ?? wire;
}

function fit(text: string, allowed: RegExp, length: number): string {
  if (allowed.test(text)) return text;
  // the digest keeps two names apart that become the same without their special characters
  const digest = createHash("sha256").update(text).digest("hex").slice(0, 8);
  return `${text.replace(/[^a-zA-Z0-9_-]/g, "_").slice(0, length - 9)}_${digest}`;
}
