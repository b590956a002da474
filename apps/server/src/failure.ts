import { StoreError } from "@chartroom/store";
import { ConfigError } from "./config/problem.ts";

/** Exit codes of every command; docs/operations.md lists them. */
export const exitCodes = { ok: 0, failed: 1, usage: 2, notFound: 4, interrupted: 130 } as const;

/** A command that ends with a message and a code. */
export class CommandError extends Error {
  override readonly name = "CommandError";
  readonly exitCode: number;

  constructor(message: string, exitCode: number = exitCodes.failed) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** What went wrong, in words for whoever started the program; never a stack, a key or an address with a password. */
export function messageOf(error: unknown): string {
  if (error instanceof ConfigError || error instanceof CommandError) return error.message;
  if (error instanceof StoreError) return `chartroom: ${error.message}${storeHint(error)}`;
  return `chartroom: ${listenMessage(error) ?? (error instanceof Error ? error.message : String(error))}`;
}

export function exitCodeOf(error: unknown): number {
  return error instanceof CommandError ? error.exitCode : exitCodes.failed;
}

/** SQLSTATE of a table that is not there. */
const NO_TABLE = "42P01";

function storeHint({ code, state }: StoreError): string {
  if (state === NO_TABLE) return ": it has no Chartroom schema yet; npm run chartroom -- migrate makes it";
  return code === "unavailable" ? ": is it running, and is DATABASE_URL right?" : "";
}

function listenMessage(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("syscall" in error) || error.syscall !== "listen" || !("code" in error))
    return undefined;
  const { address, port } = error as Error & { readonly address?: string; readonly port?: number };
  const where = `${address ?? "the address"}:${port ?? ""}`;
  switch (error.code) {
    case "EADDRINUSE":
      return `${where} is in use: is a server running already? CHARTROOM_PORT or listen.port names another port (0 takes a free one)`;
    case "EACCES":
      return `${where} is not allowed for this user: CHARTROOM_PORT or listen.port names another port`;
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
      return `${where} is not an address of this machine: listen.host names another one`;
    default:
      return undefined;
  }
}
