import type { ModelProvider } from "@chartroom/domain";
import type { OpenAiConfig, ThinkingStyle } from "../config.ts";
import { exchange } from "../http/exchange.ts";
import { failureReader } from "../http/failure-reader.ts";
import { endpoint, requestHeaders, secretsOf } from "../http/endpoint.ts";
import { toolNames } from "../neutral/wire-name.ts";
import type { ProviderPorts } from "../provider-ports.ts";
import { openAiBody, type OpenAiDialect } from "./request.ts";
import { OpenAiTranslator } from "./translator.ts";
import { USUAL, VENDORS } from "./vendors.ts";

const OPENAI_URL = "https://api.openai.com/v1";

/** Chat completions of OpenAI or of a vendor that speaks the same. `thinkingOf` gives a model's style by its id. */
export function openAiProvider(
  config: OpenAiConfig,
  thinkingOf: (modelId: string) => ThinkingStyle,
  { dispatcher, clock }: ProviderPorts,
): ModelProvider {
  const url = urlOf(config);
  const headers = requestHeaders(config, "bearer", {});
  const failures = failureReader(config.id, secretsOf(config, url), clock);
  const dialect = openAiDialect(config);
  return {
    id: config.id,
    ...(dialect.reasoningReplay === "required" && { requiresThinking: true }),
    stream: (request, limits, signal) =>
      exchange({
        dispatcher,
        clock,
        limits: { ...limits, ...config.limits },
        signal,
        url,
        headers,
        body: openAiBody(request, { ...dialect, thinking: thinkingOf(request.model.id) }),
        translator: new OpenAiTranslator(dialect.vendor, failures, toolNames(request.tools)),
        failures,
      }),
  };
}

function urlOf(config: OpenAiConfig): URL {
  return endpoint(config.baseUrl ?? OPENAI_URL, "/chat/completions");
}

/** How requests to this provider are written. Reasoning goes back to the account that gave it, and to no other. */
export function openAiDialect(config: OpenAiConfig): Omit<OpenAiDialect, "thinking"> {
  const { id, options = {} } = config;
  return { vendor: id, ...USUAL, ...VENDORS.get(urlOf(config).hostname), ...options };
}
