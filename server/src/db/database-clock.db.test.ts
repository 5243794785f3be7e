import { expect, test } from 'vitest';
import { createTestDatabase } from '../../test/harness/database/database.ts';
import { silentLog } from '../lib/log.ts';
import { correctedOffset, DatabaseClock } from './database-clock.ts';

const HOUR_MS = 3_600_000;

test.each([-HOUR_MS, HOUR_MS])(
  'a clock that is wrong by %d ms gets the time of the database',
  async (wrongByMs) => {
    await using db = await createTestDatabase();
    const right = new DatabaseClock({ pool: db.pool, log: silentLog });
    const offsetMs = right.offsetMs + wrongByMs;
    const clock = new DatabaseClock({ pool: db.pool, log: silentLog, offsetMs });
    await clock.synchronize();
    const { rows: before } = await db.pool.query('select clock_timestamp() as now');
    const now = clock.now();
    const { rows: after } = await db.pool.query('select clock_timestamp() as now');
    // The first request took this long at most, and the correction is not more exact than that.
    expect(now).toBeGreaterThan(before[0].now - HOUR_MS / 2);
    expect(now).toBeLessThan(after[0].now + HOUR_MS / 2);
    await Promise.all([right.stop(), clock.stop()]);
  },
);

test('a clock is corrected only as far as a reading proves it wrong', () => {
  const reading = { databaseMs: 10_000, sentAtMs: 1_000, receivedAtMs: 1_200 };
  // Anything from 8,800 to 9,001 is possible.
  expect(correctedOffset(8_900, reading)).toBe(8_900);
  expect(correctedOffset(8_800, reading)).toBe(8_800);
  expect(correctedOffset(0, reading)).toBe(8_800);
  expect(correctedOffset(50_000, reading)).toBe(9_001);
});
