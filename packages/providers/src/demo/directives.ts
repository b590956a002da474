import type { ProviderFailureKind } from "@chartroom/domain";
import type { Act, Pass } from "./pass.ts";
import type { DoneCall, Turn } from "./turn.ts";

const LINE = /^\s*(say|think|wait|call|fail):\s?(.*)$/;
const KINDS: readonly ProviderFailureKind[] = [
  "auth",
  "rateLimit",
  "overloaded",
  "overflow",
  "invalidRequest",
  "modelNotFound",
  "refused",
  "timeout",
  "transport",
  "server",
  "interrupted",
];

/**
 * A prompt that is a script of its own, one directive a line (docs/demo-model.md); `undefined` when its first line is none.
 * Calls that follow each other are made at once, then the pass ends and the script goes on with their results.
 */
export function scripted({ prompt, passes }: Turn): Pass | undefined {
  const lines = prompt.split("\n").filter((line) => line.trim() !== "");
  if (lines.length === 0 || !LINE.test(lines[0]!)) return undefined;
  const all = cut(lines.map(act));
  const pass = all[passes.length];
  if (pass !== undefined) return pass;
  return [{ type: "say", text: (passes.at(-1) ?? []).map(told).join("\n") || "Done." }];
}

function act(line: string): Act {
  const [, word, rest = ""] = LINE.exec(line) ?? [];
  switch (word) {
    case "think":
      return { type: "think", text: rest };
    case "wait":
      return { type: "wait", ms: Math.min(Math.max(0, Number(rest) || 0), 2 ** 31 - 1) };
    case "call": {
      const [, name = "", given = ""] = /^(\S+)\s*(.*)$/.exec(rest) ?? [];
      return { type: "call", name, arguments: given };
    }
    case "fail": {
      const [, name = "", message = ""] = /^(\S*)\s*(.*)$/.exec(rest) ?? [];
      const kind = KINDS.find((one) => one === name) ?? "server";
      return { type: "fail", kind, message: message || `The demo model was asked to fail (${kind}).` };
    }
    default:
      // a line without a word of its own is more to say
      return { type: "say", text: word === "say" ? rest : line };
  }
}

/** Into passes: each ends behind a run of calls. */
function cut(acts: readonly Act[]): readonly Pass[] {
  const passes: Act[][] = [[]];
  for (const [at, one] of acts.entries()) {
    if (one.type !== "call" && acts[at - 1]?.type === "call") passes.push([]);
    passes.at(-1)!.push(one);
  }
  return passes;
}

function told({ name, text, isError }: DoneCall): string {
  return `${name} ${isError ? "failed" : "gave"}: ${text}`;
}
