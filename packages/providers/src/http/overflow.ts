import type { ErrorBody } from "./error-body.ts";

const CODES = new Set([
  "context_length_exceeded",
  "exceed_context_size_error",
  "request_too_large",
  "model_max_prompt_tokens_exceeded",
]);

/** How vendors say that a prompt does not fit; the named group is the window, where the sentence tells it. */
const SENTENCES: readonly RegExp[] = [
  /maximum context length (?:is|of) (?<limit>[\d,]+)/i,
  /maximum prompt length is (?<limit>[\d,]+)/i,
  /prompt is too long(?:: [\d,]+ tokens > (?<limit>[\d,]+) maximum)?/i,
  /exceeds? (?:the )?context limit: [\d,]+ \+ [\d,]+ > (?<limit>[\d,]+)/i,
  /exceeds the maximum number of tokens allowed \((?<limit>[\d,]+)\)/i,
  /too large for model with (?<limit>[\d,]+) maximum context length/i,
  /exceeded model token limit: (?<limit>[\d,]+)/i,
  /prompt token count of [\d,]+ exceeds the limit of (?<limit>[\d,]+)/i,
  /range of input length should be \[\d+, ?(?<limit>[\d,]+)\]/i,
  /exceeds the available context size(?: \((?<limit>[\d,]+) tokens\))?/i,
  /exceeds the context window/i,
  /exceeded? max(?:imum)? context length/i,
  /input is too long for (?:the )?requested model/i,
  /prompt exceeds max length/i,
  /please reduce the length of the (?:messages|prompt|input)/i,
  /input tokens exceed the configured limit of (?<limit>[\d,]+)/i,
];

/** Whether an error says that the conversation is longer than the model's window, and the window in tokens if it names it. */
export function readOverflow(error: ErrorBody): { readonly limitTokens?: number } | undefined {
  for (const sentence of SENTENCES) {
    const found = sentence.exec(error.message);
    if (!found) continue;
    const limit = Number(found.groups?.["limit"]?.replaceAll(",", ""));
    return limit > 0 ? { limitTokens: limit } : {};
  }
  return CODES.has(error.code) || CODES.has(error.type) ? {} : undefined;
}
