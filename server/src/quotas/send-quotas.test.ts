import { expect, test } from 'vitest';
import { ManualClock } from '../lib/time/manual-clock.ts';
import { CountedQuota } from './counted-quota.ts';
import { MessageQuotas } from './message-quotas.ts';
import { contentQuotaExceeded, NO_QUOTAS, type Quotas } from './quota.ts';
import { SendQuotas } from './send-quotas.ts';

/** A workspace with these quotas on a single node, which leases all messages at once. */
function setUp(given: Partial<Quotas> | undefined) {
  const clock = new ManualClock(1_000_000);
  const quotas = given && { ...NO_QUOTAS, ...given };
  const state = { leasable: quotas?.messages_per_hour ?? 0 };
  const messages = new MessageQuotas({
    clock,
    maxAgeMs: () => 60_000,
    read: async () => ({ quotas, endsAtMs: Infinity }),
    async lease(_workspaceId, { messages_per_hour: limit }) {
      const granted = state.leasable;
      state.leasable = 0;
      const exhausted = 'messages_per_hour';
      return granted > 0 ? { granted } : { granted: 0, left: 0, exhausted, limit: limit ?? 0 };
    },
    giveBack: async () => {},
  });
  const contentBytes = new CountedQuota({
    clock,
    limitOf: () => quotas?.content_bytes ?? null,
    count: async () => 0,
    refuse: contentQuotaExceeded,
  });
  const sends = new SendQuotas({ messages, contentBytes });
  const charge = (count: number, bytes = 1) =>
    sends.charge({ workspaceId: 'w', messages: count, recipientsMax: 1, contentBytes: bytes });
  return { sends, charge };
}

test.each([
  [undefined, false],
  [{ contacts: 1, requests_per_second: 1 }, false],
  [{ messages_per_month: 1 }, true],
  [{ recipients_per_message: 1 }, true],
  [{ content_bytes: 1 }, true],
])('quotas %o limit sending: %o', async (quotas, limited) => {
  const { sends } = setUp(quotas);
  expect(await sends.isLimited('w')).toBe(limited);
  // Cached now, so the caller does not wait.
  expect(sends.isLimited('w')).toBe(limited);
});

test.each([
  [true, 1],
  [false, 3],
  ['unknown', 1],
] as const)(
  'of three messages, after two that were stored: %o, %i are left',
  async (stored, left) => {
    const { charge } = setUp({ messages_per_hour: 3 });
    (await charge(2)).settle(stored);
    await charge(left);
    await expect(charge(1)).rejects.toMatchObject({ code: 'quota_exceeded' });
  },
);

test('content that was not stored can be stored later', async () => {
  const { charge } = setUp({ content_bytes: 100 });
  await expect(charge(1, 101)).rejects.toMatchObject({ code: 'quota_exceeded' });
  (await charge(1, 100)).settle(false);
  (await charge(1, 100)).settle(true);
  await expect(charge(1, 1)).rejects.toMatchObject({ code: 'quota_exceeded' });
});

test('content is returned when the messages are refused', async () => {
  const { charge } = setUp({ messages_per_hour: 1, content_bytes: 100 });
  await expect(charge(2, 100)).rejects.toMatchObject({ code: 'quota_exceeded' });
  await charge(1, 100);
});

test('test mail counts for no quota of messages', async () => {
  const { charge } = setUp({ messages_per_hour: 1 });
  for (const _ of [1, 2, 3]) (await charge(0)).settle(true);
  await charge(1);
  await expect(charge(1)).rejects.toMatchObject({ code: 'quota_exceeded' });
});
