import type { Barrier } from "@chartroom/domain";

/** Several barriers as one transaction; rows keep their order, the last head and chart win. */
export function mergeBarriers(...barriers: readonly Barrier[]): Barrier {
  const merged: Record<string, unknown> = {};
  for (const barrier of barriers)
    for (const [name, value] of Object.entries(barrier) as [string, unknown][]) {
      const before = merged[name];
      merged[name] =
        Array.isArray(value) && Array.isArray(before) ? [...(before as unknown[]), ...(value as unknown[])] : value;
    }
  return merged;
}
