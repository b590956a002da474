import type { ModelProvider } from "@chartroom/domain";
import type { AnthropicConfig, ThinkingStyle } from "../config.ts";
import { endpoint, requestHeaders, secretsOf } from "../http/endpoint.ts";
import { exchange } from "../http/exchange.ts";
import { failureReader } from "../http/failure-reader.ts";
import { toolNames } from "../neutral/wire-name.ts";
import type { ProviderPorts } from "../provider-ports.ts";
import { anthropicBody, thinksInBudget, type AnthropicDialect } from "./request.ts";
import { AnthropicTranslator } from "./translator.ts";

const ANTHROPIC_URL = "https://api.anthropic.com";
/** Lets a model with a thinking budget think between tool calls too. */
const INTERLEAVED = { "anthropic-beta": "interleaved-thinking-2025-05-14" };

/** Messages of Anthropic or of a vendor that speaks the same. `thinkingOf` gives a model's style by its id. */
export function anthropicProvider(
  config: AnthropicConfig,
  thinkingOf: (modelId: string) => ThinkingStyle,
  { dispatcher, clock }: ProviderPorts,
): ModelProvider {
  const base = config.baseUrl ?? ANTHROPIC_URL;
  const url = endpoint(base, /\/v\d+\/*$/.test(new URL(base).pathname) ? "/messages" : "/v1/messages");
  const own = url.hostname === "api.anthropic.com";
  const failures = failureReader(config.id, secretsOf(config, url), clock);
  // thinking is valid only in the account that made it, so another provider of the same vendor is a stranger
  const vendor = `anthropic:${config.id}`;
  const dialect = {
    vendor,
    cache: config.options?.cache ?? "5m",
    eagerToolInput: config.options?.eagerToolInput ?? own,
  } as const;
  return {
    id: config.id,
    stream(request, limits, signal) {
      const full: AnthropicDialect = { ...dialect, thinking: thinkingOf(request.model.id) };
      const beta = own && thinksInBudget(request, full) ? INTERLEAVED : {};
      return exchange({
        dispatcher,
        clock,
        limits: { ...limits, ...config.limits },
        signal,
        url,
        headers: requestHeaders(config, "x-api-key", { "anthropic-version": "2023-06-01", ...beta }),
        body: anthropicBody(request, full),
        translator: new AnthropicTranslator(vendor, failures, toolNames(request.tools)),
        failures,
      });
    },
  };
}
