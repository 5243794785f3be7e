import type pg from 'pg';
import { uuidFloor, uuidTime } from '../../lib/ids.ts';
import { acquireSessionLock, type LockWait } from '../advisory-lock.ts';
import { type Pool, type Queryable, withoutTimeouts } from '../connections/pool.ts';
import { LOCKS } from '../lock-numbers.ts';

/**
 * Tables that grow with every message are partitioned by time, using the UUIDv7 in their key. This
 * file creates partitions weeks ahead and drops those past their retention. There is no default
 * partition, because rows in it would block the creation of the right one.
 */
export interface PartitionedTable {
  table: string;
  /** Days covered by one partition. */
  spanDays: number;
  /** Days ahead for which partitions are created. */
  aheadDays: number;
  keep: 'record' | 'content' | 'webhook' | 'audit';
  /** Rows that no delivery needs: they expire even if deliveries of their time are unfinished. */
  standalone?: true;
}

export interface Retention {
  /** Messages, deliveries, attempts, inbound messages, events. */
  recordDays: number;
  /** Message contents and attachments, contents of inbound messages, and the request log. */
  contentDays: number;
  /** Webhook deliveries and their attempts. */
  webhookDays: number;
  /** The audit log. */
  auditDays: number;
}

const MONTHLY = { spanDays: 28, aheadDays: 56 } as const;
const DAILY = { spanDays: 1, aheadDays: 10 } as const;

/** `recordDays` is PARTITION_DAYS: the span of what is kept for each message. */
export function partitionedTables(recordDays: number): readonly PartitionedTable[] {
  const records = { spanDays: recordDays, aheadDays: Math.max(10, 5 * recordDays) };
  return [
    { table: 'messages', ...records, keep: 'record' },
    { table: 'deliveries', ...records, keep: 'record' },
    { table: 'attempts', ...records, keep: 'record' },
    { table: 'events', ...records, keep: 'record' },
    { table: 'message_contents', ...DAILY, keep: 'content' },
    { table: 'message_attachments', ...DAILY, keep: 'content' },
    { table: 'archived_contents', ...DAILY, keep: 'content' },
    { table: 'test_inbox', ...records, keep: 'content' },
    { table: 'inbound_messages', ...records, keep: 'record', standalone: true },
    { table: 'inbound_addresses', ...records, keep: 'record', standalone: true },
    { table: 'inbound_contents', ...DAILY, keep: 'content', standalone: true },
    { table: 'request_log', ...DAILY, keep: 'content', standalone: true },
    { table: 'audit_log', ...MONTHLY, keep: 'audit', standalone: true },
    { table: 'webhook_deliveries', ...records, keep: 'webhook' },
    { table: 'webhook_attempts', ...records, keep: 'webhook' },
  ];
}

export const PARTITIONED_TABLES = partitionedTables(7);

const DAY_MS = 86_400_000;
/** The epoch was a Thursday; weekly partitions start on Mondays. */
const MONDAY_MS = 4 * DAY_MS;
/** The clock of another node may be behind. */
const CLOCK_SKEW_MS = DAY_MS;
/** Rows are partitioned by the time of their event; the last attempt may be days later. */
const WEBHOOK_RETRY_DAYS = 4;

interface Partition {
  name: string;
  fromMs: number;
  toMs: number;
  detaching: boolean;
}

/**
 * Creates missing partitions from a day ago to well ahead; returns their names. Usually none is missing,
 * which takes neither the lock nor a session of its own.
 */
export async function ensurePartitions(
  pool: Pool,
  nowMs: number,
  tables: readonly PartitionedTable[] = PARTITIONED_TABLES,
  wait: LockWait = {},
): Promise<string[]> {
  const known = await readPartitions(pool, tables);
  const isComplete = (one: PartitionedTable): boolean =>
    missingPartitions(one, known.get(one.table) ?? [], nowMs).length === 0;
  if (tables.every(isComplete)) return [];
  return withLock(pool, wait, async (client) => {
    const created: string[] = [];
    // New partitions may have their names.
    await dropDetached(client, tables);
    // Another node may have created them meanwhile.
    const partitions = await readPartitions(client, tables);
    for (const one of tables) {
      const missing = missingPartitions(one, partitions.get(one.table) ?? [], nowMs);
      if (missing.length === 0) continue;
      await client.query('begin');
      for (const { fromMs, toMs } of missing) {
        created.push(await createPartition(client, one.table, fromMs, toMs));
      }
      await client.query('commit');
    }
    return created;
  });
}

