import { type Config, loadConfig } from "../config/load.ts";

export const configArgs = {
  config: {
    type: "string",
    description: "Configuration file (default: chartroom.yaml, if there is one)",
    valueHint: "FILE",
  },
} as const;

export function configOf(args: { readonly config?: string | undefined }): Config {
  return loadConfig({
    folder: process.env["INIT_CWD"] ?? process.cwd(),
    env: process.env,
    ...(args.config === undefined ? {} : { file: args.config }),
  });
}

/** Exit codes of every command. */
export const exitCodes = { ok: 0, failed: 1, usage: 2, notFound: 4 } as const;
