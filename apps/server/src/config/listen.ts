import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import { createSecureContext } from "node:tls";
import type { ConfigProblem } from "./problem.ts";
import type { ConfigFile } from "./schema.ts";

export interface TlsFiles {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** Whether a name or address can be reached from this machine alone. `localhost` and what is below it stand for nothing else. */
export function isLoopback(host: string): boolean {
  if (host === "localhost" || host.endsWith(".localhost") || host === "::1") return true;
  return net.isIPv4(host) && host.startsWith("127.");
}

/** Reads the certificate and its key, and makes sure that they fit. */
export function readTls(
  tls: NonNullable<ConfigFile["listen"]["tls"]>,
  folder: string,
  problems: ConfigProblem[],
): TlsFiles | undefined {
  const read = (name: "cert" | "key"): Buffer | undefined => {
    try {
      return fs.readFileSync(path.resolve(folder, tls[name]));
    } catch {
      problems.push({ path: `listen.tls.${name}`, reason: `the file ${tls[name]} cannot be read` });
      return undefined;
    }
  };
  const cert = read("cert");
  const key = read("key");
  if (!cert || !key) return undefined;
  try {
    createSecureContext({ cert, key });
    return { cert, key };
  } catch {
    problems.push({ path: "listen.tls", reason: "the two files are not a certificate and its key, as PEM" });
    return undefined;
  }
}

/** A port given by the environment goes before the configured one. */
export function portOf(text: string | undefined, otherwise: number, problems: ConfigProblem[]): number {
  if (text === undefined || text === "") return otherwise;
  const port = /^\d{1,5}$/u.test(text) ? Number(text) : Number.NaN;
  if (port <= 65_535) return port;
  problems.push({ path: "CHARTROOM_PORT", reason: "a whole number from 0 to 65535" });
  return otherwise;
}
