import { list, string } from "../arguments/field.ts";
import { shape, type ArgumentsOf } from "../arguments/shape.ts";
import { ask, done, unexpected, type Outcome, type Step, type ToolProgram } from "../execution/program.ts";
import { because } from "../text/because.ts";
import { counted } from "../text/lines.ts";
import { agent, create, type ExecAnswer, type ToolVariant } from "../wire.ts";
import { resolvePath } from "./paths.ts";
import { nativeTool, type CallSite } from "./tool.ts";

const args = shape({
  paths: list(string("Path."), "Files to ask about, absolute or from the workspace folder.", { min: 1, max: 50 }),
});
type Args = ArgumentsOf<typeof args>;

/** ReadLints: one diagnostics exec (9) per path, all at once. */
export const readLints = nativeTool({
  name: "ReadLints",
  description:
    "Reads what the editor's linters and compilers say about files. Ask about files that you have edited, after the edit. What was there before may not be yours to fix.",
  shape: args,
  changes: false,
  variant,
  failed: failure,
  told: () =>
    create(agent.ReadLintsToolResultSchema, {
      result: { case: "success", value: create(agent.ReadLintsToolSuccessSchema) },
    }),
  program,
});

function variant(given: Partial<Args>, { scope }: CallSite, result?: agent.ReadLintsToolResult): ToolVariant {
  const value = create(agent.ReadLintsToolCallSchema, {
    args: { paths: (given.paths ?? []).map((path) => resolvePath(scope, path)) },
    ...(result !== undefined && { result }),
  });
  return { case: "readLintsToolCall", value };
}

function failure(errorMessage: string): agent.ReadLintsToolResult {
  const value = create(agent.ReadLintsToolErrorSchema, { errorMessage });
  return create(agent.ReadLintsToolResultSchema, { result: { case: "error", value } });
}

type Answered =
  | { readonly ok: true; readonly diagnostics: readonly agent.Diagnostic[]; readonly total: number }
  | { readonly ok: false; readonly why: string };

function program(given: Args, site: CallSite): ToolProgram {
  const paths = [...new Set(given.paths.map((path) => resolvePath(site.scope, path)))];
  const requests = paths.map((path, index) => ({
    key: `path-${index}`,
    args: {
      case: "diagnosticsArgs" as const,
      value: create(agent.DiagnosticsArgsSchema, { path, toolCallId: site.callId }),
    },
  }));
  const answers = new Map<string, Answered>();
  const collect = (key: string, answered: Answered): Step => {
    answers.set(key, answered);
    if (answers.size < requests.length) return { kind: "answered" };
    return done(outcome(paths.map((path, index) => ({ path, answered: answers.get(`path-${index}`)! }))));
  };
  const outcome = (files: readonly { readonly path: string; readonly answered: Answered }[]): Outcome => {
    const text = files.map(({ path, answered }) => fileText(path, answered)).join("\n\n");
    const isError = files.every(({ answered }) => !answered.ok);
    return { text, isError, tool: variant(given, site, isError ? failure(text) : success(files)) };
  };
  return {
    card: variant(given, site),
    start: () => ask(...requests),
    answer: (key, answer) => collect(key, read(answer)),
    failed: (key, why) => collect(key, { ok: false, why }),
    reissue: (open) => open,
    interrupted: (_reason, text) => ({ text, isError: true, tool: variant(given, site, failure(text)) }),
  };
}

function read(answer: ExecAnswer): Answered {
  if (answer.case !== "diagnosticsResult") return { ok: false, why: unexpected(answer) };
  const { result } = answer.value;
  switch (result.case) {
    case "success": {
      const { diagnostics, totalDiagnostics } = result.value;
      return { ok: true, diagnostics, total: Math.max(totalDiagnostics, diagnostics.length) };
    }
    case "error":
      return { ok: false, why: `Could not be read${because(result.value.error)}` };
    case "rejected":
      return { ok: false, why: `Rejected${because(result.value.reason)}` };
    case "fileNotFound":
      return { ok: false, why: "File not found." };
    case "permissionDenied":
      return { ok: false, why: "Permission denied." };
    case undefined:
      return { ok: false, why: unexpected({ case: undefined }) };
  }
}

function success(files: readonly { readonly path: string; readonly answered: Answered }[]): agent.ReadLintsToolResult {
  const read = files.flatMap(({ path, answered }) => (answered.ok ? [{ path, ...answered }] : []));
  const value = create(agent.ReadLintsToolSuccessSchema, {
    fileDiagnostics: read.map(({ path, diagnostics, total }) => ({
      path,
      diagnostics: diagnostics.map(({ severity, range, message, source, code, isStale }) => ({
        severity,
        message,
        source,
        code,
        isStale,
        ...(range !== undefined && {
          range: { ...(range.start && { start: range.start }), ...(range.end && { end: range.end }) },
        }),
      })),
      diagnosticsCount: total,
    })),
    totalFiles: read.length,
    totalDiagnostics: read.reduce((sum, { total }) => sum + total, 0),
  });
  return create(agent.ReadLintsToolResultSchema, { result: { case: "success", value } });
}

const SEVERITY: Record<agent.DiagnosticSeverity, string> = {
  [0]: "note",
  [1]: "error",
  [2]: "warning",
  [3]: "information",
  [4]: "hint",
};

function fileText(path: string, answered: Answered): string {
  if (!answered.ok) return `${path}: ${answered.why}`;
  if (answered.diagnostics.length === 0) return `${path}: no diagnostics.`;
  const more = answered.total - answered.diagnostics.length;
  return [
    `${path}: ${counted(answered.total, "diagnostic")}`,
    ...answered.diagnostics.map(lineOf),
    ...(more > 0 ? [`[${more} more are not shown.]`] : []),
  ].join("\n");
}

function lineOf({ severity, range, message, source, code, isStale }: agent.Diagnostic): string {
  const at = range?.start === undefined ? "" : `${range.start.line}:${range.start.column} `;
  const origin = [source, code].filter((part) => part !== "").join(" ");
  const stale = isStale ? " (from before the last change)" : "";
  return `  ${at}${SEVERITY[severity] ?? "note"}: ${message}${origin === "" ? "" : ` [${origin}]`}${stale}`;
}
