import { blobId } from "@chartroom/protocol";

const utf8 = new TextEncoder();

/** UTF-8 bytes of a text; half a surrogate pair becomes U+FFFD. */
export function utf8Bytes(text: string): Uint8Array {
  return utf8.encode(text);
}

/** Lower-case hex of the SHA-256 of a text, shortened to `length` digits. */
export function digestOf(text: string, length = 64): string {
  return blobId(utf8Bytes(text)).slice(0, length);
}
