import fs from "node:fs/promises";

/** How to start one MCP server on this machine. */
export interface McpServerConfig {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | undefined;
}

export type McpConfig =
  | { readonly ok: true; readonly servers: readonly McpServerConfig[] }
  | { readonly ok: false; readonly errors: readonly string[] };

/** Reads `{"mcpServers": {"name": {"command", "args"?, "env"?, "cwd"?}}}`; every mistake is named at once. */
export async function readMcpConfig(file: string): Promise<McpConfig> {
  let text: string;
  try {
    text = await fs.readFile(file, "utf8");
  } catch (error) {
    return { ok: false, errors: [`${file}: ${(error as Error).message}`] };
  }
  return parseMcpConfig(text, file);
}

export function parseMcpConfig(text: string, file: string): McpConfig {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    return { ok: false, errors: [`${file} is not JSON: ${(error as Error).message}`] };
  }
  const servers = isRecord(json) ? json["mcpServers"] : undefined;
  if (!isRecord(servers)) return { ok: false, errors: [`${file}: "mcpServers" must be an object`] };
  const errors: string[] = [];
  const found = Object.entries(servers).map(([name, value]): McpServerConfig => {
    const at = `${file}: mcpServers.${name}`;
    const entry = isRecord(value) ? value : {};
    if (!isRecord(value)) errors.push(`${at} must be an object`);
    const { command, args, env, cwd } = entry;
    if (typeof command !== "string" || command === "") errors.push(`${at}.command must be a program's name`);
    if (args !== undefined && !isStrings(args)) errors.push(`${at}.args must be a list of strings`);
    if (env !== undefined && !(isRecord(env) && isStrings(Object.values(env)))) {
      errors.push(`${at}.env must be an object of strings`);
    }
    if (cwd !== undefined && typeof cwd !== "string") errors.push(`${at}.cwd must be a path`);
    return {
      name,
      command: typeof command === "string" ? command : "",
      args: isStrings(args) ? args : [],
      env: isRecord(env) ? (env as Record<string, string>) : {},
      cwd: typeof cwd === "string" ? cwd : undefined,
    };
  });
  return errors.length > 0 ? { ok: false, errors } : { ok: true, servers: found };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isStrings(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}
