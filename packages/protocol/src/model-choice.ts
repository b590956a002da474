import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { ModelChoice, ModelId } from "@chartroom/domain";
import { type ModelDetails, type RequestedModel, RequestedModelSchema } from "@chartroom/protocols/agent/v1/model";
import { parseModelId } from "./identity.ts";
import { type Decoded, ok } from "./result.ts";

/** The id that stands for the automatic choice (wire section 13). */
export const DEFAULT_MODEL_ID = "default" as ModelId;

/** The model that a request asks for: `requested_model` wins over `model_details`; neither means the automatic choice. */
export function modelChoice(
  requested: RequestedModel | undefined,
  details: ModelDetails | undefined,
): Decoded<ModelChoice> {
  const asked = requested ?? details;
  const modelId =
    asked === undefined || asked.modelId === "" ? ok(DEFAULT_MODEL_ID) : parseModelId(asked.modelId, "model_id");
  if (!modelId.ok) return modelId;
  const parameters = (requested?.parameters ?? []).map(({ id, value }) => [id, value] as const);
  return ok({ modelId: modelId.value, maxMode: asked?.maxMode ?? false, parameters: Object.fromEntries(parameters) });
}

interface WithModels {
  requestedModel?: RequestedModel | undefined;
  modelDetails?: ModelDetails | undefined;
  selectedSubagentModels: RequestedModel[];
  selectedSubagentModelDetails: ModelDetails[];
  subagentModelOverrides: { selection: { case: string | undefined; value?: unknown } }[];
}

/**
 * Takes the user's own provider keys out of a request, in place: this server uses its configured ones, and a request
 * is stored. True when there were any.
 */
export function dropCredentials(request: WithModels): boolean {
  const models = [
    request.requestedModel,
    request.modelDetails,
    ...request.selectedSubagentModels,
    ...request.selectedSubagentModelDetails,
  ];
  for (const { selection } of request.subagentModelOverrides) {
    if (selection.case === "model") models.push(selection.value as RequestedModel);
  }
  let found = false;
  for (const model of models) {
    if (model?.credentials.case === undefined) continue;
    model.credentials = { case: undefined };
    found = true;
  }
  return found;
}

/** A `RequestedModel`, for what makes requests (the client). */
export function requestedModel(choice: ModelChoice): RequestedModel {
  const init: MessageInitShape<typeof RequestedModelSchema> = {
    modelId: choice.modelId,
    maxMode: choice.maxMode,
    parameters: Object.entries(choice.parameters).map(([id, value]) => ({ id, value })),
  };
  return create(RequestedModelSchema, init);
}
