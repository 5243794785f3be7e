import { randomInt } from 'node:crypto';
import { inTransaction, type Pool } from '../db/connections/pool.ts';
import { HOLDER_ID_MAX, leaseTokensOf } from './lease.ts';
import { expireLeases, type LeasedTable } from './lease-store.ts';

/** A process that holds leases, and how often it has reported that it is alive. */
export interface HolderState {
  id: number;
  name: string;
  heartbeats: number;
}

/** The database statements of a lease holder; see lease-holder.ts. */
export interface LeaseHolderStore {
  /** Returns a new holder id. */
  register: (name: string) => Promise<number>;
  /** Reports that a holder is alive. Returns all holders, or undefined if this one was removed. */
  heartbeat: (id: number) => Promise<HolderState[] | undefined>;
  /** Removes a holder unless it has reported since, and ends its leases. Returns how many it had. */
  takeOver: (dead: HolderState, nowMs: number) => Promise<number | undefined>;
  unregister: (id: number) => Promise<void>;
}

/**
 * `heartbeats` is a pool of its own, with short timeouts: a heartbeat must not wait for other
 * statements. Ids are random, so that a failover that loses a registration cannot issue an id twice.
 */
export function leaseHolderStore<Item>(
  table: LeasedTable<Item>,
  pools: { heartbeats: Pool; pool: Pool },
): LeaseHolderStore {
  const { heartbeats, pool } = pools;
  return {
    async register(name) {
      for (;;) {
        const id = randomInt(1, HOLDER_ID_MAX);
        const { rowCount } = await heartbeats.query(
          `insert into lease_holders (id, queue, name) values ($1, $2, $3) on conflict do nothing`,
          [id, table.name, name],
        );
        if (rowCount === 1) return id;
      }
    },
    async heartbeat(id) {
      const { rows } = await heartbeats.query<HolderState & { alive: boolean }>({
        name: 'lease-holder-heartbeat',
        text: `with own as (
            update lease_holders set heartbeats = heartbeats + 1 where id = $1 returning id)
          select id, name, heartbeats, exists (select from own) as alive
            from lease_holders where queue = $2`,
        values: [id, table.name],
      });
      return rows[0]?.alive ? rows : undefined;
    },
    takeOver: (dead, nowMs) =>
      inTransaction(pool, async (client) => {
        // Waits for a heartbeat in progress, which then makes the condition false.
        const { rowCount } = await client.query(
          'delete from lease_holders where id = $1 and heartbeats = $2',
          [dead.id, dead.heartbeats],
        );
        if (rowCount === 0) return undefined;
        return expireLeases(client, table, nowMs, leaseTokensOf(dead.id));
      }),
    async unregister(id) {
      await heartbeats.query('delete from lease_holders where id = $1', [id]);
    },
  };
}
