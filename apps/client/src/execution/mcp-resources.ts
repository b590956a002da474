import { create } from "@bufbuild/protobuf";
import {
  ListMcpResourcesExecResultSchema,
  McpStateExecResultSchema,
  type ReadMcpResourceExecResult,
  ReadMcpResourceExecResultSchema,
} from "@chartroom/protocols/agent";
import { errorText, type ExecHandler, type ResultInit } from "./exec.ts";

/** `list_mcp_resources_exec_args`: what the servers offer to read; of one server or of all. */
export const listResources: ExecHandler<"listMcpResourcesExecArgs"> = async ({ args }, { mcp }) => {
  try {
    const servers = mcp.all.filter(({ name }) => args.server === undefined || args.server === name);
    const resources = await Promise.all(
      servers.map(async (server) =>
        (await server.resources()).map(({ uri, name, description, mimeType }) => ({
          uri,
          server: server.name,
          ...(name === undefined ? {} : { name }),
          ...(description === undefined ? {} : { description }),
          ...(mimeType === undefined ? {} : { mimeType }),
        })),
      ),
    );
    return listed({ case: "success", value: { resources: resources.flat() } });
  } catch (error) {
    return listed({ case: "error", value: { error: errorText(error) } });
  }
};

/** `read_mcp_resource_exec_args`: one resource; a download to a path is not done, the content itself is given. */
export const readResource: ExecHandler<"readMcpResourceExecArgs"> = async ({ args, signal }, { mcp }) => {
  const { uri } = args;
  const server = mcp.server(args.server);
  if (server === undefined) return wasRead({ case: "notFound", value: { uri } });
  try {
    const content = await server.read(uri, signal);
    if (content === undefined) return wasRead({ case: "notFound", value: { uri } });
    return "text" in content
      ? wasRead({ case: "success", value: { uri, content: { case: "text", value: content.text } } })
      : wasRead({ case: "success", value: { uri, content: { case: "blob", value: content.blob } } });
  } catch (error) {
    return wasRead({ case: "error", value: { uri, error: errorText(error) } });
  }
};

/** `mcp_state_exec_args`: the servers with their tools; they are started with the client, so there is nothing to kick. */
export const mcpState: ExecHandler<"mcpStateExecArgs"> = ({ args }, { mcp }) => {
  const tools = mcp.definitions();
  const instructions = mcp.instructions();
  const servers = mcp.names
    .filter((name) => args.serverIdentifiers.length === 0 || args.serverIdentifiers.includes(name))
    .map((name) => ({
      serverName: name,
      serverIdentifier: name,
      tools: tools.filter(({ providerIdentifier }) => providerIdentifier === name),
      instructions: instructions.filter(({ serverIdentifier }) => serverIdentifier === name),
      status: "connected",
    }));
  return Promise.resolve({
    case: "mcpStateExecResult",
    value: create(McpStateExecResultSchema, { result: { case: "success", value: { servers } } }),
  });
};

type Listed = ResultInit<typeof ListMcpResourcesExecResultSchema>;

function listed(result: Listed) {
  const value = create(ListMcpResourcesExecResultSchema, { result });
  return { case: "listMcpResourcesExecResult", value } as const;
}

type Read = ResultInit<typeof ReadMcpResourceExecResultSchema>;

function wasRead(result: Read): { case: "readMcpResourceExecResult"; value: ReadMcpResourceExecResult } {
  return { case: "readMcpResourceExecResult", value: create(ReadMcpResourceExecResultSchema, { result }) };
}
