import type { ModelDirectory } from "@chartroom/domain";
import { cleanTitle, titlePrompt } from "@chartroom/prompting";
import { complete } from "@chartroom/run";

const limits = { idleMs: 10_000, headersMs: 10_000, totalMs: 15_000 };

/** Names a conversation by a small model call; by its first message where no model answers. */
export function nameConversation(models: ModelDirectory): (firstMessage: string) => Promise<string> {
  return async (firstMessage) => {
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
      signal: AbortSignal.timeout(limits.totalMs),
    });
    return cleanTitle(answer.ok ? answer.text : "", firstMessage);
  };
}
