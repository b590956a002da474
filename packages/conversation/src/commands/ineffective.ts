import type { Action, Carrier } from "@chartroom/domain";

/** Why an action that was only answered had no effect; `undefined` for those whose rule is to be answered. */
export function ineffective(action: Action, carrier: Carrier): string | undefined {
  switch (action.kind) {
    case "unsupported":
      return `unsupported action ${action.name}`;
    case "cancelSubagent":
      return carrier === "B" ? "no such subagent" : "cancelSubagent on a stream of its own";
    case "inject":
      return carrier === "A" ? "inject on a stream of its own" : undefined;
    case "resume":
    case "summarize":
      return carrier === "B" ? `${action.kind} on a live stream` : undefined;
    default:
      return undefined;
  }
}
