import fs from "node:fs";
import path from "node:path";
import { parseDocument } from "yaml";
import { type ConversationSettings, defaultSettings, settingsProblems } from "@chartroom/conversation";
import type { ProviderConfig } from "@chartroom/providers";
import { ConfigError, type ConfigProblem, pathText } from "./problem.ts";
import { configSchema, type ConfigFile } from "./schema.ts";
import { readSecret } from "./secret.ts";

/** A checked configuration with its secrets resolved. */
export interface Config {
  readonly file: string | undefined;
  readonly host: string;
  readonly port: number;
  readonly tls: { readonly cert: Buffer; readonly key: Buffer } | undefined;
  readonly publicUrl: string | undefined;
  readonly dataFolder: string;
  readonly databaseUrl: string | undefined;
  readonly tokens: readonly ConfiguredToken[];
  readonly providers: readonly ProviderConfig[];
  readonly defaultModel: string | undefined;
  readonly settings: ConversationSettings;
  readonly drainMs: number;
  readonly logLevel: ConfigFile["log"]["level"];
}

export interface ConfiguredToken {
  readonly member: string;
  readonly team: string;
  readonly roles: readonly ("member" | "admin")[];
  readonly token: string;
}

export interface LoadOptions {
  readonly folder: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Default: `CHARTROOM_CONFIG`, else `chartroom.yaml` of the folder, if there is one. */
  readonly file?: string;
}

const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/u;

/** Reads and checks the configuration; throws a `ConfigError` that names every problem at once. */
export function loadConfig({ folder, env, file }: LoadOptions): Config {
  const named = file ?? env["CHARTROOM_CONFIG"];
  const found = path.resolve(folder, named ?? "chartroom.yaml");
  const problems: ConfigProblem[] = [];
  const raw = readYaml(found, named !== undefined, problems);
  const parsed = configSchema.safeParse(raw ?? {});
  if (!parsed.success)
    for (const issue of parsed.error.issues) problems.push({ path: pathText(issue.path), reason: issue.message });
  const value = parsed.success ? parsed.data : configSchema.parse({});
  const base = path.dirname(found);
  const secret = (at: string, reference: string): string => {
    const read = readSecret(reference, { env, folder: base });
    if (read.ok) return read.value;
    problems.push({ path: at, reason: read.error });
    return "";
  };
  const pem = (at: string, name: string): Buffer => {
    try {
      return fs.readFileSync(path.resolve(base, name));
    } catch {
      problems.push({ path: at, reason: `the file ${name} cannot be read` });
      return Buffer.alloc(0);
    }
  };
  const { listen } = value;
  const tokens = value.tokens.map((entry, at) => ({ ...entry, token: secret(`tokens[${at}].token`, entry.token) }));
  for (const [at, entry] of tokens.entries()) {
    if (entry.token !== "" && entry.token.length < 16)
      problems.push({ path: `tokens[${at}].token`, reason: "at least 16 characters" });
    if (tokens.findIndex((other) => other.token === entry.token && entry.token !== "") < at)
      problems.push({ path: `tokens[${at}].token`, reason: "another member has the same token" });
  }
  if (tokens.length === 0 && !loopback.test(listen.host))
    problems.push({
      path: "listen.host",
      reason: `${listen.host} is not loopback: configure tokens first, or anybody could use the provider keys`,
    });
  const settings = settingsOf(value.limits);
  for (const problem of settingsProblems(settings)) problems.push({ path: "limits", reason: problem });
  const providers = providersOf(value, env, secret, problems);
  const config: Config = {
    file: raw === undefined ? undefined : found,
    host: listen.host,
    port: portOf(env["CHARTROOM_PORT"], listen.port, problems),
    tls: listen.tls
      ? { cert: pem("listen.tls.cert", listen.tls.cert), key: pem("listen.tls.key", listen.tls.key) }
      : undefined,
    publicUrl: listen.publicUrl,
    dataFolder: path.resolve(folder, env["CHARTROOM_DATA"] ?? value.data),
    databaseUrl: env["DATABASE_URL"] ?? (value.database ? secret("database", value.database) : undefined),
    tokens,
    providers,
    defaultModel: value.defaultModel,
    settings,
    drainMs: value.limits.drainMs ?? 10_000,
    logLevel: value.log.level,
  };
  if (problems.length > 0) throw new ConfigError(path.relative(folder, found) || found, problems);
  return config;
}

