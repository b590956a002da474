import { string } from "../arguments/field.ts";
import { shape, type ArgumentsOf } from "../arguments/shape.ts";
import { single } from "../execution/single.ts";
import type { Outcome, ToolProgram } from "../execution/program.ts";
import { because } from "../text/because.ts";
import { agent, create, type ToolVariant } from "../wire.ts";
import { fileKey, resolvePath } from "./paths.ts";
import { nativeTool, type CallSite } from "./tool.ts";

const args = shape({ path: string("Path of the file, absolute or from the workspace folder.") });
type Args = ArgumentsOf<typeof args>;

/** Delete (exec 4): one file; the client asks the user where its settings say so. */
export const deleteFile = nativeTool({
  name: "Delete",
  description: "Deletes one file. It does not delete folders. A file that does not exist is told as an error.",
  shape: args,
  changes: true,
  variant,
  failed: (text, given) => failure(given.path ?? "", text),
  told: (_text, given) =>
    create(agent.DeleteResultSchema, {
      result: { case: "success", value: create(agent.DeleteSuccessSchema, { path: given.path ?? "" }) },
    }),
  program,
});

function variant(given: Partial<Args>, site: CallSite, result?: agent.DeleteResult): ToolVariant {
  const value = create(agent.DeleteToolCallSchema, {
    args: {
      ...(given.path !== undefined && { path: resolvePath(site.scope, given.path) }),
      toolCallId: site.callId,
    },
    ...(result !== undefined && { result }),
  });
  return { case: "deleteToolCall", value };
}

function failure(path: string, error: string): agent.DeleteResult {
  const value = create(agent.DeleteErrorSchema, { path, error });
  return create(agent.DeleteResultSchema, { result: { case: "error", value } });
}

function program(given: Args, site: CallSite): ToolProgram {
  const path = resolvePath(site.scope, given.path);
  return single({
    card: variant(given, site),
    exclusive: fileKey(path),
    args: { case: "deleteArgs", value: create(agent.DeleteArgsSchema, { path, toolCallId: site.callId }) },
    failed: (text) => variant(given, site, failure(path, text)),
    complete(answer): Outcome | undefined {
      if (answer.case !== "deleteResult") return undefined;
      const text = textOf(answer.value.result, path);
      if (text === undefined) return undefined;
      const isError = answer.value.result.case !== "success";
      return { text, isError, tool: variant(given, site, answer.value) };
    },
  });
}

function textOf(result: agent.DeleteResult["result"], path: string): string | undefined {
  switch (result.case) {
    case "success":
      return `Deleted ${path}.`;
    case "fileNotFound":
      return `File not found: ${path}`;
    case "notFile":
      return `${path} is not a file${result.value.actualType === "" ? "" : ` but a ${result.value.actualType}`}.`;
    case "permissionDenied":
      return `Permission denied: ${path}${because(result.value.clientVisibleError)}`;
    case "fileBusy":
      return `${path} is in use and was not deleted.`;
    case "rejected":
      return `Deleting ${path} was rejected${because(result.value.reason)}`;
    case "error":
      return `Could not delete ${path}${because(result.value.error)}`;
    case undefined:
      return undefined;
  }
}
