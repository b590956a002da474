import { clone, create } from "@bufbuild/protobuf";
import type { BlobContent, BlobId, RequestContext } from "@chartroom/domain";
import {
  RequestContextMcpsPartSchema,
  type RequestContextPartReferences,
  RequestContextRulesPartSchema,
  RequestContextSchema,
  RequestContextSkillsPartSchema,
  RequestContextSubagentsPartSchema,
  type RequestContext as WireContext,
} from "@chartroom/protocols/agent/v1/request_context";
import { blobIdOf } from "./blob.ts";
import { decodeMessage } from "./decode.ts";
import { fromWireContext } from "./request-context.ts";

/**
 * The context of an action. A client gives it whole, or as four blob ids with a small dynamic part (wire section 5.3,
 * `request_context_parts`). Parts can be put together only when their blobs came along with the request; otherwise there
 * is no context, and the server asks the client for all of it.
 */
export function contextOf(
  whole: WireContext | undefined,
  parts: RequestContextPartReferences | undefined,
  prefetched: readonly BlobContent[],
): RequestContext | undefined {
  if (whole !== undefined) return fromWireContext(whole);
  const joined = parts === undefined ? undefined : join(parts, prefetched);
  return joined === undefined ? undefined : fromWireContext(joined);
}

function join(parts: RequestContextPartReferences, prefetched: readonly BlobContent[]): WireContext | undefined {
  const known = new Map<BlobId, Uint8Array>(prefetched.map((blob) => [blob.id, blob.data]));
  /** Bytes of a part: none when the client has no such part, `undefined` when they are not at hand. */
  const part = (id: Uint8Array, length: number): Uint8Array | undefined => {
    if (length === 0 && id.byteLength === 0) return new Uint8Array();
    const blob = blobIdOf(id);
    return blob === undefined ? undefined : known.get(blob);
  };
  const rules = part(parts.rulesBlobId, parts.rulesByteLength);
  const skills = part(parts.skillsBlobId, parts.skillsByteLength);
  const subagents = part(parts.subagentsBlobId, parts.subagentsByteLength);
  const mcps = part(parts.mcpsBlobId, parts.mcpsByteLength);
  if (rules === undefined || skills === undefined || subagents === undefined || mcps === undefined) return undefined;
  const context = clone(RequestContextSchema, parts.dynamicContext ?? create(RequestContextSchema));
  const decoded = [
    decodeMessage(RequestContextRulesPartSchema, rules),
    decodeMessage(RequestContextSkillsPartSchema, skills),
    decodeMessage(RequestContextSubagentsPartSchema, subagents),
    decodeMessage(RequestContextMcpsPartSchema, mcps),
  ];
  for (const result of decoded) {
    if (!result.ok) return undefined;
    Object.assign(context, own(result.value));
  }
  return context;
}

/** The fields of a part, which have the same names and types in the whole context. */
function own<T extends { $typeName: string; $unknown?: unknown }>(message: T): Omit<T, "$typeName" | "$unknown"> {
  const { $typeName: _type, $unknown: _unknown, ...fields } = message;
  return fields;
}
