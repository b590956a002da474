import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import type { UplinkMessage } from "@chartroom/domain";
import { AgentClientMessageSchema } from "@chartroom/protocols/agent/v1/agent_service";
import type { Decoded } from "./result.ts";
import { decodeUplink } from "./uplink.ts";

/** For tests: client messages as their generated code writes them. */
export type ClientBody = NonNullable<MessageInitShape<typeof AgentClientMessageSchema>["message"]>;

export const clientBytes = (message: ClientBody): Uint8Array =>
  toBinary(AgentClientMessageSchema, create(AgentClientMessageSchema, { message }));

export const decodeClient = (message: ClientBody): Decoded<UplinkMessage> => decodeUplink(clientBytes(message));

export const MESSAGE = { text: "Say hello", messageId: "msg-1" } as const;
