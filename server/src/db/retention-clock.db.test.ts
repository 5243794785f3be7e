import { expect, test } from 'vitest';
import { createTestDatabase } from '../../test/harness/database/database.ts';
import { checkRetentionClock } from './retention-clock.ts';

const DAY_MS = 86_400_000;
const NOW = Date.UTC(2026, 10, 12);
const LATER = NOW + 3_650 * DAY_MS;

test('elapsed time is accepted at once, a jump only after days of confirmation', async () => {
  await using db = await createTestDatabase();
  const at = (ms: number) => checkRetentionClock(db.pool, ms);
  const unconfirmed = { jumpSeenAtMs: LATER, lastSeenAtMs: NOW + 9 * DAY_MS };
  for (const days of [0, 1, 9]) {
    expect(await at(NOW + days * DAY_MS)).toEqual({ nowMs: NOW + days * DAY_MS });
  }
  expect(await at(LATER)).toEqual(unconfirmed);
  expect(await at(LATER + 2 * DAY_MS)).toEqual(unconfirmed);
  expect(await at(LATER + 3 * DAY_MS)).toEqual({ nowMs: LATER + 3 * DAY_MS });
  expect(await at(LATER + 4 * DAY_MS)).toEqual({ nowMs: LATER + 4 * DAY_MS });
});

test('each jump needs its own confirmation, and a node with the right time resets it', async () => {
  await using db = await createTestDatabase();
  const at = (ms: number) => checkRetentionClock(db.pool, ms);
  await at(NOW);
  expect(await at(LATER)).toHaveProperty('jumpSeenAtMs', LATER);
  expect(await at(LATER + 400 * DAY_MS)).toHaveProperty('jumpSeenAtMs', LATER + 400 * DAY_MS);
  expect(await at(LATER + DAY_MS)).toHaveProperty('jumpSeenAtMs', LATER + DAY_MS);
  expect(await at(NOW + DAY_MS)).toEqual({ nowMs: NOW + DAY_MS });
  expect(await at(LATER + 4 * DAY_MS)).toHaveProperty('jumpSeenAtMs', LATER + 4 * DAY_MS);
});

test('a clock that was set back is accepted', async () => {
  await using db = await createTestDatabase();
  const at = (ms: number) => checkRetentionClock(db.pool, ms);
  await at(LATER);
  expect(await at(NOW)).toEqual({ nowMs: NOW });
  expect(await at(LATER)).toHaveProperty('lastSeenAtMs', NOW);
});
