import type { Clock } from "@chartroom/domain";
import { connect, type ConnectOptions, type Sql } from "./connection.ts";
import { StoreError, toStoreError } from "./failure.ts";

/**
 * Settings of every connection. Every statement of this package finds its rows by key, and each is planned once per
 * connection, perhaps when its tables are still empty. What the planner would prefer for a small table (to read all of it)
 * costs the more the longer a conversation gets, so these ways are closed; a plain index scan also skips what was deleted.
 */
const SETTINGS = {
  plan_cache_mode: "force_generic_plan",
  enable_seqscan: "off",
  enable_bitmapscan: "off",
  enable_hashjoin: "off",
  enable_mergejoin: "off",
  // the history of a long conversation is put in order in memory
  work_mem: "16MB",
};

export interface DatabaseOptions {
  readonly url: string;
  readonly clock: Clock;
  /** Bound of one attempt, in ms. */
  readonly attemptMs: number;
  readonly max: number;
  readonly name: string;
}

/**
 * A pool whose every use is bounded in time. An attempt that gets no answer within its bound fails as `unavailable`, and the
 * pool it ran on is thrown away: its sockets may lead to a host that is gone, which nothing else would notice for minutes.
 */
export class Database {
  readonly #options: DatabaseOptions;
  readonly #pool: ConnectOptions;
  #sql: Sql;
  #closed = false;

  constructor(options: DatabaseOptions) {
    this.#options = options;
    this.#pool = {
      max: options.max,
      name: options.name,
      settings: { ...SETTINGS, statement_timeout: String(options.attemptMs) },
      connectMs: Math.min(options.attemptMs, 3000),
      camelCase: true,
    };
    this.#sql = connect(options.url, this.#pool);
  }

  /** Runs `work` on the pool. Throws `StoreError` alone. `work` must start all its queries; what it leaves open is cut off at the bound. */
  async attempt<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    if (this.#closed) throw new StoreError("unavailable", "the store is closed");
    const { clock, attemptMs } = this.#options;
    const sql = this.#sql;
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = clock.setTimeout(() => {
      this.#replace(sql);
      reject(new StoreError("unavailable", `the database gave no answer within ${attemptMs} ms`));
    }, attemptMs);
    try {
      return await Promise.race([work(sql), late]);
    } catch (error) {
      throw toStoreError(error);
    } finally {
      clock.clearTimeout(timer);
    }
  }

  #replace(silent: Sql): void {
    if (this.#sql !== silent || this.#closed) return;
    this.#sql = connect(this.#options.url, this.#pool);
    // the queries on it fail at once; each of them has a reader of its own
    void silent.end({ timeout: 0 });
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#sql.end({ timeout: 5 });
  }
}
