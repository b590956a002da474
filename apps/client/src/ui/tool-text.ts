import type { JsonValue } from "@bufbuild/protobuf";
import type { ToolView } from "../session/events.ts";
import { oneLine } from "./text.ts";

/** What a card says in its head: the verb and what it is about. */
export interface ToolTitle {
  readonly verb: string;
  readonly about: string;
}

type Json = Readonly<Record<string, JsonValue | undefined>>;

const VERBS: Readonly<Record<string, string>> = {
  shell: "Run",
  delete: "Delete",
  glob: "Find",
  grep: "Search",
  read: "Read",
  edit: "Edit",
  ls: "List",
  readLints: "Check",
  mcp: "Call",
  semSearch: "Search",
  createPlan: "Plan",
  webSearch: "Search the web",
  webFetch: "Fetch",
  fetch: "Fetch",
  task: "Subagent",
  updateTodos: "To do",
  readTodos: "To do",
  askQuestion: "Ask",
  switchMode: "Switch mode",
  generateImage: "Draw",
};

/** Tools that may take long: their card opens when they start, not only when they are done. */
const LONG: ReadonlySet<string> = new Set([
  "shell",
  "mcp",
  "task",
  "webSearch",
  "webFetch",
  "fetch",
  "generateImage",
  "await",
]);

export function isLong(tool: string): boolean {
  return LONG.has(tool);
}

/** The head of a card; paths inside `folder` are shown relative to it. */
export function titleOf(view: ToolView, folder: string): ToolTitle {
  const args = record(view.args);
  const path = (name: string) => relative(text(args[name]), folder);
  const verb = VERBS[view.tool] ?? words(view.tool);
  switch (view.tool) {
    case "shell":
      return { verb, about: oneLine(text(args["command"])) };
    case "read":
      return { verb, about: path("path") + lineRange(args) };
    case "grep":
      return { verb, about: `"${oneLine(text(args["pattern"]))}"${within(args, "path", folder)}${globIn(args)}` };
    case "glob":
      return { verb, about: `${text(args["globPattern"])}${within(args, "targetDirectory", folder)}` };
    case "ls":
      return { verb, about: path("path") === "" ? "." : path("path") };
    case "readLints":
      return {
        verb,
        about: list(args["paths"])
          .map((one) => relative(text(one), folder))
          .join(", "),
      };
    case "mcp":
      return { verb, about: `${text(args["toolName"]) || text(args["name"])} ${compact(args["args"])}`.trim() };
    case "task":
      return { verb, about: oneLine(text(args["description"])) };
    case "webSearch":
      return { verb, about: oneLine(text(args["searchTerm"])) };
    case "fetch":
    case "webFetch":
      return { verb, about: oneLine(text(args["url"])) };
    case "semSearch":
      return { verb, about: oneLine(text(args["query"])) };
    case "createPlan":
      return { verb, about: oneLine(text(args["name"])) };
    case "switchMode":
      return { verb, about: oneLine(text(args["targetModeId"])) };
    case "askQuestion":
      return { verb, about: oneLine(text(args["title"])) };
    default:
      return { verb, about: path("path") };
  }
}

/** One line about how it went. */
export function summaryOf(view: ToolView): string {
  const { outcome } = view;
  if (outcome === undefined) return "";
  const body = record(record(view.result)[outcome]);
  if (outcome !== "success") return failure(view.tool, outcome, body);
  switch (view.tool) {
    case "read":
      return "content" in body ? count(number(body["totalLines"]), "line") : `${number(body["fileSize"])} bytes`;
    case "edit":
      return `+${number(body["linesAdded"])} −${number(body["linesRemoved"])}`;
    case "delete":
      return "deleted";
    case "grep":
      return grepSummary(body);
    case "glob":
      return count(number(body["totalFiles"]), "file");
    case "readLints": {
      const total = number(body["totalDiagnostics"]);
      return total === 0 ? "no problems" : count(total, "problem");
    }
    case "shell":
      return number(body["shellId"]) > 0 ? `goes on in the background as shell ${number(body["shellId"])}` : "exit 0";
    case "webSearch":
      return count(list(body["references"]).length, "result");
    case "mcp":
      return body["isError"] === true ? "the tool reports an error" : "";
    default:
      return "";
  }
}

