import { createHash } from "node:crypto";
import type { McpToolOffer } from "@chartroom/domain";

/** What every vendor takes as the name of a tool. */
const NAME = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;
const MAX_LENGTH = 64;

/**
 * The names by which the model calls the offered tools: as offered wherever vendors take them, else made of the offered
 * name in a way that depends on nothing but that name. Sorted by name; an offer that comes twice counts once.
 */
export function nameOffers(
  offers: readonly McpToolOffer[],
  taken: ReadonlySet<string>,
): ReadonlyMap<string, McpToolOffer> {
  const unique = new Map<string, McpToolOffer>();
  for (const offer of offers) if (!unique.has(offer.name)) unique.set(offer.name, offer);
  const kept = [...unique.keys()].filter((name) => NAME.test(name) && !taken.has(name));
  const used = new Set([...taken, ...kept]);
  const named = [...unique.values()].map((offer) => {
    const name = used.has(offer.name) && kept.includes(offer.name) ? offer.name : madeName(offer.name);
    return [name, offer] as const;
  });
  return new Map(named.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** The offered name with what vendors refuse replaced, and a digest that keeps two such names apart. */
function madeName(offered: string): string {
  const digest = createHash("sha256").update(offered).digest("hex").slice(0, 8);
  const plain = offered.replaceAll(/[^A-Za-z0-9_-]/g, "_").replace(/^(?![A-Za-z_])/, "_");
  return `${plain.slice(0, MAX_LENGTH - digest.length - 1)}_${digest}`;
}
