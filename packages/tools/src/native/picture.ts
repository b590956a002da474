const SIGNATURES: readonly { readonly type: string; readonly at: number; readonly bytes: readonly number[] }[] = [
  { type: "image/png", at: 0, bytes: [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a] },
  { type: "image/jpeg", at: 0, bytes: [0xff, 0xd8, 0xff] },
  { type: "image/gif", at: 0, bytes: [0x47, 0x49, 0x46, 0x38] },
  // RIFF, four bytes of length, WEBP
  { type: "image/webp", at: 8, bytes: [0x57, 0x45, 0x42, 0x50] },
];

/** Media type of a picture that models can see, by its first bytes; `undefined` for anything else. */
export function pictureType(data: Uint8Array): string | undefined {
  return SIGNATURES.find(({ at, bytes }) => bytes.every((byte, index) => data[at + index] === byte))?.type;
}
