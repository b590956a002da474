import { isLoopback } from "./config/listen.ts";
import type { Config } from "./config/load.ts";
import type { RunningServer } from "./compose.ts";

/** More of them are told by `chartroom models`. */
const MODELS_SHOWN = 12;

/** What a newcomer needs to see after `npm start`: where it listens, where the data lies, which models, and how to use it. */
export function banner(config: Config, server: RunningServer): string {
  const token = config.tokens.length > 0;
  return [
    `Chartroom listens on ${server.url}`,
    "",
    `  Data     ${config.databaseUrl === undefined ? `${server.where} (the built-in Postgres)` : server.where}`,
    `  Config   ${config.file ?? "no chartroom.yaml: defaults, and keys from the environment"}`,
    ...models(server),
    "",
    `  Terminal client   npm run chat -- --url ${server.url}${token ? " --token YOUR_TOKEN" : ""}`,
    `  Cursor CLI        cursor-agent --endpoint ${server.url}${token ? " --api-key YOUR_TOKEN" : ""}`,
    "",
    ...(token ? [] : ["No tokens are configured, so only this machine can connect."]),
    ...(token && !config.tls && !isLoopback(config.host)
      ? ["Tokens and prompts travel unencrypted: configure listen.tls, or put a TLS proxy in front."]
      : []),
    "Ctrl-C stops it.",
  ].join("\n");
}

function models({ models: all }: RunningServer): readonly string[] {
  const first = all.toSorted((a, b) => Number(b.isDefault) - Number(a.isDefault)).slice(0, MODELS_SHOWN);
  const width = Math.max(...first.map(({ id }) => id.length));
  const rest = all.length - first.length;
  return [
    ...first.map(
      ({ id, provider, isDefault }, at) =>
        `  ${at === 0 ? "Models" : "      "}   ${id.padEnd(width)}  ${provider}${isDefault ? ", the default" : ""}`,
    ),
    ...(rest > 0 ? [`           and ${rest} more: npm run chartroom -- models`] : []),
  ];
}
