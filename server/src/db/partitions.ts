import type pg from 'pg';
import { uuidFloor, uuidTime } from '../lib/ids.ts';
import { type Pool, withoutTimeouts } from './pool.ts';

/**
 * Tables that grow with every message are cut into ranges of time by the UUIDv7 in their key. This
 * file makes the ranges that lie ahead and drops whole ones past their retention. There is no
 * default partition: rows in one would block the making of the right partition for ever. So the
 * ranges reach weeks ahead, `partitionsReach` tells how far, and readiness watches it.
 */
export interface PartitionedTable {
  table: string;
  /** How many days one partition holds. */
  spanDays: number;
  /** How many days ahead partitions are made. */
  aheadDays: number;
  keep: 'record' | 'content' | 'webhook';
}

export interface Retention {
  /** Messages, deliveries, attempts, events. */
  recordDays: number;
  /** What was in the message. */
  contentDays: number;
  /** What was sent to webhooks, and what they answered. */
  webhookDays: number;
}

const WEEKLY = { spanDays: 7, aheadDays: 35 } as const;
const DAILY = { spanDays: 1, aheadDays: 10 } as const;

export const PARTITIONED_TABLES: readonly PartitionedTable[] = [
  { table: 'messages', ...WEEKLY, keep: 'record' },
  { table: 'deliveries', ...WEEKLY, keep: 'record' },
  { table: 'attempts', ...WEEKLY, keep: 'record' },
  { table: 'events', ...WEEKLY, keep: 'record' },
  { table: 'message_contents', ...DAILY, keep: 'content' },
  { table: 'message_attachments', ...DAILY, keep: 'content' },
  { table: 'test_inbox', ...WEEKLY, keep: 'content' },
  { table: 'webhook_deliveries', ...WEEKLY, keep: 'webhook' },
  { table: 'webhook_attempts', ...WEEKLY, keep: 'webhook' },
];

const DAY_MS = 86_400_000;
/** The epoch was a Thursday; spans of a week begin on a Monday. */
const MONDAY_MS = 4 * DAY_MS;
/** Another node's clock may lag behind ours. */
const BEHIND_MS = DAY_MS;
/** Rows lie by the time of their event, and the last try of a webhook comes days after that. */
const TRIED_FOR_DAYS = 4;
/** ("post", 4): one node at a time makes or drops partitions. */
const LOCK = '1886352244, 4';

interface Partition {
  name: string;
  fromMs: number;
  toMs: number;
  detaching: boolean;
}

/** Makes what is missing from a day ago to well ahead; returns the names of the new partitions. */
export async function ensurePartitions(
  pool: Pool,
  nowMs: number,
  tables: readonly PartitionedTable[] = PARTITIONED_TABLES,
): Promise<string[]> {
  return withLock(pool, async (client) => {
    const made: string[] = [];
    for (const { table, spanDays, aheadDays } of tables) {
      const existing = await partitionsOf(client, table);
      const spanMs = spanDays * DAY_MS;
      let fromMs = floorToSpan(nowMs - BEHIND_MS, spanMs);
      await client.query('begin');
      while (fromMs < nowMs + aheadDays * DAY_MS) {
        const covering = existing.find((known) => known.fromMs <= fromMs && known.toMs > fromMs);
        if (covering) {
          fromMs = covering.toMs;
          continue;
        }
        // After a change of the span a range may begin in the middle of an old one.
        const nextMs = existing.map((known) => known.fromMs).filter((start) => start > fromMs);
        const toMs = Math.min(floorToSpan(fromMs, spanMs) + spanMs, ...nextMs);
        made.push(await makePartition(client, table, fromMs, toMs));
        fromMs = toMs;
      }
      await client.query('commit');
    }
    return made;
  });
}

/**
 * Drops partitions whose youngest row is past its retention; returns their names. One that still
 * holds an unfinished delivery stays, whatever its age: a message scheduled for a month ahead must
 * not lose its content on the way.
 */
export async function dropExpired(
  pool: Pool,
  nowMs: number,
  retention: Retention,
  tables: readonly PartitionedTable[] = PARTITIONED_TABLES,
): Promise<string[]> {
  return withLock(pool, async (client) => {
    const dropped: string[] = [];
    for (const { table, keep } of tables) {
      const days = retention[`${keep}Days`] + (keep === 'webhook' ? TRIED_FOR_DAYS : 0);
      const limitMs = nowMs - days * DAY_MS;
      for (const name of await detachedOf(client, table)) await client.query(`drop table ${name}`);
      for (const partition of await partitionsOf(client, table)) {
        if (partition.toMs > limitMs || (await hasUnfinished(client, partition))) continue;
        await detach(client, table, partition);
        await client.query(`drop table ${partition.name}`);
        dropped.push(partition.name);
      }
    }
    return dropped;
  });
}

