import fs from "node:fs/promises";
import { type Client, createClient } from "../client.ts";
import type { User } from "../execution/consent.ts";
import { readMcpConfig } from "../mcp/config.ts";
import type { McpServerConfig } from "../mcp/config.ts";
import type { Conversation } from "../session/conversation.ts";
import { AUTOMATIC_MODEL } from "../session/models.ts";
import type { ClientFailure } from "../transport/failure.ts";
import type { ChatOptions } from "./options.ts";

export type Started =
  | {
      readonly kind: "started";
      readonly client: Client;
      readonly conversation: Conversation;
      readonly resumed: boolean;
    }
  | { readonly kind: "usage"; readonly errors: readonly string[] }
  | { readonly kind: "failed"; readonly failure: ClientFailure };

/** Makes the client and the conversation that the options ask for. What it opens is closed again when it fails. */
export async function start(options: ChatOptions, user: User, refusal: string | undefined): Promise<Started> {
  const errors: string[] = [];
  const ca = options.ca === undefined ? undefined : await readFileOr(options.ca, errors);
  const mcp = await mcpServers(options.mcp, errors);
  const isFolder = await fs.stat(options.folder).then(
    (stat) => stat.isDirectory(),
    () => false,
  );
  if (!isFolder) errors.push(`--folder ${options.folder} is not a folder`);
  if (errors.length > 0) return { kind: "usage", errors };
  const client = await createClient({
    url: options.url,
    token: options.token,
    transport: options.transport,
    grpcWeb: options.grpcWeb,
    ca,
    folder: options.folder,
    user,
    refusal,
    mcp,
    limits: { retries: options.retries },
  });
  const started = await chosen(client, options);
  if (started.kind !== "started") client.close();
  return started;
}

async function chosen(client: Client, options: ChatOptions): Promise<Started> {
  if (options.resume !== undefined) {
    const conversation = await client.resumeConversation(options.resume === "" ? undefined : options.resume);
    if (conversation === undefined) {
      const what = options.resume === "" ? "no conversation" : `no conversation ${options.resume}`;
      return { kind: "usage", errors: [`there is ${what} of ${client.folder} to go on with`] };
    }
    if (options.model !== undefined) conversation.setModel(options.model);
    if (options.mode !== undefined) conversation.setMode(options.mode);
    return { kind: "started", client, conversation, resumed: true };
  }
  const model = await modelOf(client, options.model);
  if (typeof model !== "string") return { kind: "failed", failure: model };
  return { kind: "started", client, conversation: await client.newConversation(model, options.mode), resumed: false };
}

/** The model that was asked for, else the server's choice; a failure only where the server cannot be talked to. */
async function modelOf(client: Client, wanted: string | undefined): Promise<string | ClientFailure> {
  if (wanted !== undefined) return wanted;
  const byServer = await client.defaultModel();
  if (byServer.ok && byServer.model !== undefined && byServer.model.id !== "") return byServer.model.id;
  if (!byServer.ok && stops(byServer.failure)) return byServer.failure;
  const all = await client.models();
  return (all.ok ? all.models[0]?.id : undefined) ?? AUTOMATIC_MODEL;
}

function stops({ kind, code }: ClientFailure): boolean {
  return kind === "unreachable" || code === "unauthenticated" || code === "permission_denied";
}

async function readFileOr(file: string, errors: string[]): Promise<string | undefined> {
  try {
    return await fs.readFile(file, "utf8");
  } catch (error) {
    errors.push(`${file}: ${(error as Error).message}`);
    return undefined;
  }
}

async function mcpServers(file: string | undefined, errors: string[]): Promise<readonly McpServerConfig[]> {
  if (file === undefined) return [];
  const config = await readMcpConfig(file);
  if (config.ok) return config.servers;
  errors.push(...config.errors);
  return [];
}
