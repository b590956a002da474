import path from "node:path";
import { folderOf, socketUrl } from "./folder.ts";
import { isPostgresOf, readPostmaster } from "./postmaster.ts";

/**
 * Address of the Postgres that a process has running on a folder, for another process that wants to look into it. `undefined`:
 * none takes connections there. It is not kept from ending: whoever connects may lose the connection.
 */
export function runningEmbedded(dir: string): string | undefined {
  const folder = folderOf(path.resolve(dir));
  const postmaster = readPostmaster(folder);
  if (postmaster === undefined || !postmaster.ready || !isPostgresOf(folder, postmaster.pid)) return undefined;
  return socketUrl(postmaster.socketFolder);
}
