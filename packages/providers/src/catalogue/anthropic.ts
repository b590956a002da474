import type { Catalogue, CatalogueEntry } from "./entry.ts";

const adaptive = (displayName: string, alias: string): CatalogueEntry => ({
  displayName,
  contextWindow: 1_000_000,
  maxOutputTokens: 64_000,
  images: true,
  thinking: "adaptive",
  aliases: alias === "" ? [] : [alias],
});

/** As of November 2026 (the vendor's model overview). */
export const ANTHROPIC_MODELS: Catalogue = new Map([
  ["claude-opus-5-5", adaptive("Claude Opus 5.5", "opus")],
  ["claude-sonnet-5-5", adaptive("Claude Sonnet 5.5", "sonnet")],
  ["claude-fable-5-2", adaptive("Claude Fable 5.2", "fable")],
  ["claude-haiku-5-5", adaptive("Claude Haiku 5.5", "haiku")],
  ["claude-opus-4-8", adaptive("Claude Opus 4.8", "")],
  ["claude-sonnet-4-6", adaptive("Claude Sonnet 4.6", "")],
  [
    "claude-haiku-4-5",
    {
      displayName: "Claude Haiku 4.5",
      contextWindow: 200_000,
      maxOutputTokens: 32_000,
      images: true,
      thinking: "budget",
      aliases: [],
    },
  ],
]);
