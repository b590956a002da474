import type { Blob, InterruptReason, ToolCallRecord, ToolResultRecord } from "@chartroom/domain";
import { toolCall, type CallExtras } from "../cards/frames.ts";
import { agent, blobId, toBinary } from "../wire.ts";
import type { Outcome } from "./program.ts";
import { withHooks } from "./texts.ts";

export interface BuiltResult {
  readonly result: ToolResultRecord;
  readonly call: agent.ToolCall;
  readonly blobs: readonly Blob[];
}

/** The stored result of a call, its card, and the pictures that go into the blob store. */
export function buildResult(
  record: ToolCallRecord,
  outcome: Outcome,
  extras: CallExtras & { readonly interrupted?: InterruptReason | undefined } = {},
): BuiltResult {
  const call = toolCall(outcome.tool, record.id, extras);
  const { picture } = outcome;
  const blob = picture && { id: blobId(picture.data), data: picture.data };
  const result: ToolResultRecord = {
    callId: record.id,
    toolName: record.name,
    text: withHooks(outcome.text, extras.hooks ?? []).toWellFormed(),
    isError: outcome.isError,
    display: toBinary(agent.ToolCallSchema, call),
    ...(extras.interrupted !== undefined && { interrupted: extras.interrupted }),
    ...(picture !== undefined &&
      blob !== undefined && {
        image: {
          type: "image",
          blob: blob.id,
          mimeType: picture.mimeType,
          ...(picture.name !== undefined && { name: picture.name }),
        },
      }),
  };
  return { result, call, blobs: blob === undefined ? [] : [blob] };
}
