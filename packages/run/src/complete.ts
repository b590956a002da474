import type { ModelLimits, ModelProvider, ModelRequest, ProviderFailure, Usage } from "@chartroom/domain";
import { mergeUsage } from "./usage.ts";

export interface CompletionInput {
  readonly provider: ModelProvider;
  readonly request: ModelRequest;
  readonly limits: ModelLimits;
  readonly signal: AbortSignal;
}

export type Completion =
  /** `truncated`: the output limit cut the text. `called`: the model asked for a tool, though it was offered none. */
  | {
      readonly ok: true;
      readonly text: string;
      readonly truncated: boolean;
      readonly called: boolean;
      readonly usage: Usage;
    }
  | { readonly ok: false; readonly failure: ProviderFailure; readonly usage: Usage };

/** One text from a model, for small jobs (a name, a summary). Thinking and tool calls are not part of it. Never rejects. */
export async function complete({ provider, request, limits, signal }: CompletionInput): Promise<Completion> {
  let text = "";
  let called = false;
  let usage: Usage = {};
  const failed = (failure: ProviderFailure): Completion => ({ ok: false, failure, usage });
  if (signal.aborted) return failed(aborted);
  try {
    for await (const batch of provider.stream(request, limits, signal)) {
      for (const event of batch) {
        if (event.type === "text") text += event.text;
        else if (event.type === "call") called = true;
        else if (event.type === "usage") usage = mergeUsage(usage, event.usage);
        else if (event.type === "failed") return failed(event.failure);
        else if (event.type === "finished") {
          if (event.reason === "refusal" || event.reason === "contentFilter") return failed(refused);
          return { ok: true, text, truncated: event.reason === "length", called, usage };
        }
      }
    }
  } catch {
    return failed({ kind: "server", message: "The provider adapter failed.", retryable: false });
  }
  return failed({ kind: "interrupted", message: "The answer ended early.", retryable: true });
}

const aborted: ProviderFailure = { kind: "aborted", message: "Aborted.", retryable: false };
const refused: ProviderFailure = { kind: "refused", message: "The model refused to answer.", retryable: false };
