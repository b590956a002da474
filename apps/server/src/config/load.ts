import path from "node:path";
import type { ConversationSettings } from "@chartroom/conversation";
import type { GatewayLimits } from "@chartroom/gateway";
import type { ProviderConfig } from "@chartroom/providers";
import { defaultDrainMs, gatewayLimitsOf, settingsOf } from "./limits.ts";
import { isLoopback, portOf, readTls, type TlsFiles } from "./listen.ts";
import { ConfigError, type ConfigProblem } from "./problem.ts";
import { configuredProviders, demoProvider, directoryProblems, environmentProviders } from "./providers.ts";
import type { ConfigFile } from "./schema.ts";
import { readSecret } from "./secret.ts";
import { readSections, type Sections } from "./sections.ts";
import { type ConfiguredToken, tokensOf } from "./tokens.ts";
import { readYaml } from "./yaml.ts";

/** A checked configuration with its secrets resolved. */
export interface Config {
  /** The file that it was read from. */
  readonly file: string | undefined;
  readonly host: string;
  readonly port: number;
  readonly tls: TlsFiles | undefined;
  /** How clients are told to run the agent. */
  readonly transport: ConfigFile["listen"]["transport"];
  readonly publicUrl: string | undefined;
  readonly dataFolder: string;
  readonly databaseUrl: string | undefined;
  readonly tokens: readonly ConfiguredToken[];
  readonly providers: readonly ProviderConfig[];
  readonly defaultModel: string | undefined;
  readonly settings: ConversationSettings;
  readonly gatewayLimits: Partial<GatewayLimits>;
  readonly drainMs: number;
  readonly logLevel: ConfigFile["log"]["level"];
}

export interface LoadOptions {
  /** Where the server is started: relative paths of the environment start here. */
  readonly folder: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Default: `CHARTROOM_CONFIG`, else `chartroom.yaml` of the folder, if there is one. */
  readonly file?: string;
}

/**
 * Reads and checks the configuration. Throws a `ConfigError` that names every problem at once. The environment goes before
 * the file: `CHARTROOM_PORT`, `CHARTROOM_DATA`, `DATABASE_URL`.
 */
export function loadConfig({ folder, env, file }: LoadOptions): Config {
  const named = file ?? (env["CHARTROOM_CONFIG"] || undefined);
  const place = path.resolve(folder, named ?? "chartroom.yaml");
  const base = path.dirname(place);
  const problems: ConfigProblem[] = [];
  const yaml = readYaml(place, named !== undefined, problems);
  const given = readSections(yaml.kind === "read" ? yaml.value : undefined, problems);
  const secret = (at: string, reference: string): string | undefined => {
    const read = readSecret(reference, { env, folder: base });
    if (read.ok) return read.value;
    problems.push({ path: at, reason: read.error });
    return undefined;
  };
  const { listen, limits } = given;
  const tokens = tokensOf(given.tokens, secret, problems);
  if (tokens.length === 0 && !isLoopback(listen.host))
    problems.push({
      path: "listen.host",
      reason: `${listen.host} is not loopback: without tokens anybody could use the provider keys`,
    });
  const config: Config = {
    file: yaml.kind === "absent" ? undefined : place,
    host: listen.host,
    port: portOf(env["CHARTROOM_PORT"], listen.port, problems),
    tls: listen.tls && readTls(listen.tls, base, problems),
    transport: listen.transport,
    publicUrl: listen.publicUrl?.replace(/\/+$/u, ""),
    dataFolder: dataFolderOf(folder, env["CHARTROOM_DATA"], given.data && path.resolve(base, given.data)),
    databaseUrl: env["DATABASE_URL"]?.trim() || (given.database && secret("database", given.database)),
    tokens,
    providers: providersOf(given, env, secret, problems),
    defaultModel: given.defaultModel,
    settings: settingsOf(limits, problems),
    gatewayLimits: gatewayLimitsOf(limits),
    drainMs: limits.drainMs ?? defaultDrainMs,
    logLevel: given.log.level,
  };
  if (problems.length > 0) throw new ConfigError(config.file && relativeTo(folder, place), problems);
  return config;
}

function providersOf(
  given: Sections,
  env: LoadOptions["env"],
  secret: (at: string, reference: string) => string | undefined,
  problems: ConfigProblem[],
): readonly ProviderConfig[] {
  const broken = problems.some(({ path: at }) => at.startsWith("providers"));
  const configured = configuredProviders(given.providers, secret, problems);
  const remote = configured.length > 0 || broken ? configured : environmentProviders(env);
  const withDemo = given.demoModel && !configured.some(({ kind }) => kind === "demo");
  const all = withDemo ? [...remote, demoProvider] : remote;
  if (all.length === 0) {
    if (!broken)
      problems.push({
        path: "providers",
        reason: "no model: name a provider, or set OPENAI_API_KEY or ANTHROPIC_API_KEY",
      });
    return all;
  }
  // the default may be a model of a provider that could not be read
  const defaultModel = broken ? undefined : given.defaultModel;
  problems.push(
    ...directoryProblems(
      all,
      given.providers.map(({ at }) => at),
      defaultModel,
    ),
  );
  return all;
}

function dataFolderOf(folder: string, ofEnvironment: string | undefined, ofFile: string | undefined): string {
  return ofEnvironment ? path.resolve(folder, ofEnvironment) : (ofFile ?? path.resolve(folder, ".chartroom"));
}

function relativeTo(folder: string, file: string): string {
  const relative = path.relative(folder, file);
  return relative.startsWith("..") ? file : relative;
}
