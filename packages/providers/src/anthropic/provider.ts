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
  const url = urlOf(config);
  const own = isOwn(url);
  const failures = failureReader(config.id, secretsOf(config, url), clock);
  const dialect = anthropicDialect(config);
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
        translator: new AnthropicTranslator(dialect.vendor, failures, toolNames(request.tools)),
        failures,
      });
    },
  };
}

function urlOf(config: AnthropicConfig): URL {
  const base = config.baseUrl ?? ANTHROPIC_URL;
  return endpoint(base, /\/v\d+\/*$/.test(new URL(base).pathname) ? "/messages" : "/v1/messages");
}

const isOwn = (url: URL): boolean => url.hostname === "api.anthropic.com";

/** How requests to this provider are written. Thinking is valid only in the account that made it: another provider of the same vendor is a stranger. */
export function anthropicDialect(config: AnthropicConfig): Omit<AnthropicDialect, "thinking"> {
  const { id, options = {} } = config;
  return {
    vendor: id,
    cache: options.cache ?? "5m",
    eagerToolInput: options.eagerToolInput ?? isOwn(urlOf(config)),
  };
}
