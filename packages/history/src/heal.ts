import { digestOf } from "./digest.ts";
import type { ProblemKind } from "./problem.ts";

const SAFE_ID = /^[\w-]{1,40}$/u;
const SAFE_NAME = /^[\w.-]{1,64}$/u;

/** Gives each call the id under which a provider sees it: unique in the request, and of a form that every provider takes. */
export function createCallIds(): { take(id: string): { readonly sent: string; readonly problem?: ProblemKind } } {
  const used = new Set<string>();
  return {
    take(id) {
      const safe = SAFE_ID.test(id) ? id : `call_${digestOf(id, 24)}`;
      let sent = safe;
      for (let count = 2; used.has(sent); count += 1)
        sent = SAFE_ID.test(`${safe}_${count}`) ? `${safe}_${count}` : `call_${digestOf(`${safe} ${count}`, 24)}`;
      used.add(sent);
      if (sent !== safe) return { sent, problem: "duplicate-call-id" };
      return safe === id ? { sent } : { sent, problem: "unsafe-call-id" };
    },
  };
}

export function safeToolName(name: string): string {
  if (SAFE_NAME.test(name)) return name;
  const made = name.replaceAll(/[^\w.-]/gu, "_").slice(0, 64);
  return made === "" ? "unknown_tool" : made;
}

/** Argument text that is a JSON object for certain: as it is, `{}` for none, else wrapped. */
export function safeArguments(text: string): { readonly text: string; readonly healed: boolean } {
  if (text.trim() === "") return { text: "{}", healed: false };
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value) && text.isWellFormed())
      return { text, healed: false };
  } catch {
    // falls through: the text is not JSON
  }
  return { text: JSON.stringify({ invalid_arguments: text.toWellFormed() }), healed: true };
}
