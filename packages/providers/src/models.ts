import type { ModelId, ModelInfo } from "@chartroom/domain";
import { ANTHROPIC_MODELS } from "./catalogue/anthropic.ts";
import type { Catalogue, CatalogueEntry } from "./catalogue/entry.ts";
import { OPENAI_MODELS } from "./catalogue/openai.ts";
import type { ModelConfig, ProviderConfig, ThinkingStyle } from "./config.ts";

/** A model with what only its adapter needs to know. */
export interface ProviderModel {
  readonly info: ModelInfo;
  readonly thinking: ThinkingStyle;
}

/** For a model that nobody described: what nearly every model can do. */
const UNKNOWN = { contextWindow: 128_000, maxOutputTokens: 8_192, images: false } as const;

/** The models of a provider: those of its configuration, or the built-in list where it has none. */
export function modelsOf(config: ProviderConfig): readonly ProviderModel[] {
  if (config.kind === "demo") return [demoModel(config.id)];
  const catalogue = config.kind === "openai" ? OPENAI_MODELS : ANTHROPIC_MODELS;
  const models = config.models ?? (config.baseUrl === undefined ? builtIn(catalogue) : []);
  return models.map((model) => describe(config, model, catalogue));
}

function builtIn(catalogue: Catalogue): readonly ModelConfig[] {
  return [...catalogue].map(([id, { aliases }]) => ({ id, aliases }));
}

function describe(provider: ProviderConfig, model: ModelConfig, catalogue: Catalogue): ProviderModel {
  const upstreamModel = model.upstream ?? model.id;
  const known = catalogue.get(upstreamModel);
  const thinking = thinkingOf(model, known, provider.kind);
  return {
    thinking,
    info: {
      id: model.id as ModelId,
      displayName: model.displayName ?? known?.displayName ?? model.id,
      provider: provider.id,
      upstreamModel,
      contextWindow: model.contextWindow ?? known?.contextWindow ?? UNKNOWN.contextWindow,
      maxOutputTokens: model.maxOutputTokens ?? known?.maxOutputTokens ?? UNKNOWN.maxOutputTokens,
      supportsImages: model.images ?? known?.images ?? UNKNOWN.images,
      supportsThinking: thinking !== "none",
      aliases: model.aliases ?? [],
    },
  };
}

function thinkingOf(
  model: ModelConfig,
  known: CatalogueEntry | undefined,
  kind: ProviderConfig["kind"],
): ThinkingStyle {
  if (typeof model.thinking === "string") return model.thinking;
  if (model.thinking === false) return "none";
  if (known && known.thinking !== "none") return known.thinking;
  if (model.thinking !== true) return "none";
  return kind === "anthropic" ? "budget" : "effort";
}

function demoModel(provider: string): ProviderModel {
  return {
    thinking: "none",
    info: {
      id: "demo" as ModelId,
      displayName: "Demo (scripted)",
      provider,
      upstreamModel: "demo",
      contextWindow: 128_000,
      maxOutputTokens: 4_096,
      supportsImages: false,
      supportsThinking: true,
      aliases: [],
    },
  };
}
