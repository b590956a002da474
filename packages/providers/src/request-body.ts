import type { ModelRequest } from "@chartroom/domain";
import { anthropicDialect } from "./anthropic/provider.ts";
import { anthropicBody } from "./anthropic/request.ts";
import type { AnthropicConfig, OpenAiConfig } from "./config.ts";
import { modelsOf } from "./models.ts";
import { openAiDialect } from "./openai/provider.ts";
import { openAiBody } from "./openai/request.ts";

/** The exact text that this provider is sent for a request. Pure: for whoever compares requests byte for byte. */
export function requestBody(config: OpenAiConfig | AnthropicConfig, request: ModelRequest): string {
  const thinking = modelsOf(config).find(({ info }) => info.id === request.model.id)?.thinking ?? "none";
  return config.kind === "openai"
    ? openAiBody(request, { ...openAiDialect(config), thinking })
    : anthropicBody(request, { ...anthropicDialect(config), thinking });
}
