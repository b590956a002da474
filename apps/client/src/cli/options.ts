import { type ArgsDef, parseArgs } from "citty";
import path from "node:path";
import { type Mode, MODES } from "../store/conversations.ts";
import { BAD_TOKEN, fitsHeader } from "../transport/headers.ts";

/** Where `npm start` listens. */
const DEFAULT_URL = "http://127.0.0.1:7788";

/** The options as citty knows them; also what `--help` shows. */
export const ARGS = {
  url: {
    type: "string",
    description: `Address of the server (CHARTROOM_URL); default ${DEFAULT_URL}`,
    valueHint: "URL",
  },
  token: { type: "string", description: "Bearer token; better in CHARTROOM_TOKEN", valueHint: "TOKEN" },
  transport: {
    type: "string",
    description: "h2: one HTTP/2 stream. h1: HTTP/1.1, RunSSE + BidiAppend",
    valueHint: "h2|h1",
    default: "h2",
  },
  "grpc-web": { type: "boolean", description: "Speak gRPC-Web in place of Connect" },
  ca: { type: "string", description: "PEM file of the authority of the server's certificate", valueHint: "FILE" },
  model: {
    type: "string",
    description: "Model to use (CHARTROOM_MODEL); default: the server's choice",
    valueHint: "ID",
  },
  mode: { type: "string", description: "How the agent works; default agent", valueHint: "agent|ask|plan" },
  folder: { type: "string", description: "Folder to work in; default: where this is started", valueHint: "DIR" },
  prompt: {
    type: "string",
    alias: "p",
    description: "One message, then leave; - reads it from standard input",
    valueHint: "TEXT",
  },
  json: { type: "boolean", description: "With --prompt: one JSON object per line in place of text" },
  yes: { type: "boolean", alias: "y", description: "Allow every change and command without asking" },
  resume: {
    type: "string",
    description: "Go on with the last conversation of the folder, or with that one",
    valueHint: "ID",
  },
  new: { type: "boolean", description: "Begin a new conversation (the default)" },
  mcp: { type: "string", description: "JSON file of MCP servers to start (mcpServers)", valueHint: "FILE" },
  retries: {
    type: "string",
    description: "How often a broken connection is tried again",
    valueHint: "N",
    default: "10",
  },
  help: { type: "boolean", alias: "h", description: "Show this" },
} as const satisfies ArgsDef;

export interface ChatOptions {
  readonly url: string;
  readonly token: string | undefined;
  readonly transport: "h2" | "h1";
  readonly grpcWeb: boolean;
  readonly ca: string | undefined;
  readonly model: string | undefined;
  readonly mode: Mode | undefined;
  readonly folder: string;
  readonly prompt: string | undefined;
  readonly json: boolean;
  readonly yes: boolean;
  /** The id, or the empty string for the last conversation; undefined for a new one. */
  readonly resume: string | undefined;
  readonly mcp: string | undefined;
  readonly retries: number;
}

export type ParsedOptions =
  | { readonly kind: "chat"; readonly options: ChatOptions }
  | { readonly kind: "help" }
  | { readonly kind: "usage"; readonly errors: readonly string[] };

/** Reads the command line and the environment; every mistake is named at once. `cwd` is where the user stands. */
export function parseOptions(raw: readonly string[], env: NodeJS.ProcessEnv, cwd: string): ParsedOptions {
  const tokens = withResume(raw);
  const errors = unknownOptions(tokens);
  const args = parseArgs<typeof ARGS>([...tokens], ARGS);
  if (args.help) return { kind: "help" };
  const text = (name: keyof typeof ARGS) => {
    const value: unknown = args[name];
    return typeof value === "string" && value !== "" ? value : undefined;
  };
  for (const word of args._) errors.push(`what is "${word}"? A message goes behind --prompt`);
  for (const name of ["url", "token", "ca", "model", "folder", "prompt", "mcp"] as const) {
    if (args[name] === "") errors.push(`--${name} needs a value`);
  }
  const url = text("url") ?? nonEmpty(env["CHARTROOM_URL"]) ?? DEFAULT_URL;
  if (!isHttp(url)) errors.push(`--url must be an http or https address, not "${url}"`);
  const transport = args.transport;
  if (transport !== "h2" && transport !== "h1") errors.push(`--transport must be h2 or h1, not "${transport}"`);
  const mode = MODES.find((known) => known === args.mode);
  if (args.mode !== undefined && mode === undefined)
    errors.push(`--mode must be ${MODES.join(", ")}, not "${args.mode}"`);
  const token = text("token") ?? nonEmpty(env["CHARTROOM_TOKEN"]);
  if (token !== undefined && !fitsHeader(token)) errors.push(BAD_TOKEN);
  const retries = Number(args.retries);
  if (!Number.isInteger(retries) || retries < 0)
    errors.push(`--retries must be a number from 0, not "${args.retries}"`);
  if (args.json && args.prompt === undefined) errors.push("--json goes with --prompt");
  if (args.new && args.resume !== undefined) errors.push("--new and --resume exclude each other");
  const { resume } = args;
  if (resume !== undefined && !/^[\w-]*$/.test(resume)) errors.push(`"${resume}" is no conversation id`);
  if (errors.length > 0) return { kind: "usage", errors };
  return {
    kind: "chat",
    options: {
      url,
      token,
      transport: transport === "h1" ? "h1" : "h2",
      grpcWeb: args["grpc-web"] ?? false,
      ca: resolved(text("ca"), cwd),
      model: text("model") ?? nonEmpty(env["CHARTROOM_MODEL"]),
      mode,
      folder: path.resolve(cwd, text("folder") ?? "."),
      prompt: text("prompt"),
      json: args.json ?? false,
      yes: args.yes ?? false,
      resume,
      mcp: resolved(text("mcp"), cwd),
      retries,
    },
  };
}

/** `--resume` may stand alone; what follows it is its value only when that looks like one. */
function withResume(raw: readonly string[]): string[] {
  return raw.map((word, index) => {
    const next = raw[index + 1];
    return word === "--resume" && (next === undefined || next.startsWith("-")) ? "--resume=" : word;
  });
}

function unknownOptions(raw: readonly string[]): string[] {
  const known = new Set<string>(Object.keys(ARGS).map((name) => `--${name}`));
  for (const { alias } of definitions()) if (alias !== undefined) known.add(`-${alias}`);
  const errors: string[] = [];
  for (let at = 0; at < raw.length; at++) {
    const word = raw[at] ?? "";
    if (!/^-./.test(word) || word === "--") continue;
    const name = word.replace(/=.*$/s, "");
    if (!known.has(name)) errors.push(`unknown option ${name}`);
    // the value of an option is not an option, whatever it looks like
    else if (takesValue(name) && !word.includes("=")) at += 1;
  }
  return errors;
}

function takesValue(name: string): boolean {
  return definitions().some(
    ({ long, alias, type }) => type === "string" && (`--${long}` === name || `-${alias}` === name),
  );
}

function definitions(): { readonly long: string; readonly type: string; readonly alias: string | undefined }[] {
  return Object.entries(ARGS).map(([long, definition]) => ({
    long,
    type: definition.type,
    alias: "alias" in definition ? definition.alias : undefined,
  }));
}

function isHttp(url: string): boolean {
  return URL.canParse(url) && ["http:", "https:"].includes(new URL(url).protocol);
}

function resolved(file: string | undefined, cwd: string): string | undefined {
  return file === undefined ? undefined : path.resolve(cwd, file);
}

function nonEmpty(value: string | undefined): string | undefined {
  return value === "" ? undefined : value;
}
