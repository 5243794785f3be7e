import { expect, test, vi } from 'vitest';
import { createTestDatabase } from '../../../test/harness/database/database.ts';
import { type Log, silentLog } from '../../lib/log.ts';
import { systemClock } from '../../lib/time/clock.ts';
import { ManualClock } from '../../lib/time/manual-clock.ts';
import { startPartitionMaintenance } from './partition-maintenance.ts';
import { partitionsEndMs } from './partitions.ts';

/** Maintains the real tables while the test advances the clock by weeks. */

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

test('partitions are created ahead and expired ones are dropped', async () => {
  await using db = await createTestDatabase();
  const { pool } = db;
  const clock = new ManualClock(systemClock.now());
  const retention = { recordDays: 14, contentDays: 3, webhookDays: 3, auditDays: 1_000 };
  await using _maintenance = await startPartitionMaintenance({
    pool,
    clock,
    log: silentLog,
    retention,
    partitionDays: 7,
  });
  const countOf = async (table: string) =>
    (
      await pool.query('select count(*) as n from pg_inherits where inhparent = $1::regclass', [
        table,
      ])
    ).rows[0].n as number;
  const before = { contents: await countOf('message_contents'), events: await countOf('events') };

  // Every poll advances the clock by an hour, because maintenance runs in real time.
  const eventually = (met: () => Promise<boolean>) =>
    vi.waitUntil(
      () => {
        clock.advance(HOUR_MS);
        return met();
      },
      { timeout: 50_000, interval: 100 },
    );
  for (let week = 1; week <= 4; week++) {
    clock.advance(7 * DAY_MS);
    await eventually(
      async () => (await partitionsEndMs(pool, clock.now())) > clock.now() + 8 * DAY_MS,
    );
  }
  await eventually(async () => (await countOf('message_contents')) <= before.contents + 4);
  expect(await countOf('events')).toBeLessThanOrEqual(before.events + 3);
});

test('a start with a clock that is years ahead deletes nothing', async () => {
  await using db = await createTestDatabase();
  const { pool } = db;
  const retention = { recordDays: 14, contentDays: 3, webhookDays: 3, auditDays: 1_000 };
  const partitions = async (): Promise<string[]> => {
    const { rows } = await pool.query(
      `select inhrelid::regclass::text as name from pg_inherits
        where inhparent in ('events'::regclass, 'message_contents'::regclass)`,
    );
    return rows.map(({ name }) => name);
  };
  const before = await partitions();
  const start = (clock: ManualClock, log: Log) =>
    startPartitionMaintenance({ pool, clock, log, retention, partitionDays: 7 });
  const right = new ManualClock(systemClock.now());
  await using first = await start(right, silentLog);
  right.advance(0);
  await expect
    .poll(async () => (await pool.query('select from retention_clock')).rowCount)
    .toBeGreaterThan(0);
  await first.stop();

  const wrong = new ManualClock(systemClock.now() + 3_650 * DAY_MS);
  const warned = vi.fn();
  await using second = await start(wrong, { ...silentLog, warn: warned } as Log);
  wrong.advance(0);
  await expect.poll(() => warned.mock.calls.length).toBeGreaterThan(0);
  await second.stop();
  expect(await partitions()).toEqual(expect.arrayContaining(before));
});

test('another span applies to the partitions that have not begun', async () => {
  await using db = await createTestDatabase();
  const { pool } = db;
  const clock = new ManualClock(systemClock.now());
  const retention = { recordDays: 14, contentDays: 3, webhookDays: 3, auditDays: 1_000 };
  const start = async (partitionDays: number) => {
    const log = silentLog;
    return startPartitionMaintenance({ pool, clock, log, retention, partitionDays });
  };
  /** Days between the starts of the last two partitions. */
  const lastSpan = async () => {
    const { rows } = await pool.query<{ days: number }>(
      `select start - lag(start) over (order by start) as days from (
         select to_date(right(inhrelid::regclass::text, 8), 'YYYYMMDD') as start
           from pg_inherits where inhparent = 'messages'::regclass) p
        order by start desc limit 1`,
    );
    return rows[0]?.days;
  };
  await using _weeks = await start(7);
  expect(await lastSpan()).toBe(7);
  await using _days = await start(1);
  expect(await lastSpan()).toBe(1);
  expect(await partitionsEndMs(pool, clock.now())).toBeGreaterThan(clock.now() + 9 * DAY_MS);
  await using _weeksAgain = await start(7);
  expect(await lastSpan()).toBe(7);
  expect(await partitionsEndMs(pool, clock.now())).toBeGreaterThan(clock.now() + 9 * DAY_MS);
});
