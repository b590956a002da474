import type { Usage } from "@chartroom/domain";

/** The newer counts over the older ones; a count that neither knows stays unknown. */
export function mergeUsage(older: Usage, newer: Usage): Usage {
  return { ...older, ...newer };
}
