import type { FinishReason } from "@chartroom/domain";

export type Finish =
  | { readonly kind: "finished"; readonly reason: FinishReason }
  /** The vendor gave up by itself. */
  | { readonly kind: "broken" };

const REASONS: Readonly<Record<string, FinishReason | "broken">> = {
  stop: "stop",
  eos: "stop",
  end_turn: "stop",
  tool_calls: "toolCalls",
  function_call: "toolCalls",
  tool_use: "toolCalls",
  length: "length",
  max_tokens: "length",
  model_length: "length",
  content_filter: "contentFilter",
  sensitive: "contentFilter",
  safety: "contentFilter",
  refusal: "refusal",
  error: "broken",
  abort: "broken",
  network_error: "broken",
  insufficient_system_resource: "broken",
  malformed_function_call: "broken",
};

/** What a finish reason means; an empty one is none (case PR-01), an unknown one is an end like any other. */
export function readFinish(raw: unknown): Finish | undefined {
  if (typeof raw !== "string" || raw === "") return undefined;
  const reason = REASONS[raw.toLowerCase()] ?? "stop";
  return reason === "broken" ? { kind: "broken" } : { kind: "finished", reason };
}
