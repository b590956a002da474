import type { ModelInfo } from "@chartroom/domain";
import { aiserver, CallError, unary, type MessageInitShape, type Rpc } from "@chartroom/gateway/face";
import type { ApiOptions } from "../options.ts";

type Available = MessageInitShape<typeof aiserver.AvailableModelsResponse_AvailableModelSchema>;

/** A model as the editor's picker shows it; it lists one only with `supportsAgent` and `defaultOn` (wire section 13). */
export function availableModel(model: ModelInfo): Available {
  return {
    name: model.id,
    defaultOn: true,
    isLongContextOnly: false,
    isChatOnly: false,
    supportsAgent: true,
    degradationStatus: aiserver.AvailableModelsResponse_DegradationStatus.UNSPECIFIED,
    supportsThinking: model.supportsThinking,
    supportsImages: model.supportsImages,
    supportsAutoContext: true,
    // there is one window, whichever mode the user chose
    supportsMaxMode: true,
    supportsNonMaxMode: true,
    contextTokenLimit: model.contextWindow,
    contextTokenLimitForMaxMode: model.contextWindow,
    clientDisplayName: model.displayName,
    serverModelName: model.id,
    inputboxShortModelName: model.displayName,
    supportsPlanMode: true,
    supportsSandboxing: true,
    supportsCmdK: true,
    onlySupportsCmdK: false,
    isUserAdded: false,
    isHidden: false,
    idAliases: [...model.aliases],
    vendorName: model.provider,
  };
}

/** The editor's model list, and what it asks about single models. */
export function availableModels({ models }: ApiOptions): readonly Rpc[] {
  const { method } = aiserver.AiService;
  return [
    unary(method.availableModels, () => {
      const list = models.list();
      const feature = { defaultModel: models.defaultModel.id, fallbackModels: [], bestOfNDefaultModels: [] };
      return {
        modelNames: list.map(({ id }) => id),
        models: list.map(availableModel),
        composerModelConfig: feature,
        cmdKModelConfig: feature,
        backgroundComposerModelConfig: feature,
        planExecutionModelConfig: feature,
        specModelConfig: feature,
        deepSearchModelConfig: feature,
        quickAgentModelConfig: feature,
        useModelParameters: false,
        displayConfiguration: {},
      };
    }),
    unary(method.getDefaultModel, () => ({
      model: models.defaultModel.id,
      thinkingModel: models.defaultModel.id,
      maxMode: false,
    })),
    unary(method.getModelLabels, () => ({
      modelLabels: models.list().map(({ id, displayName }) => ({
        name: id,
        label: displayName,
        shortLabel: displayName,
        supportsAgent: true,
      })),
    })),
    unary(method.getEffectiveTokenLimit, ({ modelDetails }) => {
      const asked = modelDetails?.modelName ?? "default";
      const found = asked === "default" ? models.defaultModel : models.list().find((model) => isNamed(model, asked));
      if (found === undefined) throw new CallError(UNKNOWN_MODEL);
      return { tokenLimit: found.contextWindow };
    }),
  ];
}

const UNKNOWN_MODEL = {
  code: "MODEL_NOT_FOUND",
  title: "Unknown model",
  detail: "This model is not configured on this server.",
  retryable: false,
} as const;

function isNamed({ id, aliases }: ModelInfo, name: string): boolean {
  return id === name || aliases.includes(name);
}
