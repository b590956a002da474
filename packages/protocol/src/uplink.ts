import { toBinary } from "@bufbuild/protobuf";
import type { ExecControl, ExecReply, KvReply, QueryReply, UplinkMessage } from "@chartroom/domain";
import { type AgentClientMessage, AgentClientMessageSchema } from "@chartroom/protocols/agent/v1/agent_service";
import type { ExecClientControlMessage, ExecClientMessage } from "@chartroom/protocols/agent/v1/exec";
import type { InteractionResponse } from "@chartroom/protocols/agent/v1/interaction_query";
import type { KvClientMessage } from "@chartroom/protocols/agent/v1/kv";
import { fromWireAction } from "./action.ts";
import type { AppendKind } from "./append-sequencer.ts";
import { onlyPayload } from "./bytes.ts";
import { decodeRead } from "./decode.ts";
import { dropCredentials } from "./model-choice.ts";
import { type Decoded, ok } from "./result.ts";
import { fromWirePrewarm, fromWireRunRequest } from "./run-request.ts";

/**
 * Reads one serialized `AgentClientMessage` (wire section 4.1). An empty message, or one of a kind that this server does
 * not know, is `unknown`, never an error. `raw` of the result is what may be stored: the bytes as they came, without
 * the provider keys of the user when the client sent any, and with U+FFFD for text that is not UTF-8.
 */
export function decodeUplink(raw: Uint8Array): Decoded<UplinkMessage> {
  const read = decodeRead(AgentClientMessageSchema, raw);
  return read.ok ? fromClientMessage(read.value.message, read.value.bytes) : read;
}

function fromClientMessage(message: AgentClientMessage, raw: Uint8Array): Decoded<UplinkMessage> {
  const body = message.message;
  switch (body.case) {
    case "runRequest":
    case "prewarmRequest": {
      const stored = dropCredentials(body.value) ? toBinary(AgentClientMessageSchema, message) : raw;
      const bytes = onlyPayload(stored, [body.case === "runRequest" ? 1 : 8]) ?? new Uint8Array();
      const request =
        body.case === "runRequest" ? fromWireRunRequest(body.value, bytes) : fromWirePrewarm(body.value, bytes);
      if (!request.ok) return request;
      return ok({ kind: body.case === "runRequest" ? "run" : "prewarm", request: request.value, raw: stored });
    }
    case "conversationAction": {
      const action = fromWireAction(body.value, onlyPayload(raw, [4]));
      return action.ok ? ok({ kind: "action", action: action.value, raw }) : action;
    }
    case "execClientMessage":
      return ok({ kind: "exec", reply: execReply(body.value) });
    case "execClientControlMessage": {
      const control = execControl(body.value);
      return ok(control === undefined ? { kind: "unknown" } : { kind: "execControl", control });
    }
    case "kvClientMessage": {
      const reply = kvReply(body.value);
      return ok(reply === undefined ? { kind: "unknown" } : { kind: "kv", reply });
    }
    case "interactionResponse":
      return ok({ kind: "query", reply: queryReply(body.value) });
    case "clientHeartbeat":
      return ok({ kind: "heartbeat" });
    case undefined:
      return ok({ kind: "unknown" });
    default:
      return body satisfies never;
  }
}

/** What an uplink message is to the order of its stream. */
export function appendKind(message: UplinkMessage): AppendKind {
  return message.kind === "run" || message.kind === "prewarm" || message.kind === "heartbeat" ? message.kind : "other";
}

/** Wraps an exec answer; only `execClientMessage` looks into it. */
export function execReply(wire: ExecClientMessage): ExecReply {
  return { execId: wire.id, body: wire as unknown as ExecReply["body"] };
}

/** The wire message of an exec answer, for the packages that know the tools. */
export function execClientMessage(reply: ExecReply): ExecClientMessage {
  return reply.body as unknown as ExecClientMessage;
}

/** Wraps the answer to an interaction query; only `interactionResponse` looks into it. */
export function queryReply(wire: InteractionResponse): QueryReply {
  return { queryId: wire.id, body: wire as unknown as QueryReply["body"] };
}

/** The wire message of an answer to an interaction query. */
export function interactionResponse(reply: QueryReply): InteractionResponse {
  return reply.body as unknown as InteractionResponse;
}

function execControl(wire: ExecClientControlMessage): ExecControl | undefined {
  const { message } = wire;
  switch (message.case) {
    case "streamClose":
      return { kind: "close", execId: message.value.id };
    case "heartbeat":
      return { kind: "heartbeat", execId: message.value.id };
    case "throw":
      return { kind: "throw", execId: message.value.id, message: message.value.error };
    default:
      return undefined;
  }
}

/** A missing blob is an answer without data; it cannot be told from an empty one (wire section 8.1). */
function kvReply(wire: KvClientMessage): KvReply | undefined {
  const { message } = wire;
  switch (message.case) {
    case "setBlobResult":
      return { kind: "set", kvId: wire.id, ...errorText(message.value.error) };
    case "getBlobResult":
      return {
        kind: "get",
        kvId: wire.id,
        data: message.value.blobData ?? new Uint8Array(),
        ...errorText(message.value.error),
      };
    default:
      return undefined;
  }
}

function errorText(error: { readonly message: string } | undefined): { readonly error?: string } {
  return error === undefined ? {} : { error: error.message };
}
