import { CommandError, exitCodes } from "../failure.ts";
import { type Config, loadConfig } from "../config/load.ts";

export const configArgs = {
  config: {
    type: "string",
    description: "Configuration file; default: CHARTROOM_CONFIG, else chartroom.yaml if there is one",
    valueHint: "FILE",
  },
} as const;

export const jsonArg = { json: { type: "boolean", description: "One JSON value on standard output" } } as const;

export const conversationArg = {
  conversation: { type: "positional", description: "The conversation's id", required: true },
} as const;

/** The folder that the user is in: package managers start scripts in the package's own. */
export function userFolder(): string {
  return process.env["INIT_CWD"] ?? process.cwd();
}

export function configOf(args: { readonly config?: string | undefined }): Config {
  return loadConfig({
    folder: userFolder(),
    env: process.env,
    ...(args.config === undefined ? {} : { file: args.config }),
  });
}

/** Refuses options that the command does not have, and more words than it takes: a typing error must not pass for the default. */
export function refuseUnknown(
  args: Readonly<Record<string, unknown>> & { readonly _: readonly string[] },
  known: Readonly<Record<string, { readonly type?: string }>>,
): void {
  const words = Object.values(known).filter(({ type }) => type === "positional").length;
  const unknown = Object.keys(args).filter((name) => name !== "_" && !Object.hasOwn(known, name));
  const extra = args._.slice(words);
  const first = unknown[0] === undefined ? extra[0] : `--${unknown[0]}`;
  if (first !== undefined)
    throw new CommandError(`chartroom: there is no ${first} here; --help tells what there is`, exitCodes.usage);
}

export function print(text: string): void {
  process.stdout.write(text.endsWith("\n") ? text : `${text}\n`);
}

export function printJson(value: unknown): void {
  print(JSON.stringify(value, undefined, 2));
}
