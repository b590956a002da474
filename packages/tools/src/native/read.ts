import { integer, optional, string } from "../arguments/field.ts";
import { shape, type ArgumentsOf } from "../arguments/shape.ts";
import { single } from "../execution/single.ts";
import type { Outcome, ToolProgram } from "../execution/program.ts";
import { because } from "../text/because.ts";
import { agent, create, type ToolVariant } from "../wire.ts";
import { fileName, resolvePath } from "./paths.ts";
import { pictureType } from "./picture.ts";
import { readText, readWindow } from "./read-text.ts";
import { nativeTool, type CallSite } from "./tool.ts";

const MAX_LINE = 2_000_000_000;

const args = shape({
  path: string("Path of the file, absolute or from the workspace folder."),
  offset: optional(integer("First line to read, counted from 1.", { min: 1, max: MAX_LINE })),
  limit: optional(integer("How many lines to read at most.", { min: 1, max: MAX_LINE })),
});
type Args = ArgumentsOf<typeof args>;

/** Read (exec 7): text with line numbers, or a picture. */
export const read = nativeTool({
  name: "Read",
  description:
    "Reads one file on the user's machine. Text comes back with each line as `LINE|CONTENT`; LINE is its number in the file and not part of the content. Pictures (PNG, JPEG, GIF, WebP) are shown as pictures. Without offset and limit the whole file is read; of a large file read a part. To read several files, make several calls in one step.",
  shape: args,
  changes: false,
  variant,
  failed: failure,
  told: (text, given) => success({ output: { case: "content", value: text }, path: given.path ?? "" }),
  program,
});

function variant(given: Partial<Args>, { scope }: CallSite, result?: agent.ReadToolResult): ToolVariant {
  const value = create(agent.ReadToolCallSchema, {
    args: {
      ...(given.path !== undefined && { path: resolvePath(scope, given.path) }),
      ...(given.offset !== undefined && { offset: given.offset }),
      ...(given.limit !== undefined && { limit: given.limit }),
    },
    ...(result !== undefined && { result }),
  });
  return { case: "readToolCall", value };
}

function program(given: Args, site: CallSite): ToolProgram {
  const path = resolvePath(site.scope, given.path);
  const show = (text: string, result: agent.ReadToolResult): Outcome => ({
    text,
    isError: result.result.case !== "success",
    tool: variant(given, site, result),
  });
  const fail = (text: string) => show(text, failure(text));
  return single({
    card: variant(given, site),
    args: {
      case: "readArgs",
      value: create(agent.ReadArgsSchema, {
        path,
        toolCallId: site.callId,
        ...(given.offset !== undefined && { offset: given.offset }),
        ...(given.limit !== undefined && { limit: given.limit }),
      }),
    },
    failed: (text) => variant(given, site, failure(text)),
    complete(answer) {
      if (answer.case !== "readResult" && answer.case !== "redactedReadResult") return undefined;
      const { result } = answer.value;
      switch (result.case) {
        case "success":
          return succeeded(result.value, path, given, show, fail);
        case "error":
          return fail(`Could not read ${path}${because(result.value.error)}`);
        case "rejected":
          return fail(`Reading ${path} was rejected${because(result.value.reason)}`);
        case "fileNotFound":
          return fail(`File not found: ${path}`);
        case "permissionDenied":
          return fail(`Permission denied: ${path}`);
        case "invalidFile":
          return fail(`${path} cannot be read${because(result.value.reason)}`);
        case undefined:
          return undefined;
      }
    },
  });
}

function succeeded(
  value: agent.ReadSuccess,
  path: string,
  given: Args,
  show: (text: string, result: agent.ReadToolResult) => Outcome,
  fail: (text: string) => Outcome,
): Outcome {
  const common = {
    path,
    totalLines: Math.max(0, value.totalLines),
    fileSize: Math.min(Math.max(0, Number(value.fileSize)), 0xffffffff),
  };
  switch (value.output.case) {
    case "content": {
      const window = readWindow(value.output.value, value, given);
      const result = success({
        ...common,
        output: { case: "content", value: window.content },
        isEmpty: window.content === "",
        exceededLimit: value.truncated,
        ...(window.ranged && { readRange: { startLine: window.firstLine, endLine: window.lastLine } }),
      });
      return show(readText(window, value), result);
    }
    case "data": {
      const data = value.output.value;
      const mimeType = pictureType(data);
      if (mimeType === undefined)
        return fail(`${path} is a binary file of ${data.byteLength} bytes that is not a picture.`);
      const result = success({ ...common, output: { case: "data", value: data } });
      return {
        ...show(`Picture ${path} (${mimeType}, ${data.byteLength} bytes).`, result),
        picture: { data, mimeType, name: fileName(path) },
      };
    }
    case undefined:
      // an answer without content is an empty file, unless it says that the content lies in a blob
      return value.outputBlobId === undefined
        ? show("The file is empty.", success({ ...common, isEmpty: true }))
        : fail(`${path} is too large for one answer. Read it in parts with offset and limit.`);
  }
}

function success(
  init: NonNullable<Parameters<typeof create<typeof agent.ReadToolSuccessSchema>>[1]>,
): agent.ReadToolResult {
  const value = create(agent.ReadToolSuccessSchema, init);
  return create(agent.ReadToolResultSchema, { result: { case: "success", value } });
}

function failure(errorMessage: string): agent.ReadToolResult {
  const value = create(agent.ReadToolErrorSchema, { errorMessage });
  return create(agent.ReadToolResultSchema, { result: { case: "error", value } });
}
