import type { ExecReply, UplinkMessage } from "./command.ts";
import type { RequestContext } from "./context.ts";
import type { Result } from "./errors.ts";
import type { BlobId, ConversationId } from "./ids.ts";
import type { Update } from "./update.ts";

/** Wire encoding that the conversation needs but does not know. Frames are serialized `AgentServerMessage`s without an envelope. */
export interface ClientCodec {
  update(update: Update): Uint8Array;
  setBlob(kvId: number, blob: BlobId, data: Uint8Array): Uint8Array;
  getBlob(kvId: number, blob: BlobId): Uint8Array;
  /** `exec_server_control_message.abort`. */
  abort(execId: number): Uint8Array;
  /** `exec_server_message.request_context_args` (wire section 5.3). */
  requestContext(execId: number, conversationId: ConversationId): Uint8Array;
  /** The context of a `request_context_result.success`; otherwise why there is none. */
  decodeRequestContext(reply: ExecReply): Result<RequestContext>;
  /** `conversation_checkpoint_update` around a serialized `ConversationStateStructure`. */
  checkpoint(state: Uint8Array): Uint8Array;
  /** Decodes a stored `AgentClientMessage` again. */
  decodeUplink(raw: Uint8Array): Result<UplinkMessage>;
  /** SHA-256. */
  blobId(data: Uint8Array): BlobId;
}
