import type { ModelDirectory } from "@chartroom/domain";
import { cleanTitle, titlePrompt } from "@chartroom/prompting";
import { complete } from "@chartroom/run";

const limits = { idleMs: 10_000, headersMs: 10_000, totalMs: 15_000 };

/** Names a chat by a small call of the default model; by its first message where that gives no answer. */
export function nameChat(models: ModelDirectory): (firstMessage: string, signal: AbortSignal) => Promise<string> {
  return async (firstMessage, signal) => {
    const found = models.resolve("default");
    if (!found) return cleanTitle("", firstMessage);
    const { system, user } = titlePrompt(firstMessage);
    const answer = await complete({
      provider: found.provider,
      request: {
        model: found.model,
        system,
        tools: [],
        messages: [{ role: "user", parts: [{ type: "text", text: user }] }],
        maxOutputTokens: 60,
        cacheKey: "name",
      },
      limits,
      signal: AbortSignal.any([signal, AbortSignal.timeout(limits.totalMs)]),
    });
    return cleanTitle(answer.ok ? answer.text : "", firstMessage);
  };
}
