import { createModelDirectory, type ProviderConfig } from "@chartroom/providers";
import { systemClock } from "../time.ts";
import type { ConfigProblem } from "./problem.ts";
import type { ProviderEntry } from "./schema.ts";
import type { Placed } from "./sections.ts";

type Env = Readonly<Record<string, string | undefined>>;
type Secret = (at: string, reference: string) => string | undefined;

const KEY_OF = { openai: "OPENAI_API_KEY", anthropic: "ANTHROPIC_API_KEY" } as const;

/** Configured providers, with their secrets. */
export function configuredProviders(
  entries: readonly Placed<ProviderEntry>[],
  secret: Secret,
  problems: ConfigProblem[],
): readonly ProviderConfig[] {
  return entries.map(({ at, entry }) => providerOf(`providers[${at}]`, entry, secret, problems));
}

/**
 * What is wrong between providers: names that two of them have, an address of one's own without models, a default that nobody
 * offers. `places` are the providers' places in the file.
 */
export function directoryProblems(
  providers: readonly ProviderConfig[],
  places: readonly number[],
  defaultModel: string | undefined,
): readonly ConfigProblem[] {
  const made = createModelDirectory(
    { providers, ...(defaultModel === undefined ? {} : { defaultModel }) },
    { clock: systemClock },
  );
  if (made.ok) {
    // nothing was called
    void made.value.close();
    return [];
  }
  return made.error.map(({ path, message }) => ({ path: placedPath(path, places), reason: message }));
}

/** `providers[0]` of the list that is used, as it stands in the file; those of the environment stand nowhere. */
function placedPath(path: string, places: readonly number[]): string {
  return path.replace(/^providers\[(\d+)\](.*)$/u, (_, at: string, rest: string) => {
    const place = places[Number(at)];
    return place === undefined ? "providers" : `providers[${place}]${rest}`;
  });
}

/** The providers whose key the environment has. */
export function environmentProviders(env: Env): readonly ProviderConfig[] {
  return (["anthropic", "openai"] as const).flatMap((kind): readonly ProviderConfig[] => {
    const apiKey = env[KEY_OF[kind]]?.trim();
    return apiKey ? [{ id: kind, kind, apiKey }] : [];
  });
}

export const demoProvider: ProviderConfig = { id: "demo", kind: "demo" };

function providerOf(path: string, entry: ProviderEntry, secret: Secret, problems: ConfigProblem[]): ProviderConfig {
  if (entry.kind === "demo") return defined(entry) as ProviderConfig;
  const { apiKey: reference, headers, auth, ...same } = entry;
  const own = entry.baseUrl !== undefined;
  if (auth === "none" && reference !== undefined)
    problems.push({ path: `${path}.auth`, reason: "none, but there is an apiKey" });
  const from = reference ?? (own || auth === "none" ? undefined : `env:${KEY_OF[entry.kind]}`);
  const apiKey = from === undefined ? undefined : secret(`${path}.apiKey`, from);
  const read = Object.entries(headers ?? {}).map(([name, value]): [string, string] => [
    name,
    /^(?:env|file):/u.test(value) ? (secret(`${path}.headers.${name}`, value) ?? "") : value,
  ]);
  // an address of one's own may want no key at all
  const style = from === undefined ? "none" : auth;
  return defined({
    ...same,
    apiKey: apiKey ?? "",
    auth: style,
    headers: read.length === 0 ? undefined : Object.fromEntries(read),
  }) as ProviderConfig;
}

/** Without what is undefined, all the way down. */
function defined(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(defined);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, entry]) => entry !== undefined)
      .map(([key, entry]) => [key, defined(entry)]),
  );
}