function missingPartitions(
  { spanDays, aheadDays }: PartitionedTable,
  existing: readonly Partition[],
  nowMs: number,
): Pick<Partition, 'fromMs' | 'toMs'>[] {
  const missing: Pick<Partition, 'fromMs' | 'toMs'>[] = [];
  const spanMs = spanDays * DAY_MS;
  let fromMs = floorToSpan(nowMs - CLOCK_SKEW_MS, spanMs);
  while (fromMs < nowMs + aheadDays * DAY_MS) {
    const covering = existing.find((known) => known.fromMs <= fromMs && known.toMs > fromMs);
    if (covering) {
      fromMs = covering.toMs;
      continue;
    }
    // If the span was changed, a new partition may have to fit between existing ones.
    const nextMs = existing.map((known) => known.fromMs).filter((start) => start > fromMs);
    const toMs = Math.min(floorToSpan(fromMs, spanMs) + spanMs, ...nextMs);
    missing.push({ fromMs, toMs });
    fromMs = toMs;
  }
  return missing;
}

/**
 * Drops partitions whose newest row is past its retention; returns their names. A partition with an
 * unfinished delivery is kept: a message scheduled for next month must not lose its content.
 */
export async function dropExpired(
  pool: Pool,
  nowMs: number,
  retention: Retention,
  tables: readonly PartitionedTable[] = PARTITIONED_TABLES,
  wait: LockWait = {},
): Promise<string[]> {
  const expired = (partitions: Map<string, Partition[]>, one: PartitionedTable): Partition[] => {
    const days = retention[`${one.keep}Days`] + (one.keep === 'webhook' ? WEBHOOK_RETRY_DAYS : 0);
    const limitMs = nowMs - days * DAY_MS;
    return (partitions.get(one.table) ?? []).filter(({ toMs }) => toMs <= limitMs);
  };
  const known = await readPartitions(pool, tables);
  const isAnyExpired = tables.some((one) => expired(known, one).length > 0);
  if (!isAnyExpired && (await readDetached(pool, tables)).length === 0) return [];
  return withLock(pool, wait, async (client) => {
    const dropped: string[] = [];
    await dropDetached(client, tables);
    const partitions = await readPartitions(client, tables);
    for (const one of tables) {
      const { table, standalone = false } = one;
      for (const partition of expired(partitions, one)) {
        if (!standalone && (await hasUnfinished(client, partition))) continue;
        await dropPartition(client, table, partition);
        dropped.push(partition.name);
      }
    }
    return dropped;
  });
}

/**
 * Removes the partitions of the coming weeks of tables whose span was changed since they were created,
 * so that the next call of `ensurePartitions` creates them with the new one; returns their names. Only
 * a server's start does this: nodes with different settings would otherwise do it in turns.
 */
export async function dropFutureOfOtherSpan(
  pool: Pool,
  nowMs: number,
  tables: readonly PartitionedTable[] = PARTITIONED_TABLES,
  wait: LockWait = {},
): Promise<string[]> {
  const known = await readPartitions(pool, tables);
  const changed = tables.filter(({ table, spanDays }) => {
    const last = known.get(table)?.at(-1);
    return last && last.toMs - last.fromMs !== spanDays * DAY_MS;
  });
  if (changed.length === 0) return [];
  return withLock(pool, wait, async (client) => {
    const dropped: string[] = [];
    for (const { table } of changed) {
      const partitions = (await readPartitions(client, [{ table }])).get(table) ?? [];
      for (const partition of partitions) {
        if (partition.fromMs < nowMs + CLOCK_SKEW_MS) continue;
        const { rows } = await client.query(
          `select exists (select from ${partition.name}) as used`,
        );
        if (rows[0].used) continue;
        await dropPartition(client, table, partition);
        dropped.push(partition.name);
      }
    }
    return dropped;
  });
}

/** The time until which every table has partitions; 0 if one has none for the present. */
export async function partitionsEndMs(
  pool: Pool,
  nowMs: number,
  tables: readonly PartitionedTable[] = PARTITIONED_TABLES,
): Promise<number> {
  let reachMs = Number.POSITIVE_INFINITY;
  const partitions = await readPartitions(pool, tables);
  for (const { table } of tables) {
    let atMs = nowMs;
    for (const { fromMs, toMs } of partitions.get(table) ?? []) {
      if (fromMs <= atMs && toMs > atMs) atMs = toMs;
    }
    reachMs = Math.min(reachMs, atMs === nowMs ? 0 : atMs);
  }
  return reachMs;
}

/** The start of the oldest partition of a table. */
export async function partitionsStartMs(pool: Pool, table: string): Promise<number> {
  const [first] = (await readPartitions(pool, [{ table }])).get(table) ?? [];
  return first?.fromMs ?? Number.POSITIVE_INFINITY;
}

