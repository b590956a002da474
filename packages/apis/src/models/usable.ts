import type { ModelInfo } from "@chartroom/domain";
import { agent, aiserver, unary, type MessageInitShape, type Rpc } from "@chartroom/gateway/face";
import type { ApiOptions } from "../options.ts";

type Details = MessageInitShape<typeof agent.ModelDetailsSchema>;

/**
 * Clients take a model of a local server only with credentials beside it (wire section 13). This is no secret: the
 * client sends it back, and nobody reads it.
 */
const LOCAL_MODEL = { apiKey: "chartroom" };

/** A model as the picker of the command line shows it (wire section 13). */
export function modelDetails(model: ModelInfo): Details {
  return {
    modelId: model.id,
    displayModelId: model.id,
    displayName: model.displayName,
    displayNameShort: model.displayName,
    aliases: [...model.aliases],
    maxMode: false,
    ...(model.supportsThinking ? { thinkingDetails: {} } : {}),
    credentials: { case: "apiKeyCredentials", value: LOCAL_MODEL },
  };
}

/** `GetUsableModels` and `GetDefaultModelForCli`, each under both of its services. A failed `GetUsableModels` ends the client. */
export function usableModels({ models }: ApiOptions): readonly Rpc[] {
  const list = () => ({ models: models.list().map(modelDetails) });
  const first = () => ({ model: modelDetails(models.defaultModel) });
  return [
    unary(agent.AgentService.method.getUsableModels, list),
    unary(aiserver.AiService.method.getUsableModels, list),
    unary(agent.AgentService.method.getDefaultModelForCli, first),
    unary(aiserver.AiService.method.getDefaultModelForCli, first),
  ];
}
