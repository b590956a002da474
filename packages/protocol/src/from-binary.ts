import { type DescMessage, fromBinary as strictFromBinary, type MessageShape } from "@bufbuild/protobuf";
import { repairText } from "./repair-text.ts";

/** A message with the bytes it stands for: those that came, or those with repaired text. */
export interface Read<Desc extends DescMessage> {
  readonly message: MessageShape<Desc>;
  readonly bytes: Uint8Array;
}

/**
 * Reads a serialized message; text that is not UTF-8 is read with U+FFFD in its place, where the library itself would
 * refuse the whole message. Throws the library's error when the bytes are no message of this kind.
 */
export function readBinary<Desc extends DescMessage>(schema: Desc, bytes: Uint8Array): Read<Desc> {
  try {
    return { message: strictFromBinary(schema, bytes), bytes };
  } catch (error) {
    const repaired = repairText(schema, bytes);
    if (repaired === undefined) throw error;
    return { message: strictFromBinary(schema, repaired), bytes: repaired };
  }
}

/** The message of `readBinary` alone. */
export function fromBinary<Desc extends DescMessage>(schema: Desc, bytes: Uint8Array): MessageShape<Desc> {
  return readBinary(schema, bytes).message;
}
