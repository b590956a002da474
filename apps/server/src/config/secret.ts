import fs from "node:fs";
import path from "node:path";
import type { Result } from "@chartroom/domain";

export interface SecretSources {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Folder that `file:` paths start from. */
  readonly folder: string;
}

/** The value behind `env:NAME` or `file:PATH`; the error names the source, never a value. */
export function readSecret(reference: string, { env, folder }: SecretSources): Result<string, string> {
  const source = reference.slice(reference.indexOf(":") + 1);
  if (reference.startsWith("env:")) {
    const value = env[source]?.trim();
    return value ? { ok: true, value } : { ok: false, error: `the environment variable ${source} is not set` };
  }
  try {
    const value = fs.readFileSync(path.resolve(folder, source), "utf8").trim();
    return value ? { ok: true, value } : { ok: false, error: `the file ${source} is empty` };
  } catch {
    return { ok: false, error: `the file ${source} cannot be read` };
  }
}
