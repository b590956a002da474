import { create, type JsonObject, type JsonValue, toJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { type McpResult, McpResultSchema } from "@chartroom/protocols/agent";
import type { McpCallResult, McpContent } from "../mcp/server.ts";
import { type ArgsOf, errorText, type ExecHandler, type ExecPorts, type ResultInit } from "./exec.ts";

/** `mcp_args`: a tool of one of this client's MCP servers; or, `smart_mode_approval_only`, just the question. */
export const mcp: ExecHandler<"mcpArgs"> = async ({ args, signal }, ports) => ({
  case: "mcpResult",
  value: await call(args, ports, signal),
});

async function call(args: ArgsOf<"mcpArgs">, { mcp: servers, consent }: ExecPorts, signal: AbortSignal) {
  const wanted = args.serverIdentifier === "" ? args.providerIdentifier : args.serverIdentifier;
  const found = servers.find({ server: wanted, tool: args.toolName, name: args.name });
  if (found === undefined) return missing(args, wanted, servers);
  const { server, tool } = found;
  const input = argumentsOf(args);
  if (!tool.readOnly) {
    const verdict = await consent.approve(
      { kind: "mcp", server: server.name, tool: tool.name, args: JSON.stringify(input) },
      signal,
    );
    if (!verdict.allowed) return result({ case: "rejected", value: { reason: verdict.reason } });
  }
  if (args.smartModeApprovalOnly) return result({ case: "approved", value: {} });
  try {
    return success(await server.call(tool.name, input, signal));
  } catch (error) {
    return result({ case: "error", value: { error: errorText(error) } });
  }
}

function missing(args: ArgsOf<"mcpArgs">, wanted: string, servers: ExecPorts["mcp"]): McpResult {
  const server = servers.server(wanted);
  if (server === undefined && servers.names.length > 0) {
    return result({ case: "serverNotFound", value: { name: wanted, availableServers: servers.names } });
  }
  const availableTools = servers.definitions().map((tool) => tool.name);
  return result({
    case: "toolNotFound",
    value: { name: args.name === "" ? args.toolName : args.name, availableTools },
  });
}

function argumentsOf(args: ArgsOf<"mcpArgs">): Record<string, JsonValue> {
  return Object.fromEntries(Object.entries(args.args).map(([name, value]) => [name, toJson(ValueSchema, value)]));
}

function success(answer: McpCallResult): McpResult {
  return result({
    case: "success",
    value: {
      isError: answer.isError,
      content: answer.content.map((item) => ({ content: contentOf(item) })),
      ...(answer.structuredContent === undefined ? {} : { structuredContent: answer.structuredContent as JsonObject }),
    },
  });
}

function contentOf(item: McpContent) {
  return item.type === "text"
    ? ({ case: "text", value: { text: item.text } } as const)
    : ({ case: "image", value: { data: item.data, mimeType: item.mimeType } } as const);
}

type Result = ResultInit<typeof McpResultSchema>;

function result(value: Result): McpResult {
  return create(McpResultSchema, { result: value });
}
