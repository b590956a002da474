import { create } from "@bufbuild/protobuf";
import { type WriteResult, WriteResultSchema } from "@chartroom/protocols/agent";
import { isUtf8 } from "node:buffer";
import { constants } from "node:fs";
import fs from "node:fs/promises";
import nodePath from "node:path";
import { splitLines } from "../workspace/search-text.ts";
import {
  type ArgsOf,
  errorCode,
  errorText,
  type ExecHandler,
  type ExecPorts,
  isPermission,
  type ResultInit,
} from "./exec.ts";

/** A larger file is not read for the question; it is shown as all new. */
const MAX_SHOWN_BYTES = 16 * 1024 * 1024;

/** `write_args`: the whole file, after the user has seen what changes. */
export const write: ExecHandler<"writeArgs"> = async ({ args, signal }, ports) => ({
  case: "writeResult",
  value: await writeFile(args, ports, signal),
});

async function writeFile(args: ArgsOf<"writeArgs">, ports: ExecPorts, signal: AbortSignal): Promise<WriteResult> {
  const { path } = args;
  const located = await ports.folder.locate(path);
  if (!located.ok) return result({ case: "rejected", value: { path, reason: located.reason } });
  if (!located.writable)
    return result({ case: "rejected", value: { path, reason: "this client does not write there" } });
  const bytes = args.fileBytes.length > 0 ? args.fileBytes : Buffer.from(args.fileText.toWellFormed());
  try {
    const before = await previous(located.real);
    if (before.kind === "other") return result({ case: "error", value: { path, error: before.what } });
    if (before.kind === "text" && !before.valid && args.fileText.includes("\uFFFD")) {
      // what came as U+FFFD was some other byte: writing it back would destroy it
      return result({
        case: "error",
        value: { path, error: "the file is not UTF-8; writing it as text would damage it" },
      });
    }
    const verdict = await ports.consent.approve(
      {
        kind: "write",
        path: located.relative,
        before: before.kind === "text" ? before.text : undefined,
        after: isUtf8(bytes) ? Buffer.from(bytes).toString() : `[${bytes.length} bytes]`,
      },
      signal,
    );
    if (!verdict.allowed) return result({ case: "rejected", value: { path, reason: verdict.reason } });
    await replace(located.real, bytes);
  } catch (error) {
    return failed(path, nodePath.dirname(located.real), error);
  }
  const text = isUtf8(bytes) ? Buffer.from(bytes).toString() : "";
  return result({
    case: "success",
    value: {
      path,
      linesCreated: splitLines(text).length,
      fileSize: bytes.length,
      ...(args.returnFileContentAfterWrite ? { fileContentAfterWrite: text } : {}),
    },
  });
}

type Previous =
  | { readonly kind: "none" }
  | { readonly kind: "text"; readonly text: string; readonly valid: boolean }
  | { readonly kind: "other"; readonly what: string };

async function previous(real: string): Promise<Previous> {
  try {
    const stat = await fs.lstat(real);
    if (stat.isDirectory()) return { kind: "other", what: "a folder is there" };
    if (!stat.isFile()) return { kind: "other", what: "what is there is not a file" };
    if (stat.size > MAX_SHOWN_BYTES) return { kind: "text", text: "", valid: true };
    const bytes = await fs.readFile(real);
    return { kind: "text", text: bytes.toString(), valid: isUtf8(bytes) };
  } catch (error) {
    if (errorCode(error) === "ENOENT") return { kind: "none" };
    throw error;
  }
}

async function replace(real: string, bytes: Uint8Array): Promise<void> {
  await fs.mkdir(nodePath.dirname(real), { recursive: true });
  const { O_WRONLY, O_CREAT, O_TRUNC, O_NOFOLLOW } = constants;
  const file = await fs.open(real, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0o666);
  try {
    await file.writeFile(bytes);
  } finally {
    await file.close();
  }
}

function failed(path: string, directory: string, error: unknown): WriteResult {
  if (isPermission(error)) {
    return result({
      case: "permissionDenied",
      value: { path, directory, operation: "write", error: errorText(error), isReadonly: errorCode(error) === "EROFS" },
    });
  }
  if (["ENOSPC", "EDQUOT"].includes(errorCode(error))) return result({ case: "noSpace", value: { path } });
  return result({ case: "error", value: { path, error: errorText(error) } });
}

type Result = ResultInit<typeof WriteResultSchema>;

function result(value: Result): WriteResult {
  return create(WriteResultSchema, { result: value });
}
