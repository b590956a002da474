import postgres from "postgres";
import { StoreError, toStoreError } from "./failure.ts";

export type Sql = postgres.Sql<{ bigint: number }>;

export interface ConnectOptions {
  /** Connections at most; default 1. */
  readonly max?: number;
  /** Settings of the database for these connections. */
  readonly settings?: Readonly<Record<string, string>>;
  /** How long a connection may take to open, in ms; default 3,000. */
  readonly connectMs?: number;
  /** What the database shows as the name of the connection. */
  readonly name?: string;
  /** Columns come back in camelCase. */
  readonly camelCase?: boolean;
}

/**
 * Opens a pool on a `postgres://` address; nothing is sent before the first query. A folder of Unix sockets is given the
 * way libpq takes it, as `?host=/folder` (the driver alone would read past it and go to port 5432 of this machine).
 * `bigint` comes as a number. Whoever opens it ends it.
 */
export function connect(url: string, options: ConnectOptions = {}): Sql {
  const { address, socketFolder } = splitAddress(url);
  return open(address, {
    ...(socketFolder === undefined ? {} : { host: socketFolder }),
    max: options.max ?? 1,
    connect_timeout: (options.connectMs ?? 3000) / 1000,
    // the default grows to 20 s, which would outlive the outage
    backoff: () => 0.1,
    connection: { application_name: options.name ?? "chartroom", ...options.settings },
    types: { bigint: { to: 20, from: [20], parse: Number, serialize: String } },
    ...(options.camelCase ? { transform: { column: { from: postgres.toCamel } } } : {}),
    // parameters and rows that are arrays travel as json: the query for the types of arrays is not needed
    fetch_types: false,
    onnotice: () => {},
  });
}

function open(address: string, options: postgres.Options<{ bigint: postgres.PostgresType<number> }>): Sql {
  try {
    return postgres(address, options);
  } catch (error) {
    // the error of a malformed URL holds the URL, password and all
    throw toStoreError(error);
  }
}

/** Takes the socket folder out of an address. Throws `StoreError`, without the address, when it is none. */
export function splitAddress(url: string): { readonly address: string; readonly socketFolder: string | undefined } {
  if (!/^postgres(ql)?:\/\//.test(url))
    throw new StoreError("rejected", "the database's address must begin with postgres://");
  const question = url.indexOf("?");
  const query = new URLSearchParams(question < 0 ? "" : url.slice(question));
  const host = query.get("host");
  // all else is the driver's to read: several hosts, for one, are no URL
  if (host === null || !host.startsWith("/")) return { address: url, socketFolder: undefined };
  query.delete("host");
  const rest = query.toString();
  return { address: url.slice(0, question) + (rest === "" ? "" : `?${rest}`), socketFolder: host };
}
