import type { DatabaseHosts } from '../db/connections/database-url.ts';
import { openPool, type Pool } from '../db/connections/pool.ts';
import type { Log } from '../lib/log.ts';
import { type Clock, systemClock } from '../lib/time/clock.ts';
import { type LeaseHolder, SharedHolder, soleHolder } from '../queue/lease-holder.ts';
import { leaseHolderStore } from '../queue/lease-holder-store.ts';
import type { LeasedTable } from '../queue/lease-store.ts';

/** Less than a holder may be without a heartbeat, so that it tries again before. */
const TIMEOUT_MS = 2_000;

export interface LeaseHolderOptions {
  /** No other process can use the database. */
  exclusive: boolean;
  hosts: DatabaseHosts;
  /** The pool of the queue, for takeovers. */
  pool: Pool;
  clock: Clock;
  log: Log;
  /** Host and process. */
  name: string;
}

/** The holder of the leases of one queue; `close` also closes the pool of the queue. */
export function buildLeaseHolder<Item>(
  table: LeasedTable<Item>,
  { exclusive, hosts, pool, clock, log, name }: LeaseHolderOptions,
): { holder: LeaseHolder; close: () => Promise<void> } {
  if (exclusive) return { holder: soleHolder, close: () => pool.end() };
  const heartbeats = openPool({
    hosts,
    log,
    max: 1,
    applicationName: 'postrider heartbeat',
    statementTimeoutMs: TIMEOUT_MS,
    unresponsiveMsMax: TIMEOUT_MS,
  });
  const holder = new SharedHolder({
    store: leaseHolderStore(table, { heartbeats, pool }),
    clock,
    systemClock,
    stopwatchMs: () => performance.now(),
    log,
    name,
  });
  return {
    holder,
    close: async () => {
      await Promise.all([heartbeats.end(), pool.end()]);
    },
  };
}
