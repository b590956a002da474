import { create } from "@bufbuild/protobuf";
import { type ReadResult, ReadResultSchema } from "@chartroom/protocols/agent";
import { constants } from "node:fs";
import fs, { type FileHandle } from "node:fs/promises";
import { TextDecoder } from "node:util";
import type { Folder } from "../workspace/folder.ts";
import { splitLines } from "../workspace/search-text.ts";
import { type ArgsOf, errorCode, errorText, type ExecHandler, isPermission, type ResultInit } from "./exec.ts";

const MAX_FILE_BYTES = 64 * 1024 * 1024;
const MAX_IMAGE_BYTES = 10 * 1024 * 1024;
const MAX_CONTENT_CHARS = 1024 * 1024;
const BINARY_PROBE_BYTES = 8192;

/** `read_args`: text by lines, images as bytes. */
export const read: ExecHandler<"readArgs"> = async ({ args }, { folder }) => ({
  case: "readResult",
  value: await readFile(args, folder),
});

async function readFile(args: ArgsOf<"readArgs">, folder: Folder): Promise<ReadResult> {
  const { path } = args;
  const located = await folder.locate(path);
  if (!located.ok) return result({ case: "rejected", value: { path, reason: located.reason } });
  let file: FileHandle | undefined;
  try {
    // not to wait for a writer where the path is a pipe
    file = await fs.open(located.real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const stat = await file.stat();
    if (!stat.isFile()) {
      return result({ case: "invalidFile", value: { path, reason: stat.isDirectory() ? "a folder" : "not a file" } });
    }
    if (stat.size > MAX_FILE_BYTES) {
      return result({ case: "invalidFile", value: { path, reason: `larger than ${MAX_FILE_BYTES} bytes` } });
    }
    return contentResult(args, await file.readFile());
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes(errorCode(error))) return result({ case: "fileNotFound", value: { path } });
    if (isPermission(error)) return result({ case: "permissionDenied", value: { path } });
    return result({ case: "error", value: { path, error: errorText(error) } });
  } finally {
    await file?.close();
  }
}

function contentResult(args: ArgsOf<"readArgs">, bytes: Buffer): ReadResult {
  const { path } = args;
  const fileSize = BigInt(bytes.length);
  if (isImage(bytes) && bytes.length <= MAX_IMAGE_BYTES) {
    return result({ case: "success", value: { path, fileSize, output: { case: "data", value: bytes } } });
  }
  const text = decode(bytes, args.encodingHint);
  if (text === undefined) return result({ case: "invalidFile", value: { path, reason: "a binary file" } });
  const range = cutLines(text, args.offset, args.limit);
  const truncated = range.content.length > MAX_CONTENT_CHARS;
  const content = truncated ? range.content.slice(0, MAX_CONTENT_CHARS).toWellFormed() : range.content;
  return result({
    case: "success",
    value: {
      path,
      output: { case: "content", value: content },
      totalLines: range.totalLines,
      fileSize,
      truncated,
      rangeApplied: args.offset !== undefined || args.limit !== undefined,
    },
  });
}

/**
 * Lines from `offset` (1 is the first; a negative one counts from the end), at most `limit`. Line ends stay as they
 * are, so that the lines put together are the text.
 */
export function cutLines(
  text: string,
  offset: number | undefined,
  limit: number | undefined,
): { content: string; totalLines: number } {
  const totalLines = splitLines(text).length;
  if (offset === undefined && limit === undefined) return { content: text, totalLines };
  const wanted = offset ?? 1;
  const first = wanted < 0 ? Math.max(0, totalLines + wanted) : Math.max(0, wanted - 1);
  const lines = text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  return { content: lines.slice(first, limit === undefined ? undefined : first + limit).join(""), totalLines };
}

function decode(bytes: Buffer, hint: string | undefined): string | undefined {
  const wide =
    bytes.length >= 2 && ((bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff));
  if (wide) return new TextDecoder(bytes[0] === 0xff ? "utf-16le" : "utf-16be", { ignoreBOM: true }).decode(bytes);
  if (bytes.subarray(0, BINARY_PROBE_BYTES).includes(0)) return undefined;
  return decoderFor(hint).decode(bytes);
}

function decoderFor(hint: string | undefined): TextDecoder {
  try {
    return new TextDecoder(hint ?? "utf-8", { ignoreBOM: true });
  } catch {
    // an encoding that is not known
    return new TextDecoder("utf-8", { ignoreBOM: true });
  }
}

function isImage(bytes: Buffer): boolean {
  const head = bytes.subarray(0, 12).toString("latin1");
  return (
    head.startsWith("\x89PNG\r\n\x1a\n") ||
    head.startsWith("\xff\xd8\xff") ||
    /^GIF8[79]a/.test(head) ||
    /^RIFF[^]{4}WEBP/.test(head)
  );
}

type Result = ResultInit<typeof ReadResultSchema>;

function result(value: Result): ReadResult {
  return create(ReadResultSchema, { result: value });
}