/** Until when, at the least, every table has a place for new rows; 0 when one has none now. */
export async function partitionsReach(
  pool: Pool,
  nowMs: number,
  tables: readonly PartitionedTable[] = PARTITIONED_TABLES,
): Promise<number> {
  const client = await pool.connect();
  try {
    let reachMs = Number.POSITIVE_INFINITY;
    for (const { table } of tables) {
      let atMs = nowMs;
      for (const { fromMs, toMs } of await partitionsOf(client, table)) {
        if (fromMs <= atMs && toMs > atMs) atMs = toMs;
      }
      reachMs = Math.min(reachMs, atMs === nowMs ? 0 : atMs);
    }
    return reachMs;
  } finally {
    client.release();
  }
}

/** The time of the oldest rows that a table has a place for. */
export async function partitionsBegin(pool: Pool, table: string): Promise<number> {
  const client = await pool.connect();
  try {
    const [first] = await partitionsOf(client, table);
    return first?.fromMs ?? Number.POSITIVE_INFINITY;
  } finally {
    client.release();
  }
}

async function withLock<T>(pool: Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  try {
    // An `alter table` that waits makes every later statement on the table wait behind it.
    await client.query(`set lock_timeout = '3s'`);
    await withoutTimeouts(client);
    await client.query(`select pg_advisory_lock(${LOCK})`);
    return await work(client);
  } finally {
    // Ends the session, and with it the lock and the settings above.
    client.release(true);
  }
}

function floorToSpan(ms: number, spanMs: number): number {
  return Math.floor((ms - MONDAY_MS) / spanMs) * spanMs + MONDAY_MS;
}

/** In order of time. */
async function partitionsOf(client: pg.ClientBase, table: string): Promise<Partition[]> {
  const { rows } = await client.query<{ name: string; bound: string; detaching: boolean }>(
    `select c.relname as name, pg_get_expr(c.relpartbound, c.oid) as bound,
            i.inhdetachpending as detaching
       from pg_inherits i join pg_class c on c.oid = i.inhrelid
      where i.inhparent = $1::regclass`,
    [table],
  );
  return rows
    .map(({ name, bound, detaching }) => {
      const [from, to] = [...bound.matchAll(/'([0-9a-f-]{36})'/g)].map((match) => match[1]);
      if (!from || !to) throw new Error(`Broken invariant: partition ${name} is bound by ${bound}`);
      return { name, fromMs: uuidTime(from), toMs: uuidTime(to), detaching };
    })
    .sort((a, b) => a.fromMs - b.fromMs);
}

/**
 * Made beside the parent and then attached: `create table … partition of` would lock out every
 * insert, and wait for all that run, while `attach` lets them go on.
 */
async function makePartition(
  client: pg.ClientBase,
  table: string,
  fromMs: number,
  toMs: number,
): Promise<string> {
  const day = new Date(fromMs).toISOString().slice(0, 10).replaceAll('-', '');
  const name = `${table}_p${day}`;
  const bounds = `from ('${uuidFloor(fromMs)}') to ('${uuidFloor(toMs)}')`;
  await client.query(`create table ${name} (like ${table} including all)`);
  await client.query(`alter table ${table} attach partition ${name} for values ${bounds}`);
  return name;
}

async function hasUnfinished(client: pg.ClientBase, partition: Partition): Promise<boolean> {
  const { rows } = await client.query<{ unfinished: boolean }>(
    `select exists (
       select from deliveries
        where message_id >= $1 and message_id < $2
          and status in ('scheduled', 'queued', 'deferred')) as unfinished`,
    [uuidFloor(partition.fromMs), uuidFloor(partition.toMs)],
  );
  return rows[0]?.unfinished ?? true;
}

/** Concurrently, so that inserts go on; a crash half-way leaves it pending, to be finished. */
async function detach(client: pg.ClientBase, table: string, partition: Partition): Promise<void> {
  const how = partition.detaching ? 'finalize' : 'concurrently';
  await client.query(`alter table ${table} detach partition ${partition.name} ${how}`);
}

/** Partitions that a crash left between detaching and dropping. */
async function detachedOf(client: pg.ClientBase, table: string): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select c.relname as name
       from pg_class c join pg_class parent on parent.oid = to_regclass($1)
      where c.relnamespace = parent.relnamespace and c.relkind = 'r' and not c.relispartition
        and c.relname ~ ('^' || $1 || '_p[0-9]{8}$')`,
    [table],
  );
  return rows.map((row) => row.name);
}
