import type { Clock } from "@chartroom/domain";
import { type ChildProcess, spawn } from "node:child_process";
import { pathToFileURL } from "node:url";
import { childEnvironment } from "../shells/environment.ts";
import type { McpServerConfig } from "./config.ts";
import { JsonRpc } from "./json-rpc.ts";

const PROTOCOL_VERSION = "2025-06-18";
const START_TIMEOUT_MS = 30_000;
const CALL_TIMEOUT_MS = 600_000;
const MAX_PAGES = 50;

export interface McpTool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments. */
  readonly inputSchema: unknown;
  /** The server says that the tool changes nothing. */
  readonly readOnly: boolean;
}

export interface McpCallResult {
  readonly content: readonly McpContent[];
  readonly isError: boolean;
  readonly structuredContent: Record<string, unknown> | undefined;
}

export type McpContent =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image"; readonly data: Uint8Array; readonly mimeType: string };

export interface McpResource {
  readonly uri: string;
  readonly name: string | undefined;
  readonly description: string | undefined;
  readonly mimeType: string | undefined;
}

/** One running MCP server; it lives as long as the client and ends with it. */
export class McpServer {
  readonly name: string;
  readonly tools: readonly McpTool[];
  readonly instructions: string;
  readonly #rpc: JsonRpc;
  readonly #child: ChildProcess;
  readonly #hasResources: boolean;

  private constructor(child: ChildProcess, rpc: JsonRpc, name: string, hello: Hello, tools: readonly McpTool[]) {
    this.#child = child;
    this.#rpc = rpc;
    this.name = name;
    this.instructions = hello.instructions;
    this.#hasResources = hello.hasResources;
    this.tools = tools;
  }

  /** Starts a server, greets it and asks for its tools; throws with a plain reason when that fails. */
  static async start(config: McpServerConfig, root: string, clock: Clock): Promise<McpServer> {
    const child = spawn(config.command, config.args, {
      cwd: config.cwd ?? root,
      env: { ...childEnvironment(), ...config.env },
      stdio: ["pipe", "pipe", "ignore"],
    });
    const roots = { roots: [{ uri: pathToFileURL(root).href, name: "workspace" }] };
    const rpc = new JsonRpc(child.stdout, child.stdin, clock, (method) => {
      if (method === "ping") return {};
      if (method === "roots/list") return roots;
      throw new Error("not served");
    });
    child.once("error", (error) => rpc.close(error.message));
    child.once("exit", () => rpc.close("the server has ended"));
    try {
      const hello = readHello(
        await rpc.request(
          "initialize",
          {
            protocolVersion: PROTOCOL_VERSION,
            capabilities: { roots: {} },
            clientInfo: { name: "chartroom-client", version: "1.0.0" },
          },
          START_TIMEOUT_MS,
        ),
      );
      rpc.notify("notifications/initialized");
      const tools = hello.hasTools ? (await pages(rpc, "tools/list", "tools")).map(readTool) : [];
      return new McpServer(child, rpc, config.name, hello, tools);
    } catch (error) {
      child.kill("SIGKILL");
      throw error;
    }
  }

  /** Calls a tool; throws an `RpcError` when there is no result. */
  async call(tool: string, args: Record<string, unknown>, signal: AbortSignal): Promise<McpCallResult> {
    return readResult(await this.#rpc.request("tools/call", { name: tool, arguments: args }, CALL_TIMEOUT_MS, signal));
  }

  async resources(): Promise<McpResource[]> {
    return this.#hasResources ? (await pages(this.#rpc, "resources/list", "resources")).map(readResource) : [];
  }

  /** The first content of a resource, or undefined when the server gives none. */
  async read(uri: string, signal: AbortSignal): Promise<{ text: string } | { blob: Uint8Array } | undefined> {
    const answer = record(await this.#rpc.request("resources/read", { uri }, CALL_TIMEOUT_MS, signal));
    const first = record(list(answer["contents"])[0]);
    if (typeof first["text"] === "string") return { text: first["text"] };
    return typeof first["blob"] === "string" ? { blob: Buffer.from(first["blob"], "base64") } : undefined;
  }

  close(): void {
    this.#rpc.close("the client closes");
    this.#child.kill("SIGKILL");
  }
}

interface Hello {
  readonly instructions: string;
  readonly hasTools: boolean;
  readonly hasResources: boolean;
}

function readHello(answer: unknown): Hello {
  const { capabilities, instructions } = record(answer);
  const has = record(capabilities);
  return {
    instructions: typeof instructions === "string" ? instructions : "",
    hasTools: has["tools"] !== undefined,
    hasResources: has["resources"] !== undefined,
  };
}

async function pages(rpc: JsonRpc, method: string, field: string): Promise<unknown[]> {
  const all: unknown[] = [];
  let cursor: unknown;
  for (let page = 0; page < MAX_PAGES; page++) {
    const answer = record(await rpc.request(method, cursor === undefined ? {} : { cursor }, START_TIMEOUT_MS));
    all.push(...list(answer[field]));
    cursor = answer["nextCursor"];
    if (typeof cursor !== "string" || cursor === "") break;
  }
  return all;
}

function readTool(value: unknown): McpTool {
  const { name, description, inputSchema, annotations } = record(value);
  return {
    name: text(name),
    description: text(description),
    inputSchema: inputSchema ?? { type: "object" },
    readOnly: record(annotations)["readOnlyHint"] === true,
  };
}

function readResource(value: unknown): McpResource {
  const { uri, name, description, mimeType } = record(value);
  const optional = (one: unknown) => (typeof one === "string" ? one : undefined);
  return { uri: text(uri), name: optional(name), description: optional(description), mimeType: optional(mimeType) };
}

function readResult(value: unknown): McpCallResult {
  const { content, isError, structuredContent } = record(value);
  return {
    content: list(content).map(readContent),
    isError: isError === true,
    structuredContent: structuredContent === undefined ? undefined : record(structuredContent),
  };
}

function readContent(value: unknown): McpContent {
  const item = record(value);
  if (item["type"] === "text") return { type: "text", text: text(item["text"]) };
  if (item["type"] === "image") {
    return { type: "image", data: Buffer.from(text(item["data"]), "base64"), mimeType: text(item["mimeType"]) };
  }
  // a kind that the wire has no place for goes as what it is
  return { type: "text", text: JSON.stringify(value) };
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}
