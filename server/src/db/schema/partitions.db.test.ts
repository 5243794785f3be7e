import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/harness/database/database.ts';
import { uuidFloor } from '../../lib/ids.ts';
import { type Log, silentLog } from '../../lib/log.ts';
import { openPool } from '../connections/pool.ts';
import { LOCK_CLASS, LOCKS } from '../lock-numbers.ts';
import {
  dropExpired,
  dropFutureOfOtherSpan,
  ensurePartitions,
  type PartitionedTable,
  partitionsEndMs,
} from './partitions.ts';

/** Two small tables replace the real ones; `deliveries` contains the unfinished deliveries. */

const DAY_MS = 86_400_000;
const NOW = Date.UTC(2026, 10, 12, 15, 30);
const RETENTION = { recordDays: 30, contentDays: 10, webhookDays: 30, auditDays: 1_000 };
const WEEKLY: PartitionedTable = {
  table: 'orders',
  spanDays: 7,
  aheadDays: 21,
  keep: 'record',
};
const DAILY: PartitionedTable = {
  table: 'order_contents',
  spanDays: 1,
  aheadDays: 3,
  keep: 'content',
};
const TABLES = [WEEKLY, DAILY];

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase({ empty: true });
});

beforeEach(async () => {
  await db.pool.query(`
    drop table if exists orders, order_contents, deliveries;
    create table orders (id uuid primary key, name text) partition by range (id);
    create index on orders (name);
    create table order_contents (id uuid primary key) partition by range (id);
    create table deliveries (message_id uuid, status text);`);
});

afterAll(async () => {
  await db[Symbol.asyncDispose]();
});

/** An id for any time; the real generator only creates ascending ids. */
const idAt = (ms: number) => uuidFloor(ms).slice(0, 24) + randomBytes(6).toString('hex');

const insert = (table: string, ms: number) =>
  db.pool.query(`insert into ${table} (id) values ($1)`, [idAt(ms)]);

describe('partitions ahead', () => {
  test('cover yesterday to the target day without gaps, with weeks starting on Mondays', async () => {
    expect(await ensurePartitions(db.pool, NOW, TABLES)).toEqual([
      'orders_p20261109',
      'orders_p20261116',
      'orders_p20261123',
      'orders_p20261130',
      'order_contents_p20261111',
      'order_contents_p20261112',
      'order_contents_p20261113',
      'order_contents_p20261114',
      'order_contents_p20261115',
    ]);
    const midnight = Date.UTC(2026, 10, 13);
    for (const ms of [NOW - DAY_MS, NOW, midnight - 1, midnight, NOW + 3 * DAY_MS]) {
      for (const { table } of TABLES) await insert(table, ms);
    }
    await expect(insert('order_contents', NOW - 2 * DAY_MS)).rejects.toMatchObject({
      code: '23514',
    });
  });

  test('are created once when several nodes run concurrently', async () => {
    const nodes = Array.from({ length: 3 }, () =>
      openPool({ hosts: [{ connectionString: db.url }], log: silentLog }),
    );
    const created = await Promise.all(nodes.map((pool) => ensurePartitions(pool, NOW, TABLES)));
    expect(created.map((names) => names.length).toSorted()).toEqual([0, 0, 9]);
    await Promise.all(nodes.map((pool) => pool.end()));
    expect(await ensurePartitions(db.pool, NOW, TABLES)).toEqual([]);
    expect(await ensurePartitions(db.pool, NOW + DAY_MS, TABLES)).toEqual([
      'order_contents_p20261116',
    ]);
  });

  test('wait for a node that takes longer than the lock timeout, unless the start is aborted', async () => {
    const nodes = openPool({ hosts: [{ connectionString: db.url }], log: silentLog });
    const slow = await nodes.connect();
    await slow.query(`select pg_advisory_lock(${LOCK_CLASS}, ${LOCKS.partitions})`);
    const logged: string[] = [];
    const log = { info: (message: string) => logged.push(message) } as unknown as Log;
    const abort = new AbortController();
    const aborted = ensurePartitions(nodes, NOW, TABLES, { log, signal: abort.signal });
    const waiting = ensurePartitions(nodes, NOW, TABLES);
    const settled = Promise.allSettled([aborted, waiting]);
    await slow.query('select pg_sleep(3.2)');
    abort.abort();
    await expect(aborted).rejects.toBe(abort.signal.reason);
    slow.release(true);
    expect(await waiting).toHaveLength(9);
    await settled;
    await nodes.end();
    expect(logged).toEqual(['waiting for another node to finish creating partitions']);
  });

  test('have the indexes of their table', async () => {
    await ensurePartitions(db.pool, NOW, TABLES);
    const { rows } = await db.pool.query(
      `select count(*) as n from pg_inherits i join pg_class c on c.oid = i.inhparent
        where c.relkind = 'I' and c.relname like 'orders_%'`,
    );
    expect(rows).toEqual([{ n: 8 }]);
  });

  test('fit between existing ones of another span', async () => {
    await ensurePartitions(db.pool, NOW, [{ ...WEEKLY, spanDays: 1, aheadDays: 2 }]);
    expect(await ensurePartitions(db.pool, NOW, [WEEKLY])).toEqual([
      'orders_p20261109',
      'orders_p20261115',
      'orders_p20261116',
      'orders_p20261123',
      'orders_p20261130',
    ]);
    for (let day = -1; day < 21; day++) await insert('orders', NOW + day * DAY_MS);
  });

  test('are created while other sessions write to the table', async () => {
    await ensurePartitions(db.pool, NOW, [WEEKLY]);
    const writer = await db.pool.connect();
    await writer.query('begin');
    await writer.query('insert into orders (id) values ($1)', [idAt(NOW)]);
    const created = await ensurePartitions(db.pool, NOW + 7 * DAY_MS, [WEEKLY]);
    await writer.query('commit');
    writer.release();
    expect(created).toEqual(['orders_p20261207']);
  });

  test('report until when they exist', async () => {
    expect(await partitionsEndMs(db.pool, NOW, TABLES)).toBe(0);
    await ensurePartitions(db.pool, NOW, TABLES);
    expect(await partitionsEndMs(db.pool, NOW, TABLES)).toBe(Date.UTC(2026, 10, 16));
    expect(await partitionsEndMs(db.pool, NOW, [WEEKLY])).toBe(Date.UTC(2026, 11, 7));
    expect(await partitionsEndMs(db.pool, NOW + 90 * DAY_MS, TABLES)).toBe(0);
  });

  test('of another span replace those that have not begun and are empty', async () => {
    const weekly = [WEEKLY];
    const daily = [{ ...WEEKLY, spanDays: 1, aheadDays: 10 }];
    await ensurePartitions(db.pool, NOW, weekly);
    await insert('orders', Date.UTC(2026, 10, 24));
    expect(await dropFutureOfOtherSpan(db.pool, NOW, weekly)).toEqual([]);
    expect(await dropFutureOfOtherSpan(db.pool, NOW, daily)).toEqual([
      'orders_p20261116',
      'orders_p20261130',
    ]);
    expect(await ensurePartitions(db.pool, NOW, daily)).toEqual([
      ...[16, 17, 18, 19, 20, 21, 22].map((day) => `orders_p202611${day}`),
    ]);
    for (let day = 0; day < 10; day++) await insert('orders', NOW + day * DAY_MS);
  });

  test('are created in the place of those that a crash left detached', async () => {
    await ensurePartitions(db.pool, NOW, [WEEKLY]);
    await db.pool.query('alter table orders detach partition orders_p20261116');
    expect(await ensurePartitions(db.pool, NOW, [WEEKLY])).toEqual(['orders_p20261116']);
    await insert('orders', NOW + 7 * DAY_MS);
  });

  test('freeze their rows with the first vacuum', async () => {
    await ensurePartitions(db.pool, NOW, [WEEKLY]);
    const { rows } = await db.pool.query(
      `select reloptions from pg_class where oid = 'orders_p20261109'::regclass`,
    );
    expect(rows).toEqual([{ reloptions: ['autovacuum_freeze_min_age=0'] }]);
  });
});

