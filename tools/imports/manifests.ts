import { TEST_EXTERNAL, UNITS } from "./table.ts";

/** The part of a package.json that the rules are about. */
export interface Manifest {
  readonly name?: string;
  readonly exports?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

/**
 * Compares a package's manifest with the table: its name, its doors, and that it declares nothing that it may not import.
 * Development dependencies are for its tests and its tooling, so only workspace packages among them are judged.
 * Gives one sentence per difference.
 */
export function judgeManifest(folder: string, manifest: Manifest): string[] {
  const unit = UNITS.find((one) => one.folder === folder);
  if (!unit) return [`${folder} is not in the table of tools/imports/table.ts`];
  const found: string[] = [];
  if (manifest.name !== unit.name) found.push(`${folder} is named ${manifest.name}, not ${unit.name}`);
  const doors = Object.keys(manifest.exports ?? {});
  for (const door of doors)
    if (!unit.doors.includes(door)) found.push(`${folder} exports ${door}, which is no door of it`);
  for (const door of unit.doors) if (!doors.includes(door)) found.push(`${folder} does not export its door ${door}`);
  const edges = [unit.workspace, ...(unit.wider ?? []).map((wider) => wider.workspace)].flatMap(Object.keys);
  const external = [unit.external, ...(unit.wider ?? []).map((wider) => wider.external)].flat();
  const allowed = (name: string) =>
    edges.some((door) => door === name || door.startsWith(`${name}/`)) ||
    external.some((one) => (one.endsWith("/*") ? name.startsWith(one.slice(0, -1)) : one === name));
  for (const name of Object.keys(manifest.dependencies ?? {}))
    if (!allowed(name)) found.push(`${folder} depends on ${name}, which it may not import`);
  for (const name of Object.keys(manifest.devDependencies ?? {}))
    if (name.startsWith("@chartroom/") && !allowed(name) && !TEST_EXTERNAL.includes(name))
      found.push(`${folder} depends on ${name}, which it may not import`);
  return found;
}