/** One node at a time creates or drops partitions; the others wait for as long as it takes. */
async function withLock<T>(
  pool: Pool,
  wait: LockWait,
  work: (client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  try {
    await withoutTimeouts(client);
    await acquireSessionLock(client, LOCKS.partitions, 'creating partitions', wait);
    // While an `alter table` waits for its lock, all later statements on the table queue behind it.
    await client.query(`set lock_timeout = '3s'`);
    return await work(client);
  } finally {
    // Closes the session, which releases the lock.
    client.release(true);
  }
}

function floorToSpan(ms: number, spanMs: number): number {
  return Math.floor((ms - MONDAY_MS) / spanMs) * spanMs + MONDAY_MS;
}

type TableName = Pick<PartitionedTable, 'table'>;

/** Partitions by table, each sorted by time. One statement, because every start reads all tables. */
async function readPartitions(
  db: Queryable,
  tables: readonly TableName[],
): Promise<Map<string, Partition[]>> {
  const { rows } = await db.query<PartitionRow>(
    `select parent.name as "table", c.relname as name,
            pg_get_expr(c.relpartbound, c.oid) as bound, i.inhdetachpending as detaching
       from unnest($1::text[]) as parent (name)
       join pg_inherits i on i.inhparent = parent.name::regclass
       join pg_class c on c.oid = i.inhrelid`,
    [tables.map(({ table }) => table)],
  );
  const partitions = rows
    .filter((row): row is PartitionRow & { bound: string } => row.bound !== null)
    .map(({ table, name, bound, detaching }) => {
      const [from, to] = [...bound.matchAll(/'([0-9a-f-]{36})'/g)].map((match) => match[1]);
      if (!from || !to) throw new Error(`Broken invariant: partition ${name} is bound by ${bound}`);
      return { table, name, fromMs: uuidTime(from), toMs: uuidTime(to), detaching };
    })
    .sort((a, b) => a.fromMs - b.fromMs);
  return Map.groupBy(partitions, ({ table }) => table);
}

interface PartitionRow {
  table: string;
  name: string;
  /** Null if another node has dropped the partition since the statement began. */
  bound: string | null;
  detaching: boolean;
}

/**
 * Creates the table first and then attaches it. `create table … partition of` would wait for all
 * running inserts and block new ones, which `attach` does not. Rows change once and then never again,
 * so the first vacuum that reads a page freezes it too, instead of another one that reads and writes
 * the whole table again when its transaction IDs are old.
 */
async function createPartition(
  client: pg.ClientBase,
  table: string,
  fromMs: number,
  toMs: number,
): Promise<string> {
  const day = new Date(fromMs).toISOString().slice(0, 10).replaceAll('-', '');
  const name = `${table}_p${day}`;
  const bounds = `from ('${uuidFloor(fromMs)}') to ('${uuidFloor(toMs)}')`;
  await client.query(
    `create table ${name} (like ${table} including all) with (autovacuum_freeze_min_age = 0)`,
  );
  await client.query(`alter table ${table} attach partition ${name} for values ${bounds}`);
  return name;
}

/** Whether a delivery of a message of this time is not final, so that its content is still needed. */
export async function hasUnfinished(
  db: Queryable,
  { fromMs, toMs }: Pick<Partition, 'fromMs' | 'toMs'>,
): Promise<boolean> {
  const { rows } = await db.query<{ unfinished: boolean }>(
    `select exists (
       select from deliveries
        where message_id >= $1 and message_id < $2
          and status in ('scheduled', 'queued', 'deferred')) as unfinished`,
    [uuidFloor(fromMs), uuidFloor(toMs)],
  );
  return rows[0]?.unfinished ?? true;
}

/** Detaches concurrently to allow inserts. After a crash it is pending and must be finalized. */
async function dropPartition(
  client: pg.ClientBase,
  table: string,
  { name, detaching }: Partition,
): Promise<void> {
  const how = detaching ? 'finalize' : 'concurrently';
  await client.query(`alter table ${table} detach partition ${name} ${how}`);
  await client.query(`drop table ${name}`);
}

async function dropDetached(client: pg.ClientBase, tables: readonly TableName[]): Promise<void> {
  for (const name of await readDetached(client, tables)) await client.query(`drop table ${name}`);
}

/** Partitions that were detached but not dropped because of a crash. */
async function readDetached(db: Queryable, tables: readonly TableName[]): Promise<string[]> {
  const { rows } = await db.query<{ name: string }>(
    `select c.relname as name
       from unnest($1::text[]) as partitioned (name)
       join pg_class parent on parent.oid = to_regclass(partitioned.name)
       join pg_class c on c.relnamespace = parent.relnamespace
        and left(c.relname, -length('_p20261231')) = partitioned.name
      where c.relkind = 'r' and not c.relispartition and c.relname ~ '_p[0-9]{8}$'
      order by c.relname`,
    [tables.map(({ table }) => table)],
  );
  return rows.map((row) => row.name);
}
