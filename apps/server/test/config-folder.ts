import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { onTestFinished } from "vitest";
import { type Config, loadConfig } from "../src/config/load.ts";
import { ConfigError } from "../src/config/problem.ts";

/** A folder that is gone after the test, with files in it. */
export function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "chartroom-config-"));
  onTestFinished(() => fs.rmSync(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) fs.writeFileSync(path.join(folder, name), text);
  return folder;
}

type Env = Readonly<Record<string, string>>;

/** Loads a configuration file of this text, beside other files. */
export function load(yaml: string, env: Env = {}, files: Readonly<Record<string, string>> = {}): Config {
  return loadConfig({ folder: folderWith({ ...files, "chartroom.yaml": yaml }), env });
}

/** What is wrong with it, as `path: reason`, in the order in which it is told. */
export function problems(yaml: string, env: Env = {}, files: Readonly<Record<string, string>> = {}): readonly string[] {
  return problemsOf(() => load(yaml, env, files));
}

export function problemsOf(act: () => unknown): readonly string[] {
  try {
    act();
  } catch (error) {
    if (error instanceof ConfigError) return error.problems.map(({ path: at, reason }) => `${at}: ${reason}`);
    throw error;
  }
  return [];
}
