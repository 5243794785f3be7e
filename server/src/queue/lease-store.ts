import { inTransaction, type Pool, type PoolClient } from '../db/connections/pool.ts';
import { sqlTime } from '../db/schema/row-types.ts';

/**
 * The statements that every leased queue needs: claiming, renewing and releasing. A table that is a
 * queue has a `due_at`, which is the end of the lease while a row is leased, and a `lease`.
 */
export interface LeasedTable<Item> {
  /** For the names of prepared statements. */
  name: string;
  /** The beginning of an update, with the alias `d`: only its owner writes a table. */
  update: string;
  /** The columns of the primary key, with their types. */
  key: readonly string[];
  keyOf: (item: Item) => readonly (string | number)[];
  /** A condition for the rows that wait; other rows are history. */
  unfinished: string;
}

interface Leased {
  lease: number;
}

/** Extends leases; returns the indexes of those that this node still holds. */
export function renewLeases<Item extends Leased>(
  pool: Pool,
  table: LeasedTable<Item>,
  items: readonly Item[],
  endsAtMs: number,
): Promise<number[]> {
  return updateLeased(pool, table, 'renew', '', items, endsAtMs);
}

/** Releases leases, so that any node can claim the rows when they are due. */
export function releaseLeases<Item extends Leased>(
  pool: Pool,
  table: LeasedTable<Item>,
  items: readonly Item[],
  dueAtMs: number,
): Promise<number[]> {
  return updateLeased(pool, table, 'release', ', lease = null', items, dueAtMs);
}

/** Changes `due_at` and more of rows that this node still holds; returns their indexes. */
export async function updateLeased<Item extends Leased>(
  pool: Pool,
  { name, update, key, keyOf }: LeasedTable<Item>,
  action: string,
  moreChanges: string,
  items: readonly Item[],
  dueAtMs: number,
): Promise<number[]> {
  if (items.length === 0) return [];
  const names = key.map((column) => column.split(' ', 1)[0] as string);
  const rows = items.map((item, n) => {
    const values = keyOf(item);
    return {
      n,
      l: item.lease,
      ...Object.fromEntries(names.map((column, at) => [column, values[at]])),
    };
  });
  const { rows: changed } = await pool.query<{ n: number }>({
    name: `${name}-${action}`,
    text: `${update} due_at = $2::timestamptz${moreChanges}
        from json_to_recordset($1::json) as r(n int, l bigint, ${key.join(', ')})
       where ${names.map((column) => `d.${column} = r.${column}`).join(' and ')} and d.lease = r.l
   returning r.n`,
    values: [JSON.stringify(rows), sqlTime(dueAtMs)],
  });
  return changed.map((row) => row.n);
}

/** The largest LEASE_SECONDS. */
const LEASE_MAX_MS = 3_600_000;

/**
 * Ends the leases of dead holders; returns how many. The rows keep their tokens, so that the next
 * holder can count the loss. Without sequential scans, only the queue is read and not the history.
 */
export async function expireLeases<Item>(
  client: PoolClient,
  { update, unfinished }: LeasedTable<Item>,
  nowMs: number,
  tokens: { first: number; last: number },
): Promise<number> {
  await client.query('set local enable_seqscan = off');
  const { rowCount } = await client.query(
    `${update} due_at = $1::timestamptz
      where ${unfinished} and lease between $3 and $4
        and due_at > $1::timestamptz and due_at <= $2::timestamptz`,
    [sqlTime(nowMs), sqlTime(nowMs + LEASE_MAX_MS), tokens.first, tokens.last],
  );
  return rowCount ?? 0;
}

/** Ends all leases; returns how many. For a start that knows that no other process is running. */
export function expireAllLeases<Item>(
  pool: Pool,
  table: LeasedTable<Item>,
  nowMs: number,
): Promise<number> {
  const tokens = { first: 0, last: Number.MAX_SAFE_INTEGER };
  return inTransaction(pool, (client) => expireLeases(client, table, nowMs, tokens));
}

/**
 * Claims rows of a partitioned table: `lock` picks them with `for update skip locked`, and `change`
 * updates them, in one transaction but never in one statement.
 *
 * In one statement, PostgreSQL 18.4 crashes with a segmentation fault. When a row to be locked was
 * just changed by another session, `for update` rechecks it with a second copy of the whole plan
 * (EvalPlanQual). The copy shares the state of partition pruning with the original and overwrites it,
 * so the update, which prunes partitions by the key of each picked row, then reads memory that is not
 * its own (perform_pruning_base_step). Eight concurrent claimers on three webhook endpoints brought
 * the server down within 10 to 60 seconds, and never with two statements. A statement that only locks
 * is safe as long as it does not prune by a value of another table in the same statement.
 */
export async function lockThenChange<Picked, Row>(
  pool: Pool,
  lock: (client: PoolClient) => Promise<Picked[]>,
  change: (client: PoolClient, picked: Picked[]) => Promise<Row[]>,
): Promise<Row[]> {
  return inTransaction(pool, async (client) => {
    const picked = await lock(client);
    return picked.length > 0 ? change(client, picked) : [];
  });
}
