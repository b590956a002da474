import { fileURLToPath, pathToFileURL } from "node:url";
import { afterEach, describe, expect, it, vi } from "vitest";
import { systemClock } from "../system.ts";
import { parseMcpConfig } from "./config.ts";
import { McpServers } from "./servers.ts";

const script = fileURLToPath(new URL("../../test/mcp-server.mjs", import.meta.url));
const config = { name: "tracker", command: process.execPath, args: [script], env: {}, cwd: undefined };
const never = new AbortController().signal;

let servers = McpServers.none();
afterEach(() => servers.close());

async function start(root = process.cwd()) {
  servers = await McpServers.start([config], root, systemClock);
  const server = servers.server("tracker");
  if (server === undefined) throw new Error(servers.failures[0]?.reason);
  return server;
}

describe("an MCP server", () => {
  it("offers its tools, of all pages, under full names, and its instructions", async () => {
    await start();
    expect(servers.definitions().map((tool) => [tool.name, tool.providerIdentifier, tool.toolName])).toEqual([
      ["tracker-echo", "tracker", "echo"],
      ["tracker-peek", "tracker", "peek"],
      ["tracker-hang", "tracker", "hang"],
    ]);
    expect(servers.definitions()[0]?.inputSchema?.kind.case).toBe("structValue");
    expect(servers.instructions()).toMatchObject([{ serverName: "tracker", instructions: "Echo with care." }]);
  });

  it("is found by server and tool, and by the full name", async () => {
    await start();
    expect(servers.find({ server: "tracker", tool: "peek", name: "" })?.tool.readOnly).toBe(true);
    expect(servers.find({ server: "", tool: "", name: "tracker-echo" })?.tool.name).toBe("echo");
    expect(servers.find({ server: "other", tool: "echo", name: "x" })).toBeUndefined();
  });

  it("gives text, images and structure; an unknown kind of content as what it is", async () => {
    const server = await start();
    expect(await server.call("echo", { text: "hé" }, never)).toEqual({
      content: [{ type: "text", text: "hé" }],
      isError: false,
      structuredContent: { said: "hé" },
    });
    expect((await server.call("peek", {}, never)).content).toEqual([
      { type: "image", data: Buffer.from([1, 2, 3]), mimeType: "image/png" },
      { type: "text", text: '{"type":"odd"}' },
    ]);
    expect(await server.call("fail", {}, never)).toMatchObject({ isError: true });
  });

  it("learns the folder when it asks, and never the client's token", async () => {
    vi.stubEnv("CHARTROOM_TOKEN", "secret");
    const server = await start("/tmp");
    vi.unstubAllEnvs();
    expect((await server.call("roots", {}, never)).content).toMatchObject([{ text: pathToFileURL("/tmp").href }]);
    expect((await server.call("token", {}, never)).content).toMatchObject([{ text: "undefined" }]);
  });

  it("has resources", async () => {
    const server = await start();
    expect(await server.resources()).toMatchObject([{ uri: "note://1", name: "note", mimeType: "text/plain" }]);
    expect(await server.read("note://1", never)).toEqual({ text: "a note" });
    expect(await server.read("note://2", never)).toBeUndefined();
  });

  it("an error, a stop and its death all end a call", async () => {
    const server = await start();
    await expect(server.call("nothing", {}, never)).rejects.toThrow("no tool nothing");
    const stop = new AbortController();
    const hanging = server.call("hang", {}, stop.signal);
    stop.abort();
    await expect(hanging).rejects.toThrow("stopped");
    await expect(server.call("die", {}, never)).rejects.toThrow("the server has ended");
    await expect(server.call("echo", { text: "x" }, never)).rejects.toThrow("the server has ended");
  });
});

it("a server that cannot be started is reported and the others are there", async () => {
  servers = await McpServers.start(
    [
      { ...config, name: "broken", command: "/no/such/program" },
      { ...config, name: "silent", args: ["-e", ""] },
      config,
    ],
    process.cwd(),
    systemClock,
  );
  expect(servers.names).toEqual(["tracker"]);
  expect(servers.failures).toMatchObject([
    { server: "broken", reason: expect.stringContaining("ENOENT") },
    { server: "silent", reason: "the server has ended" },
  ]);
});

describe("parseMcpConfig", () => {
  it("takes servers with their defaults", () => {
    expect(parseMcpConfig('{"mcpServers":{"a":{"command":"x","args":["y"],"env":{"K":"v"}}}}', "m.json")).toEqual({
      ok: true,
      servers: [{ name: "a", command: "x", args: ["y"], env: { K: "v" }, cwd: undefined }],
    });
  });

  it("names every mistake", () => {
    expect(parseMcpConfig("{", "m.json")).toMatchObject({ ok: false });
    expect(parseMcpConfig("[]", "m.json")).toMatchObject({ errors: ['m.json: "mcpServers" must be an object'] });
    const bad = '{"mcpServers":{"a":{"args":"x","env":{"K":1},"cwd":2},"b":7}}';
    expect(parseMcpConfig(bad, "m.json")).toMatchObject({
      errors: [
        "m.json: mcpServers.a.command must be a program's name",
        "m.json: mcpServers.a.args must be a list of strings",
        "m.json: mcpServers.a.env must be an object of strings",
        "m.json: mcpServers.a.cwd must be a path",
        "m.json: mcpServers.b must be an object",
        "m.json: mcpServers.b.command must be a program's name",
      ],
    });
  });
});
