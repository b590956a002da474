import type { Clock, NodeId, NodeLease, Timer } from "@chartroom/domain";
import type { Database } from "./database.ts";
import { StoreError } from "./failure.ts";

export interface LeaseOptions {
  /** Between two renewals, in ms. */
  readonly renewMs: number;
  /** How long a renewal holds, in ms. */
  readonly validMs: number;
  /** No other process can reach the database: the leases of others are those of processes that are gone. */
  readonly alone: boolean;
}

/** How long a row of a node that is gone is kept, for those who look into what happened. */
const FORGET = "1 day";

/**
 * The lease of this process. By its own clock it holds from the moment a renewal was *sent*, which is before the moment from
 * which the database counts: it ends here before it ends for the others.
 */
export function nodeLease(database: Database, node: NodeId, clock: Clock, options: LeaseOptions): NodeLease {
  const listeners: (() => void)[] = [];
  let stopped = true;
  let until = 0;
  let renewal: Timer | undefined;
  let expiry: Timer | undefined;
  let renewing: Promise<void> = Promise.resolve();

  const lose = (): void => {
    until = 0;
    for (const listener of listeners) listener();
  };

  const renew = async (): Promise<void> => {
    const sent = clock.now();
    // armed when it is sent, not when it is answered: timers run on though the clock be set back
    const ends = clock.setTimeout(lose, options.validMs);
    try {
      await database.attempt(
        (sql) => sql`
          insert into node (id, lease_until) values (${node}, clock_timestamp() + ${options.validMs}::int * interval '1 ms')
          on conflict (id) do update set lease_until = excluded.lease_until`,
      );
    } catch (error) {
      clock.clearTimeout(ends);
      throw error;
    }
    if (expiry !== undefined) clock.clearTimeout(expiry);
    expiry = ends;
    until = sent + options.validMs;
  };

  const goOn = (afterMs: number): void => {
    if (stopped) return;
    renewal = clock.setTimeout(() => {
      // what counts is whether one comes in time, so a failure is tried again soon
      renewing = renew().then(
        () => goOn(options.renewMs),
        () => goOn(options.renewMs / 4),
      );
    }, afterMs);
  };

  return {
    node,
    async start() {
      await renew();
      await database.attempt(
        (sql) => sql`
          delete from node
          where id <> ${node} and (${options.alone} or lease_until < now() - ${FORGET}::text::interval)`,
      );
      stopped = false;
      goOn(options.renewMs);
    },
    onLost: (listener) => void listeners.push(listener),
    held: () => clock.now() < until,
    async stop() {
      stopped = true;
      if (renewal !== undefined) clock.clearTimeout(renewal);
      await renewing;
      if (expiry !== undefined) clock.clearTimeout(expiry);
      until = 0;
      try {
        await database.attempt((sql) => sql`delete from node where id = ${node}`);
      } catch (error) {
        // it ends by itself
        if (!(error instanceof StoreError)) throw error;
      }
    },
  };
}
