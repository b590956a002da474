import type { Config } from "./config/load.ts";
import type { RunningServer } from "./compose.ts";

/** What a newcomer needs to see after `npm start`: where it listens, where the data lies, which models, and how to use it. */
export function banner(config: Config, server: RunningServer, where: string): string {
  const token = config.tokens.length > 0;
  const models = server.models.map(
    ({ id, provider, isDefault }) => `    ${id}${isDefault ? " (default)" : ""} — ${provider}`,
  );
  return [
    `Chartroom listens on ${server.url}`,
    `  data:   ${where}`,
    `  config: ${config.file ?? "none (defaults)"}`,
    "  models:",
    ...models,
    "",
    "Use it:",
    `  terminal client   npm run chat -- --url ${server.url}${token ? " --token YOUR_TOKEN" : ""}`,
    `  Cursor CLI        cursor-agent --endpoint ${server.url}${token ? " --api-key YOUR_TOKEN" : ""}`,
    token ? "" : "  No tokens are configured: only this machine can connect.",
    "Stop with Ctrl-C.",
  ]
    .filter((line, at, all) => line !== "" || all[at - 1] !== "")
    .join("\n");
}
