import type { Clock, ModelDirectory, ModelInfo, ModelProvider, Result } from "@chartroom/domain";
import { anthropicProvider } from "./anthropic/provider.ts";
import type { ProviderConfig, ThinkingStyle } from "./config.ts";
import { demoProvider } from "./demo/provider.ts";
import { openAgent } from "./http/agent.ts";
import { modelsOf, type ProviderModel } from "./models.ts";
import { openAiProvider } from "./openai/provider.ts";
import type { ProviderPorts } from "./provider-ports.ts";

export interface ModelDirectoryConfig {
  readonly providers: readonly ProviderConfig[];
  /** Id or alias; the first model of the first provider without it. */
  readonly defaultModel?: string;
}

/** Something in the configuration that cannot be; `path` is where, in the words of the configuration. */
export interface ConfigProblem {
  readonly path: string;
  readonly message: string;
}

export interface ModelDirectoryPorts {
  readonly clock: Clock;
  /** Certificate authorities that are trusted besides the system's, as PEM. */
  readonly ca?: string;
}

/** A directory that holds connections. */
export interface OpenModelDirectory extends ModelDirectory {
  /** Breaks off what still runs and closes every connection. */
  close(): Promise<void>;
}

/** What clients ask for when they leave the choice to the server (wire section 13). */
const OPEN_CHOICE = new Set(["", "default", "auto"]);

/** Builds the models and providers of a configuration, or says all that is wrong with it. Nothing is called before a model is. */
export function createModelDirectory(
  config: ModelDirectoryConfig,
  { clock, ca }: ModelDirectoryPorts,
): Result<OpenModelDirectory, readonly ConfigProblem[]> {
  const offered = config.providers.map((provider) => ({ provider, models: modelsOf(provider) }));
  const problems: ConfigProblem[] = [...repeatedProviders(config.providers)];
  const byName = new Map<string, ModelInfo>();
  for (const [at, { provider, models }] of offered.entries()) {
    if (models.length === 0) problems.push({ path: `providers[${at}].models`, message: "name at least one model" });
    for (const [index, { info }] of models.entries()) {
      const path = provider.kind === "demo" ? `providers[${at}]` : `providers[${at}].models[${index}]`;
      for (const name of [info.id, ...info.aliases]) {
        if (OPEN_CHOICE.has(name)) problems.push({ path, message: `"${name}" stands for the default model` });
        else if (byName.has(name)) problems.push({ path, message: `a model "${name}" was named before` });
        else byName.set(name, info);
      }
    }
  }
  const list = offered.flatMap(({ models }) => models.map(({ info }) => info));
  const defaultModel = config.defaultModel === undefined ? list[0] : byName.get(config.defaultModel);
  if (!defaultModel) {
    const message =
      config.defaultModel === undefined ? "there is no model" : `there is no model "${config.defaultModel}"`;
    problems.push({ path: config.defaultModel === undefined ? "providers" : "defaultModel", message });
  }
  if (problems.length > 0 || !defaultModel) return { ok: false, error: problems };

  const dispatcher = openAgent(ca === undefined ? {} : { ca });
  const ports: ProviderPorts = { dispatcher, clock };
  const providers = new Map(offered.map(({ provider, models }) => [provider.id, open(provider, models, ports)]));
  return {
    ok: true,
    value: {
      defaultModel,
      list: () => list,
      resolve(asked) {
        const model = OPEN_CHOICE.has(asked) ? defaultModel : byName.get(asked);
        const provider = model && providers.get(model.provider);
        return model && provider && { model, provider };
      },
      close: () => dispatcher.destroy(),
    },
  };
}

function open(config: ProviderConfig, models: readonly ProviderModel[], ports: ProviderPorts): ModelProvider {
  const styles = new Map<string, ThinkingStyle>(models.map(({ info, thinking }) => [info.id, thinking]));
  const thinkingOf = (modelId: string): ThinkingStyle => styles.get(modelId) ?? "none";
  switch (config.kind) {
    case "openai":
      return openAiProvider(config, thinkingOf, ports);
    case "anthropic":
      return anthropicProvider(config, thinkingOf, ports);
    case "demo":
      return demoProvider(config, ports.clock);
  }
}

function repeatedProviders(providers: readonly ProviderConfig[]): readonly ConfigProblem[] {
  return providers.flatMap(({ id }, at) =>
    providers.findIndex((other) => other.id === id) < at
      ? [{ path: `providers[${at}].id`, message: `a provider "${id}" was named before` }]
      : [],
  );
}
