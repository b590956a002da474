/** Why the store could not do something; `unavailable` alone may succeed when it is tried again. */
export type StoreErrorCode =
  /** The database was not reached, or did not answer, within the bound. */
  | "unavailable"
  /** The database refused: a fault of the caller, of the configuration or of the schema. */
  | "rejected"
  /** A request id that was never bound. */
  | "unbound"
  /** `after` is not on the way from the root to `head`, or a node or message of it is missing. */
  | "brokenChain"
  /** Another process has the folder of the embedded database. */
  | "folderInUse"
  /** The embedded database did not start or stop. */
  | "embedded";

/** The one error of this package. Its text never holds a query, a parameter, a row or a password. */
export class StoreError extends Error {
  override readonly name = "StoreError";
  readonly code: StoreErrorCode;
  readonly retryable: boolean;
  /** SQLSTATE, or the system's error code. */
  readonly state: string | undefined;

  constructor(code: StoreErrorCode, message: string, state?: string) {
    super(message);
    this.code = code;
    this.retryable = code === "unavailable";
    this.state = state;
  }
}

/** SQLSTATE classes and codes that say "not now": connection, resources, shutdown, cancelled, deadlock, read-only standby, I/O. */
const NOT_NOW = /^(08|53|57|58)|^(40001|40P01|55P03|25006)$/;
/** What the driver and the sockets below it call a database that is not there. */
const NOT_THERE =
  /^(CONNECT|ECONN|EPIPE|ENOENT|EHOST|ENET|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EADDRNOTAVAIL|EMFILE|ENFILE)[A-Z_]*$/;

/** System calls on an open socket. */
const SOCKET = new Set<unknown>(["read", "write", "shutdown"]);

/**
 * What a failure of the driver means. The driver's own error is dropped, not kept as a cause: it carries the query, its
 * parameters, and in `detail` the values of rows.
 */
export function toStoreError(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  const code = stateOf(error);
  if (code !== undefined && (NOT_NOW.test(code) || NOT_THERE.test(code))) {
    return new StoreError("unavailable", `the database is not available (${code})`, code);
  }
  const where = tableOf(error);
  return new StoreError("rejected", `the database refused (${code ?? "no code"}${where})`, code);
}

function stateOf(error: unknown): string | undefined {
  // drizzle wraps the driver's error
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    // a missing file is not a missing database
    if ("syscall" in at && at.syscall !== "connect" && at.syscall !== "getaddrinfo" && !SOCKET.has(at.syscall))
      continue;
    if ("code" in at && typeof at.code === "string") return at.code;
  }
  return undefined;
}

function tableOf(error: unknown): string {
  if (!(error instanceof Error) || !("table_name" in error) || typeof error.table_name !== "string") return "";
  const rule =
    "constraint_name" in error && typeof error.constraint_name === "string" ? `, ${error.constraint_name}` : "";
  return `, table ${error.table_name}${rule}`;
}
