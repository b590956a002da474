import type { ThinkingStyle } from "../config.ts";
import type { Catalogue, CatalogueEntry } from "./entry.ts";

const gpt = (displayName: string, contextWindow: number, thinking: ThinkingStyle, output = 64_000): CatalogueEntry => ({
  displayName,
  contextWindow,
  maxOutputTokens: output,
  images: true,
  thinking,
  aliases: [],
});

/** As of November 2026. From GPT-5.2 on the chat endpoint takes no effort together with tools. */
export const OPENAI_MODELS: Catalogue = new Map([
  ["gpt-5.6-sol", gpt("GPT-5.6 Sol", 1_050_000, "effortWithoutTools")],
  ["gpt-5.6-terra", gpt("GPT-5.6 Terra", 1_050_000, "effortWithoutTools")],
  ["gpt-5.6-luna", gpt("GPT-5.6 Luna", 1_050_000, "effortWithoutTools")],
  ["gpt-5.4", gpt("GPT-5.4", 1_050_000, "effortWithoutTools")],
  ["gpt-5.4-mini", gpt("GPT-5.4 mini", 400_000, "effortWithoutTools")],
  ["gpt-5.2", gpt("GPT-5.2", 400_000, "effortWithoutTools")],
  ["gpt-5.1", gpt("GPT-5.1", 400_000, "effort")],
  ["gpt-5-mini", gpt("GPT-5 mini", 400_000, "effort")],
  ["gpt-4.1", gpt("GPT-4.1", 1_000_000, "none", 32_768)],
  ["gpt-4.1-mini", gpt("GPT-4.1 mini", 1_000_000, "none", 32_768)],
]);
