import { expect, test } from 'vitest';
import { ManualClock } from '../lib/time/manual-clock.ts';
import { CountedQuota } from './counted-quota.ts';
import { contactQuotaExceeded } from './quota.ts';

function setup(limit: number | null) {
  const clock = new ManualClock(0);
  const stored = { contacts: 0, counts: 0 };
  const quota = new CountedQuota({
    clock,
    limitOf: () => limit,
    refuse: contactQuotaExceeded,
    count: async (_, max) => {
      stored.counts += 1;
      return Math.min(max, stored.contacts);
    },
  });
  const create = async (): Promise<string | undefined> => {
    const { granted, refusal, settle } = await quota.reserve('w', 1);
    stored.contacts += granted;
    settle(granted);
    return refusal?.code;
  };
  return { clock, stored, quota, create };
}

test('without a quota nothing is counted', async () => {
  const { stored, quota } = setup(null);
  expect((await quota.reserve('w', 5)).granted).toBe(5);
  expect(stored.counts).toBe(0);
});

test('contacts are created up to the quota, with few counts', async () => {
  const { stored, create } = setup(100);
  for (let index = 0; index < 100; index++) expect(await create()).toBeUndefined();
  expect(await create()).toBe('quota_exceeded');
  expect(stored).toMatchObject({ contacts: 100 });
  expect(stored.counts).toBeLessThan(50);
});

test('a refusal holds for some seconds without counting', async () => {
  const { clock, stored, create } = setup(1);
  expect([await create(), await create()]).toEqual([undefined, 'quota_exceeded']);
  const { counts } = stored;
  expect(await create()).toBe('quota_exceeded');
  expect(stored.counts).toBe(counts);
  stored.contacts = 0;
  clock.advance(10_000);
  expect(await create()).toBeUndefined();
});

test('an import gets what is left, and returns what it did not use', async () => {
  const { stored, quota } = setup(10);
  const reservation = await quota.reserve('w', 25);
  expect(reservation.granted).toBe(10);
  expect((await quota.reserve('w', 1)).granted).toBe(0);
  stored.contacts = 6;
  reservation.settle(6);
  expect((await quota.reserve('w', 3)).granted).toBe(3);
});

test('concurrent requests together get the whole quota, and no more', async () => {
  const { stored, quota } = setup(3);
  const reservations = await Promise.all(Array.from({ length: 20 }, () => quota.reserve('w', 1)));
  const granted = reservations.reduce((sum, reservation) => sum + reservation.granted, 0);
  expect([granted, stored.contacts]).toEqual([3, 0]);
});
