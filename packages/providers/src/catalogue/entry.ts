import type { ThinkingStyle } from "../config.ts";

/** What is known of a vendor's model; an operator's configuration goes over it. */
export interface CatalogueEntry {
  readonly displayName: string;
  /** Tokens, answer included. */
  readonly contextWindow: number;
  /** Tokens that an answer may have; no more than is useful for one step. */
  readonly maxOutputTokens: number;
  readonly images: boolean;
  readonly thinking: ThinkingStyle;
  readonly aliases: readonly string[];
}

/** By the vendor's own name of the model, the most useful one first. */
export type Catalogue = ReadonlyMap<string, CatalogueEntry>;