/** The error text of a result, wherever its kind keeps it. */
function failure(tool: string, outcome: string, body: Json): string {
  if (tool === "shell" && outcome === "failure") {
    return body["aborted"] === true ? "stopped" : `exit ${number(body["exitCode"])}`;
  }
  const reason = ["errorMessage", "error", "reason", "clientVisibleError"]
    .map((name) => text(body[name]))
    .find(Boolean);
  return `${words(outcome).toLowerCase()}${reason === undefined ? "" : `: ${oneLine(reason)}`}`;
}

function grepSummary(body: Json): string {
  const results = Object.values(record(body["workspaceResults"])).map((one) => record(one));
  let lines = 0;
  let files = 0;
  for (const result of results) {
    lines += number(record(result["content"])["totalMatchedLines"]) + number(record(result["count"])["totalMatches"]);
    files += number(record(result["files"])["totalFiles"]) + number(record(result["count"])["totalFiles"]);
    files += list(record(result["content"])["matches"]).length;
  }
  return lines === 0 ? count(files, "file") : `${count(lines, "match", "matches")} in ${count(files, "file")}`;
}

/** Text that a result holds besides its summary, for the body of a card. */
export function bodyOf(view: ToolView): string {
  const body = record(record(view.result)[view.outcome ?? ""]);
  switch (view.tool) {
    case "shell":
      return [text(body["stdout"]), text(body["stderr"])].filter((part) => part !== "").join("\n");
    case "mcp":
      return list(body["content"])
        .map((item) => text(record(record(item)["text"])["text"]))
        .join("\n");
    case "task":
      return list(body["conversationSteps"])
        .map((item) => text(record(record(item)["assistantMessage"])["text"]))
        .join("\n");
    case "updateTodos":
    case "readTodos":
      return list(body["todos"])
        .map((item) => todo(record(item)))
        .join("\n");
    case "webSearch":
      return list(body["references"])
        .map((item) => text(record(item)["title"]))
        .join("\n");
    default:
      return "";
  }
}

/** The texts before and after an edit, where the result has them. */
export function editOf(view: ToolView): { before: string; after: string } | undefined {
  if (view.tool !== "edit" || view.outcome !== "success") return undefined;
  const body = record(record(view.result)["success"]);
  const after = body["afterFullFileContent"];
  return typeof after === "string" ? { before: text(body["beforeFullFileContent"]), after } : undefined;
}

export function relative(path: string, folder: string): string {
  if (path === folder) return ".";
  return path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : path;
}

function within(args: Json, name: string, folder: string): string {
  const path = relative(text(args[name]), folder);
  return path === "" || path === "." ? "" : ` in ${path}`;
}

function globIn(args: Json): string {
  const glob = text(args["glob"]) || text(args["type"]);
  return glob === "" ? "" : ` (${glob})`;
}

function lineRange(args: Json): string {
  const offset = number(args["offset"]);
  const limit = number(args["limit"]);
  if (offset === 0 && limit === 0) return "";
  const from = Math.max(offset, 1);
  return limit === 0 ? ` from line ${from}` : ` lines ${from}–${from + limit - 1}`;
}

function todo(item: Json): string {
  const status = text(item["status"]).replace("TODO_STATUS_", "");
  const mark = { COMPLETED: "[x]", IN_PROGRESS: "[>]", CANCELLED: "[-]" }[status] ?? "[ ]";
  return `${mark} ${text(item["content"])}`;
}

function compact(value: JsonValue | undefined): string {
  return value === undefined ? "" : oneLine(JSON.stringify(value));
}

function count(amount: number, one: string, many = `${one}s`): string {
  return `${amount} ${amount === 1 ? one : many}`;
}

/** `readMcpResource` → `Read mcp resource`. */
function words(name: string): string {
  const spaced = name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return spaced.charAt(0).toUpperCase() + spaced.slice(1);
}

function record(value: JsonValue | undefined): Json {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
}

function list(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}

function text(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "";
}

function number(value: JsonValue | undefined): number {
  const parsed = typeof value === "string" ? Number(value) : value;
  return typeof parsed === "number" && Number.isFinite(parsed) ? parsed : 0;
}
