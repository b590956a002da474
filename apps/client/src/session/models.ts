import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  GetDefaultModelForCliRequestSchema,
  GetDefaultModelForCliResponseSchema,
  GetUsableModelsRequestSchema,
  GetUsableModelsResponseSchema,
} from "@chartroom/protocols/agent";
import type { ClientFailure } from "../transport/failure.ts";
import type { Transport } from "../transport/transport.ts";

export interface Model {
  readonly id: string;
  readonly name: string;
}

export type Models =
  | { readonly ok: true; readonly models: readonly Model[] }
  | { readonly ok: false; readonly failure: ClientFailure };

export type DefaultModel =
  | { readonly ok: true; readonly model: Model | undefined }
  | { readonly ok: false; readonly failure: ClientFailure };

/** Stands for the server's own choice (wire section 13). */
export const AUTOMATIC_MODEL = "default";

/** The models that the server offers (wire section 13). */
export async function usableModels(transport: Transport): Promise<Models> {
  const request = toBinary(GetUsableModelsRequestSchema, create(GetUsableModelsRequestSchema));
  const answer = await transport.unary("/agent.v1.AgentService/GetUsableModels", request);
  if (!answer.ok) return answer;
  const { models } = fromBinary(GetUsableModelsResponseSchema, answer.message);
  return { ok: true, models: models.map(modelOf) };
}

/** The model that a client without a choice of its own takes; undefined when the server names none. */
export async function defaultModel(transport: Transport): Promise<DefaultModel> {
  const request = toBinary(GetDefaultModelForCliRequestSchema, create(GetDefaultModelForCliRequestSchema));
  const answer = await transport.unary("/agent.v1.AgentService/GetDefaultModelForCli", request);
  if (!answer.ok) return answer;
  const { model } = fromBinary(GetDefaultModelForCliResponseSchema, answer.message);
  return { ok: true, model: model === undefined ? undefined : modelOf(model) };
}

function modelOf(model: { readonly modelId: string; readonly displayName: string }): Model {
  return { id: model.modelId, name: model.displayName === "" ? model.modelId : model.displayName };
}
