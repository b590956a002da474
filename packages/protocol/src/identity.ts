import type {
  AgentSessionId,
  ConversationId,
  InjectionId,
  MessageId,
  ModelId,
  RequestId,
  StreamId,
  ToolCallId,
  WireRunId,
} from "@chartroom/domain";
import { type Decoded, err, type IdentityReason, ok } from "./result.ts";

/**
 * The parsers that make branded ids of what a client sends. They look at the text only: what it names is decided
 * elsewhere, and none falls back to another. An error names the field, never the value.
 */
export type IdentityParser<Id extends string> = (text: string, field: string) => Decoded<Id>;

const MAX_ID = 128;
/** A model's real call id can hold two ids with white space between them (wire section 4.8). */
const MAX_TOOL_CALL_ID = 512;
const MAX_MODEL_ID = 256;

/** Letters, digits and the marks that clients use in ids: no separator of paths, no white space, no quotes. */
const ID = /^[A-Za-z0-9._:@+=~-]+$/;
/** Printable ASCII, and the line feed between the two parts of a call id. */
const TOOL_CALL_ID = /^[\x21-\x7e](?:[\x20-\x7e\n]*[\x21-\x7e])?$/;
/** Printable ASCII: `vendor/name:variant`, `name[effort=high]`. */
const MODEL_ID = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

function reasonAgainst(text: string, max: number, allowed: RegExp): IdentityReason | undefined {
  if (text === "") return "empty";
  if (text.length > max) return "tooLong";
  if (/^\.+$/.test(text)) return "dots";
  return allowed.test(text) ? undefined : "characters";
}

function parser<Id extends string>(max: number, allowed: RegExp): IdentityParser<Id> {
  return (text, field) => {
    const reason = reasonAgainst(text, max, allowed);
    return reason === undefined ? ok(text as Id) : err({ kind: "identity", field, reason });
  };
}

/** 1 to 128 letters, digits or `._:@+=~-`, not only dots. The same holds for the ids below unless they say otherwise. */
export const parseConversationId: IdentityParser<ConversationId> = parser(MAX_ID, ID);
export const parseRequestId: IdentityParser<RequestId> = parser(MAX_ID, ID);
export const parseMessageId: IdentityParser<MessageId> = parser(MAX_ID, ID);
export const parseInjectionId: IdentityParser<InjectionId> = parser(MAX_ID, ID);
export const parseWireRunId: IdentityParser<WireRunId> = parser(MAX_ID, ID);
export const parseAgentSessionId: IdentityParser<AgentSessionId> = parser(MAX_ID, ID);
/** Up to 512 printable ASCII characters; line feeds inside, no white space at the ends. */
export const parseToolCallId: IdentityParser<ToolCallId> = parser(MAX_TOOL_CALL_ID, TOOL_CALL_ID);
/** Up to 256 printable ASCII characters, no white space at the ends. */
export const parseModelId: IdentityParser<ModelId> = parser(MAX_MODEL_ID, MODEL_ID);

/** Parses an id that may be left out: absent and empty both mean that there is none. */
export function parseOptional<Id extends string>(
  parse: IdentityParser<Id>,
  text: string | undefined,
  field: string,
): Decoded<Id | undefined> {
  return text === undefined || text === "" ? ok(undefined) : parse(text, field);
}

/** Names one use of a request id: `<requestId>#<generation>`. A request id never holds `#`. */
export function streamIdOf(requestId: RequestId, generation: number): StreamId {
  return `${requestId}#${generation}` as StreamId;
}
