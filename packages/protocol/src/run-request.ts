import { toBinary } from "@bufbuild/protobuf";
import type { Action, BlobContent, RunRequest } from "@chartroom/domain";
import type { PrewarmRequest } from "@chartroom/protocols/agent/v1/agent_service";
import {
  type ConversationStateStructure,
  ConversationStateStructureSchema,
} from "@chartroom/protocols/agent/v1/conversation_state";
import type { AgentRunRequest, PreFetchedBlob } from "@chartroom/protocols/agent/v1/run_request";
import { fromWireAction } from "./action.ts";
import { onlyPayload } from "./bytes.ts";
import { parseAgentSessionId, parseConversationId, parseOptional, parseWireRunId } from "./identity.ts";
import { mcpOffers } from "./mcp-offer.ts";
import { modelChoice } from "./model-choice.ts";
import { prefetchedBlob } from "./prefetched.ts";
import { type Decoded, ok } from "./result.ts";

/** A Run request (wire section 4.3). `bytes` is its serialized form. */
export function fromWireRunRequest(wire: AgentRunRequest, bytes: Uint8Array): Decoded<RunRequest> {
  const prefetched = wire.preFetchedBlobs.flatMap(prefetchedContent);
  const action: Decoded<Action> =
    wire.action === undefined
      ? ok({ kind: "unsupported", name: "none" })
      : fromWireAction(wire.action, onlyPayload(bytes, [2]), prefetched);
  if (!action.ok) return action;
  const wireRunId = parseOptional(parseWireRunId, wire.runId, "run_id");
  if (!wireRunId.ok) return wireRunId;
  const head = commonParts(wire, prefetched, stateBytes(wire.conversationState, onlyPayload(bytes, [1])));
  if (!head.ok) return head;
  return ok({
    ...head.value,
    ...(wireRunId.value === undefined ? {} : { wireRunId: wireRunId.value }),
    action: action.value,
  });
}

/** A prewarm (wire section 4.1): a Run request without a Run. Its action says so. */
export function fromWirePrewarm(wire: PrewarmRequest, bytes: Uint8Array): Decoded<RunRequest> {
  const prefetched = wire.preFetchedBlobs.flatMap(prefetchedContent);
  const head = commonParts(wire, prefetched, stateBytes(wire.conversationState, onlyPayload(bytes, [3])));
  return head.ok ? ok({ ...head.value, action: { kind: "unsupported", name: "prewarm" } }) : head;
}

/** An empty id is not the same as none: it is refused, so that it cannot be taken for the bound conversation. */
function commonParts(
  wire: AgentRunRequest | PrewarmRequest,
  prefetched: readonly BlobContent[],
  state: Uint8Array,
): Decoded<Omit<RunRequest, "action" | "wireRunId">> {
  const conversationId =
    wire.conversationId === undefined ? ok(undefined) : parseConversationId(wire.conversationId, "conversation_id");
  if (!conversationId.ok) return conversationId;
  const agentSessionId = parseOptional(parseAgentSessionId, wire.agentSessionId, "agent_session_id");
  if (!agentSessionId.ok) return agentSessionId;
  const groupId = parseOptional(parseConversationId, wire.conversationGroupId, "conversation_group_id");
  if (!groupId.ok) return groupId;
  const model = modelChoice(wire.requestedModel, wire.modelDetails);
  if (!model.ok) return model;
  return ok({
    ...(conversationId.value === undefined ? {} : { conversationId: conversationId.value }),
    ...(agentSessionId.value === undefined ? {} : { agentSessionId: agentSessionId.value }),
    ...(groupId.value === undefined ? {} : { conversationGroupId: groupId.value }),
    state,
    model: model.value,
    mcpTools: mcpOffers(wire.mcpTools?.mcpTools ?? []),
    ...(wire.customSystemPrompt === undefined ? {} : { customSystemPrompt: wire.customSystemPrompt }),
    ...(wire.subagentTypeName === undefined || wire.subagentTypeName === ""
      ? {}
      : { subagentTypeName: wire.subagentTypeName }),
    prefetched,
  });
}

/** What a client sends ahead and does not hash to its id is left out: the server asks for it if it needs it. */
function prefetchedContent(wire: PreFetchedBlob): readonly BlobContent[] {
  const blob = prefetchedBlob(wire.id, wire.value);
  return blob === undefined ? [] : [blob];
}

function stateBytes(state: ConversationStateStructure | undefined, asCame: Uint8Array | undefined): Uint8Array {
  if (state === undefined) return new Uint8Array();
  return asCame ?? toBinary(ConversationStateStructureSchema, state);
}
