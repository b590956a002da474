import { create, fromJson, type JsonValue } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import {
  type McpInstructions,
  McpInstructionsSchema,
  type McpToolDefinition,
  McpToolDefinitionSchema,
} from "@chartroom/protocols/agent";
import type { Clock } from "@chartroom/domain";
import type { McpServerConfig } from "./config.ts";
import { McpServer, type McpTool } from "./server.ts";

export interface McpFailure {
  readonly server: string;
  readonly reason: string;
}

/** The MCP servers of a client. */
export class McpServers {
  readonly #servers: readonly McpServer[];
  /** Those that could not be started. */
  readonly failures: readonly McpFailure[];

  private constructor(servers: readonly McpServer[], failures: readonly McpFailure[]) {
    this.#servers = servers;
    this.failures = failures;
  }

  static none(): McpServers {
    return new McpServers([], []);
  }

  /** Starts all at once; one that fails is reported and left out. */
  static async start(configs: readonly McpServerConfig[], root: string, clock: Clock): Promise<McpServers> {
    const started = await Promise.allSettled(configs.map((config) => McpServer.start(config, root, clock)));
    const failures = started.flatMap((one, index) =>
      one.status === "fulfilled" ? [] : [{ server: configs[index]?.name ?? "", reason: reasonOf(one.reason) }],
    );
    return new McpServers(
      started.flatMap((one) => (one.status === "fulfilled" ? [one.value] : [])),
      failures,
    );
  }

  get names(): string[] {
    return this.#servers.map(({ name }) => name);
  }

  server(name: string): McpServer | undefined {
    return this.#servers.find((server) => server.name === name);
  }

  get all(): readonly McpServer[] {
    return this.#servers;
  }

  /** The tool that a call means: by server and tool name, or by the full name that the model was given. */
  find(call: { readonly server: string; readonly tool: string; readonly name: string }): FoundTool | undefined {
    for (const server of this.#servers) {
      for (const tool of server.tools) {
        const exact = server.name === call.server && tool.name === call.tool;
        if (exact || fullName(server.name, tool.name) === call.name) return { server, tool };
      }
    }
    return undefined;
  }

  /** Definitions for the run request (wire section 4.3): full name `server-tool`, provider = server. */
  definitions(): McpToolDefinition[] {
    return this.#servers.flatMap((server) =>
      server.tools.map((tool) =>
        create(McpToolDefinitionSchema, {
          name: fullName(server.name, tool.name),
          description: tool.description,
          inputSchema: fromJson(ValueSchema, tool.inputSchema as JsonValue),
          providerIdentifier: server.name,
          toolName: tool.name,
        }),
      ),
    );
  }

  instructions(): McpInstructions[] {
    return this.#servers
      .filter(({ instructions }) => instructions !== "")
      .map(({ name, instructions }) =>
        create(McpInstructionsSchema, { serverName: name, serverIdentifier: name, instructions }),
      );
  }

  close(): void {
    for (const server of this.#servers) server.close();
  }
}

export interface FoundTool {
  readonly server: McpServer;
  readonly tool: McpTool;
}

function fullName(server: string, tool: string): string {
  return `${server}-${tool}`;
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
