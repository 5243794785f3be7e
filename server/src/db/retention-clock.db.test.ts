import { expect, test } from 'vitest';
import { createTestDatabase } from '../../test/harness/database.ts';
import { checkRetentionClock } from './retention-clock.ts';

const DAY_MS = 86_400_000;
const NOW = Date.UTC(2026, 10, 12);
const LATER = NOW + 3_650 * DAY_MS;

test('time that passes is believed, a leap only when the clock has stood by it for days', async () => {
  await using db = await createTestDatabase();
  const at = (ms: number) => checkRetentionClock(db.pool, ms);
  const doubted = { doubtedSinceMs: LATER, seenAtMs: NOW + 9 * DAY_MS };
  for (const days of [0, 1, 9]) {
    expect(await at(NOW + days * DAY_MS)).toEqual({ nowMs: NOW + days * DAY_MS });
  }
  expect(await at(LATER)).toEqual(doubted);
  expect(await at(LATER + 2 * DAY_MS)).toEqual(doubted);
  expect(await at(LATER + 3 * DAY_MS)).toEqual({ nowMs: LATER + 3 * DAY_MS });
  expect(await at(LATER + 4 * DAY_MS)).toEqual({ nowMs: LATER + 4 * DAY_MS });
});

test('another leap is another doubt, and a node with the right time ends it', async () => {
  await using db = await createTestDatabase();
  const at = (ms: number) => checkRetentionClock(db.pool, ms);
  await at(NOW);
  expect(await at(LATER)).toHaveProperty('doubtedSinceMs', LATER);
  expect(await at(LATER + 400 * DAY_MS)).toHaveProperty('doubtedSinceMs', LATER + 400 * DAY_MS);
  expect(await at(LATER + DAY_MS)).toHaveProperty('doubtedSinceMs', LATER + DAY_MS);
  expect(await at(NOW + DAY_MS)).toEqual({ nowMs: NOW + DAY_MS });
  expect(await at(LATER + 4 * DAY_MS)).toHaveProperty('doubtedSinceMs', LATER + 4 * DAY_MS);
});

test('a clock that was set back counts from where it is', async () => {
  await using db = await createTestDatabase();
  const at = (ms: number) => checkRetentionClock(db.pool, ms);
  await at(LATER);
  expect(await at(NOW)).toEqual({ nowMs: NOW });
  expect(await at(LATER)).toHaveProperty('seenAtMs', NOW);
});
