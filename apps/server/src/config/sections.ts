import type { z } from "zod";
import { type ConfigProblem, pathText } from "./problem.ts";
import { type ConfigFile, configSchema, type ProviderEntry, type TokenEntry } from "./schema.ts";

/** An element of a list and its place in it. */
export interface Placed<T> {
  readonly at: number;
  readonly entry: T;
}

/** What of a file can be read: its good parts, with defaults for the others. Lists keep the places of their good elements. */
export interface Sections extends Omit<ConfigFile, "providers" | "tokens"> {
  readonly providers: readonly Placed<ProviderEntry>[];
  readonly tokens: readonly Placed<TokenEntry>[];
}

/** Reads each part by itself, so that what is wrong with one does not hide what is wrong with another. */
export function readSections(raw: unknown, problems: ConfigProblem[]): Sections {
  const given = isMap(raw) ? raw : {};
  if (raw !== undefined && raw !== null && !isMap(raw)) problems.push({ path: "", reason: "a map of settings" });
  for (const key of Object.keys(given))
    if (!(key in configSchema.shape)) problems.push({ path: key, reason: "there is no such setting" });
  const defaults = configSchema.parse({});
  const section = <K extends keyof ConfigFile>(key: K): ConfigFile[K] => {
    // a name with nothing behind it is as good as absent
    const read = (configSchema.shape[key] as z.ZodType).safeParse(given[key] ?? undefined);
    if (read.success) return read.data as ConfigFile[K];
    problems.push(...problemsOf(read.error, [key]));
    return defaults[key];
  };
  const list = <T>(key: "providers" | "tokens", element: z.ZodType<T>): readonly Placed<T>[] => {
    const value = given[key] ?? [];
    if (!Array.isArray(value)) {
      problems.push({ path: key, reason: "a list" });
      return [];
    }
    return value.flatMap((one: unknown, at): readonly Placed<T>[] => {
      const read = element.safeParse(one);
      if (read.success) return [{ at, entry: read.data }];
      problems.push(...problemsOf(read.error, [key, at]));
      return [];
    });
  };
  return {
    listen: section("listen"),
    data: section("data"),
    database: section("database"),
    tokens: list("tokens", configSchema.shape.tokens.unwrap().element),
    providers: list("providers", configSchema.shape.providers.unwrap().element),
    defaultModel: section("defaultModel"),
    demoModel: section("demoModel"),
    limits: section("limits"),
    log: section("log"),
  };
}

function problemsOf(error: z.ZodError, base: readonly PropertyKey[]): readonly ConfigProblem[] {
  return error.issues.flatMap((issue): readonly ConfigProblem[] => {
    const path = [...base, ...issue.path];
    if (issue.code === "unrecognized_keys")
      return issue.keys.map((key) => ({ path: pathText([...path, key]), reason: "there is no such setting" }));
    if (issue.code === "invalid_union" && issue.discriminator !== undefined)
      return [{ path: pathText(path), reason: "openai, anthropic or demo" }];
    return [{ path: pathText(path), reason: issue.message }];
  });
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
