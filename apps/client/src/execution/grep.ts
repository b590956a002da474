import { create } from "@bufbuild/protobuf";
import {
  type GrepResult,
  GrepResultSchema,
  type GrepUnionResult,
  GrepUnionResultSchema,
} from "@chartroom/protocols/agent";
import type { FileHits } from "../workspace/search-worker.ts";
import { searchFiles } from "../workspace/search.ts";
import type { ArgsOf, ExecHandler, ResultInit } from "./exec.ts";

const MAX_LINES = 5000;
const MAX_FILES = 10_000;
const MAX_CONTENT_CHARS = 512 * 1024;

type GrepArgs = ArgsOf<"grepArgs">;

/** `grep_args`: ripgrep's modes over what is not ignored; an empty pattern with a glob lists files (wire section 5.3). */
export const grep: ExecHandler<"grepArgs"> = async ({ args, signal }, { folder }) => {
  const located = await folder.locate(args.path ?? "");
  if (!located.ok) return failed(located.reason);
  if (!located.inside) return failed("this client does not search there");
  const mode = args.outputMode ?? "content";
  const found = await searchFiles(
    {
      root: folder.root,
      within: located.relative,
      pattern: args.pattern,
      glob: args.glob,
      type: args.type,
      caseInsensitive: args.caseInsensitive ?? false,
      multiline: args.multiline ?? false,
      before: Math.max(0, args.contextBefore ?? args.context ?? 0),
      after: Math.max(0, args.contextAfter ?? args.context ?? 0),
      withLines: mode === "content",
      withTimes: isTimed(args),
    },
    signal,
  );
  if (!found.ok) return failed(found.error);
  const hits = sorted(found.hits, args);
  const result =
    mode === "files_with_matches"
      ? filesResult(hits, args, found.incomplete)
      : mode === "count"
        ? countResult(hits, args, found.incomplete)
        : contentResult(hits, args, found.incomplete);
  return reply({
    case: "success",
    value: {
      pattern: args.pattern,
      path: args.path ?? folder.root,
      outputMode: mode,
      workspaceResults: { [folder.root]: result },
    },
  });
};

function isTimed(args: GrepArgs): boolean {
  return args.sort !== undefined && ["modified", "accessed", "created"].includes(args.sort);
}

/** By path, or by time with the newest first; `sort_ascending` turns the latter round, false the former. */
function sorted(hits: readonly FileHits[], args: GrepArgs): readonly FileHits[] {
  if (isTimed(args)) {
    const sign = args.sortAscending ? 1 : -1;
    return hits.toSorted((a, b) => sign * (a.modifiedMs - b.modifiedMs) || (a.file < b.file ? -1 : 1));
  }
  return args.sort === "path" && args.sortAscending === false ? hits.toReversed() : hits;
}

/** What is left after `offset` and `head_limit`, which count lines of output, files or counts. */
function page<T>(items: readonly T[], args: GrepArgs, max: number) {
  const offset = Math.max(0, args.offset ?? 0);
  const wanted = args.headLimit !== undefined && args.headLimit > 0 ? args.headLimit : undefined;
  const shown = items.slice(offset, offset + Math.min(wanted ?? max, max));
  return {
    shown,
    clientTruncated: offset + shown.length < items.length,
    applied: {
      ...(wanted === undefined ? {} : { headLimitApplied: wanted }),
      ...(offset === 0 ? {} : { offsetApplied: offset }),
    },
  };
}

function filesResult(hits: readonly FileHits[], args: GrepArgs, ripgrepTruncated: boolean): GrepUnionResult {
  const { shown, clientTruncated, applied } = page(hits, args, MAX_FILES);
  const files = shown.map(({ file }) => file);
  const value = { files, totalFiles: hits.length, clientTruncated, ripgrepTruncated, ...applied };
  return create(GrepUnionResultSchema, { result: { case: "files", value } });
}

function countResult(hits: readonly FileHits[], args: GrepArgs, ripgrepTruncated: boolean): GrepUnionResult {
  const { shown, clientTruncated, applied } = page(hits, args, MAX_FILES);
  const value = {
    counts: shown.map(({ file, matched }) => ({ file, count: matched })),
    totalFiles: hits.length,
    totalMatches: sum(hits),
    clientTruncated,
    ripgrepTruncated,
    ...applied,
  };
  return create(GrepUnionResultSchema, { result: { case: "count", value } });
}

function contentResult(hits: readonly FileHits[], args: GrepArgs, ripgrepTruncated: boolean): GrepUnionResult {
  const lines = hits.flatMap(({ file, lines: found }) => found.map((line) => ({ file, line })));
  const { shown, clientTruncated, applied } = page(lines, args, MAX_LINES);
  const matches: { file: string; matches: object[] }[] = [];
  let chars = 0;
  let cut = false;
  for (const { file, line } of shown) {
    chars += line.text.length;
    if (chars > MAX_CONTENT_CHARS) {
      cut = true;
      break;
    }
    if (matches.at(-1)?.file !== file) matches.push({ file, matches: [] });
    matches.at(-1)?.matches.push({
      lineNumber: line.number,
      content: line.text,
      contentTruncated: line.cut,
      isContextLine: line.context,
    });
  }
  const value = {
    matches,
    totalLines: lines.length,
    totalMatchedLines: sum(hits),
    clientTruncated: clientTruncated || cut,
    ripgrepTruncated,
    ...applied,
  };
  return create(GrepUnionResultSchema, { result: { case: "content", value } });
}

function sum(hits: readonly FileHits[]): number {
  return hits.reduce((total, { matched }) => total + matched, 0);
}

function failed(error: string) {
  return reply({ case: "error", value: { error } });
}

type Result = ResultInit<typeof GrepResultSchema>;

function reply(result: Result): { case: "grepResult"; value: GrepResult } {
  return { case: "grepResult", value: create(GrepResultSchema, { result }) };
}