function readYaml(file: string, needed: boolean, problems: ConfigProblem[]): unknown {
  let text: string;
  try {
    text = fs.readFileSync(file, "utf8");
  } catch (error) {
    if (needed || (error as NodeJS.ErrnoException).code !== "ENOENT")
      problems.push({ path: "", reason: "the file cannot be read" });
    return undefined;
  }
  const document = parseDocument(text, { prettyErrors: true, uniqueKeys: true });
  for (const error of document.errors)
    problems.push({ path: `line ${error.linePos?.[0].line ?? 1}`, reason: error.message.split("\n")[0] ?? "not YAML" });
  return document.errors.length > 0 ? {} : (document.toJS() ?? {});
}

function portOf(text: string | undefined, otherwise: number, problems: ConfigProblem[]): number {
  if (text === undefined || text === "") return otherwise;
  const port = Number(text);
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  problems.push({ path: "CHARTROOM_PORT", reason: "a whole number from 0 to 65535" });
  return otherwise;
}

function settingsOf(limits: ConfigFile["limits"]): ConversationSettings {
  const { drainMs: _drain, modelIdleMs, modelMs, ...rest } = limits;
  const given = Object.fromEntries(
    Object.entries(rest).filter(([, value]) => value !== undefined),
  ) as Partial<ConversationSettings>;
  const { model } = defaultSettings;
  return {
    ...defaultSettings,
    ...given,
    ...(modelMs === undefined ? {} : { modelMs }),
    model: {
      idleMs: modelIdleMs ?? model.idleMs,
      headersMs: modelIdleMs ?? model.headersMs,
      totalMs: modelMs ?? model.totalMs,
    },
  };
}

/** Configured providers; without any, those whose key is in the environment; and the demo model. */
function providersOf(
  value: ConfigFile,
  env: LoadOptions["env"],
  secret: (at: string, reference: string) => string,
  problems: ConfigProblem[],
): readonly ProviderConfig[] {
  const providers: ProviderConfig[] = value.providers.map((provider, at) => {
    const { id, kind, baseUrl, headers, models } = provider;
    const fallback = kind === "openai" ? "env:OPENAI_API_KEY" : "env:ANTHROPIC_API_KEY";
    const reference = provider.apiKey ?? (baseUrl === undefined ? fallback : undefined);
    if (value.providers.findIndex((other) => other.id === id) < at)
      problems.push({ path: `providers[${at}].id`, reason: "another provider has the same id" });
    return {
      id,
      kind,
      apiKey: reference === undefined ? "" : secret(`providers[${at}].apiKey`, reference),
      ...(baseUrl === undefined ? {} : { baseUrl }),
      ...(headers === undefined ? {} : { headers }),
      ...(models === undefined ? {} : { models: models.map((model) => defined(model)) }),
    } as ProviderConfig;
  });
  if (value.providers.length === 0) {
    for (const [kind, name] of [
      ["anthropic", "ANTHROPIC_API_KEY"],
      ["openai", "OPENAI_API_KEY"],
    ] as const) {
      const apiKey = env[name]?.trim();
      if (apiKey) providers.push({ id: kind, kind, apiKey });
    }
  }
  if (value.demoModel) providers.push({ id: "demo", kind: "demo", apiKey: "" });
  if (providers.length === 0)
    problems.push({
      path: "providers",
      reason: "no model: configure a provider or set OPENAI_API_KEY or ANTHROPIC_API_KEY",
    });
  return providers;
}

function defined<T extends object>(value: T): Partial<T> {
  return Object.fromEntries(Object.entries(value).filter(([, entry]) => entry !== undefined)) as Partial<T>;
}