describe('partitions past their retention', () => {
  test('are dropped after the retention of their table, not a day early', async () => {
    await ensurePartitions(db.pool, NOW, TABLES);
    const contentsEnd = Date.UTC(2026, 10, 13) + RETENTION.contentDays * DAY_MS;
    expect(await dropExpired(db.pool, contentsEnd - DAY_MS - 1, RETENTION, TABLES)).toEqual([]);
    expect(await dropExpired(db.pool, contentsEnd - DAY_MS, RETENTION, TABLES)).toEqual([
      'order_contents_p20261111',
    ]);
    expect(await dropExpired(db.pool, contentsEnd, RETENTION, TABLES)).toEqual([
      'order_contents_p20261112',
    ]);
    const lettersEnd = Date.UTC(2026, 10, 16) + RETENTION.recordDays * DAY_MS;
    expect(await dropExpired(db.pool, lettersEnd - 1, RETENTION, [WEEKLY])).toEqual([]);
    expect(await dropExpired(db.pool, lettersEnd, RETENTION, [WEEKLY])).toEqual([
      'orders_p20261109',
    ]);
  });

  test('of webhooks are kept until the retention of the last attempt is over', async () => {
    await ensurePartitions(db.pool, NOW, TABLES);
    const webhooks = { ...WEEKLY, keep: 'webhook' } as const;
    const triesEnd = Date.UTC(2026, 10, 16) + (4 + RETENTION.webhookDays) * DAY_MS;
    expect(await dropExpired(db.pool, triesEnd - 1, RETENTION, [webhooks])).toEqual([]);
    expect(await dropExpired(db.pool, triesEnd, RETENTION, [webhooks])).toEqual([
      'orders_p20261109',
    ]);
  });

  test('are kept while they contain an unfinished delivery', async () => {
    await ensurePartitions(db.pool, NOW, TABLES);
    await db.pool.query(`insert into deliveries values ($1, 'scheduled')`, [idAt(NOW)]);
    const later = NOW + 12 * DAY_MS;
    expect(await dropExpired(db.pool, later, RETENTION, TABLES)).toEqual([
      'order_contents_p20261111',
      'order_contents_p20261113',
    ]);
    await db.pool.query(`update deliveries set status = 'delivered'`);
    expect(await dropExpired(db.pool, later, RETENTION, TABLES)).toEqual([
      'order_contents_p20261112',
    ]);
  });

  test('that a crash left detached are dropped by the next run', async () => {
    await ensurePartitions(db.pool, NOW, TABLES);
    await db.pool.query('alter table order_contents detach partition order_contents_p20261111');
    await dropExpired(db.pool, NOW, RETENTION, TABLES);
    const { rows } = await db.pool.query(
      `select to_regclass('order_contents_p20261111') is null as gone`,
    );
    expect(rows).toEqual([{ gone: true }]);
  });
});
