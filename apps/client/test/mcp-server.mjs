// A small MCP server for the tests: tools in two pages, one resource, and a request to its client before it answers.
import readline from "node:readline";

const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const text = (value) => ({ content: [{ type: "text", text: value }] });
const schema = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };
let roots;
let asked;

const METHODS = {
  initialize: () => ({
    protocolVersion: "2025-06-18",
    capabilities: { tools: {}, resources: {} },
    serverInfo: { name: "test", version: "1" },
    instructions: "Echo with care.",
  }),
  "tools/list": ({ cursor }) =>
    cursor === undefined
      ? { tools: [{ name: "echo", description: "Says it again", inputSchema: schema }], nextCursor: "2" }
      : { tools: [{ name: "peek", inputSchema: schema, annotations: { readOnlyHint: true } }, { name: "hang" }] },
  "resources/list": () => ({ resources: [{ uri: "note://1", name: "note", mimeType: "text/plain" }] }),
  "resources/read": ({ uri }) => (uri === "note://1" ? { contents: [{ uri, text: "a note" }] } : { contents: [] }),
  "tools/call": ({ name, arguments: args }) => {
    if (name === "echo") return { ...text(args.text), structuredContent: { said: args.text } };
    if (name === "peek") return { content: [{ type: "image", data: "AQID", mimeType: "image/png" }, { type: "odd" }] };
    if (name === "roots") return text(roots);
    if (name === "token") return text(String(process.env.CHARTROOM_TOKEN));
    if (name === "die") process.exit(1);
    if (name === "fail") return { ...text("it failed"), isError: true };
    throw new Error(`no tool ${name}`);
  },
};

process.stdout.write("this line is no message\n");
readline.createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params, result } = JSON.parse(line);
  if (method === undefined) roots = result.roots[0].uri;
  else if (method === "notifications/initialized") send({ id: (asked = "ask-1"), method: "roots/list" });
  else if (method === "notifications/cancelled") process.stderr.write(`cancelled ${asked}\n`);
  else if (method === "tools/call" && params.name === "hang") return;
  else {
    try {
      send({ id, result: METHODS[method](params ?? {}) });
    } catch (error) {
      send({ id, error: { code: -32602, message: error.message } });
    }
  }
});
