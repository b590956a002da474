import { expect } from "vitest";

/** How often a piece stands in a text. */
export const times = (text: string, piece: string): number => text.split(piece).length - 1;
/** All the pieces are in the text, in this order. */
export const inOrder = (text: string, ...pieces: readonly string[]): void => {
  const places = pieces.map((piece) => text.indexOf(piece));
  expect(places).not.toContain(-1);
  expect(places).toEqual(places.toSorted((a, b) => a - b));
};
