import { create } from "@bufbuild/protobuf";
import { type DeleteResult, DeleteResultSchema } from "@chartroom/protocols/agent";
import type { Stats } from "node:fs";
import { isUtf8 } from "node:buffer";
import fs from "node:fs/promises";
import {
  type ArgsOf,
  errorCode,
  errorText,
  type ExecHandler,
  type ExecPorts,
  isPermission,
  type ResultInit,
} from "./exec.ts";

const MAX_KEPT_BYTES = 1024 * 1024;

/** `delete_args`: one file, or a link itself; never a folder. */
export const remove: ExecHandler<"deleteArgs"> = async ({ args, signal }, ports) => ({
  case: "deleteResult",
  value: await deleteFile(args, ports, signal),
});

async function deleteFile(args: ArgsOf<"deleteArgs">, ports: ExecPorts, signal: AbortSignal): Promise<DeleteResult> {
  const { path } = args;
  const located = await ports.folder.entry(path);
  if (!located.ok) return result({ case: "rejected", value: { path, reason: located.reason } });
  if (!located.writable)
    return result({ case: "rejected", value: { path, reason: "this client does not delete there" } });
  try {
    const stat = await fs.lstat(located.real);
    if (!stat.isFile() && !stat.isSymbolicLink()) {
      return result({ case: "notFile", value: { path, actualType: stat.isDirectory() ? "directory" : "other" } });
    }
    const verdict = await ports.consent.approve({ kind: "delete", path: located.relative }, signal);
    if (!verdict.allowed) return result({ case: "rejected", value: { path, reason: verdict.reason } });
    const prevContent = await contentOf(located.real, stat);
    await fs.unlink(located.real);
    return result({
      case: "success",
      value: { path, deletedFile: located.real, fileSize: BigInt(stat.size), prevContent },
    });
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes(errorCode(error))) return result({ case: "fileNotFound", value: { path } });
    if (errorCode(error) === "EBUSY") return result({ case: "fileBusy", value: { path } });
    if (isPermission(error)) {
      const isReadonly = errorCode(error) === "EROFS";
      return result({ case: "permissionDenied", value: { path, clientVisibleError: errorText(error), isReadonly } });
    }
    return result({ case: "error", value: { path, error: errorText(error) } });
  }
}

async function contentOf(real: string, stat: Stats): Promise<string> {
  if (!stat.isFile() || stat.size > MAX_KEPT_BYTES) return "";
  const bytes = await fs.readFile(real);
  return isUtf8(bytes) ? bytes.toString() : "";
}

type Result = ResultInit<typeof DeleteResultSchema>;

function result(value: Result): DeleteResult {
  return create(DeleteResultSchema, { result: value });
}
