import { expect, test } from 'vitest';
import { ManualClock } from '../lib/time/manual-clock.ts';
import { type LeaseResult, MessageQuotas } from './message-quotas.ts';
import { HOUR_MS, NO_QUOTAS, type Quotas } from './quota.ts';
import { decideLease } from './quota-leases.ts';

/** Nodes and the database that they lease from, which counts the queries. */
function setup(quotas: Quotas | undefined) {
  const clock = new ManualClock(Date.parse('2026-11-15T09:30:00.000Z'));
  const ledger = { hours: new Map<number, number>(), queries: 0, returned: 0 };
  const hourOf = (): number => Math.floor(clock.now() / HOUR_MS);
  const node = () =>
    new MessageQuotas({
      clock,
      maxAgeMs: () => 60_000,
      read: async () => ({ quotas, endsAtMs: Infinity }),
      lease: async (_, wanted, messages): Promise<LeaseResult> => {
        ledger.queries += 1;
        const leased = ledger.hours.get(hourOf()) ?? 0;
        const usage = {
          messages_per_hour: leased,
          messages_per_day: leased,
          messages_per_month: leased,
        };
        const result = decideLease(wanted, usage, messages);
        ledger.hours.set(hourOf(), leased + result.granted);
        return result;
      },
      giveBack: async (_workspace, hourMs, messages) => {
        ledger.returned += messages;
        const hour = hourMs / HOUR_MS;
        ledger.hours.set(hour, (ledger.hours.get(hour) ?? 0) - messages);
      },
    });
  return { clock, ledger, node };
}

const admit = async (node: MessageQuotas, messages = 1, recipients = 1): Promise<boolean> => {
  try {
    await node.admit('w', messages, recipients);
    return true;
  } catch {
    return false;
  }
};

test('without quotas nothing is leased, and the second send does not wait', async () => {
  const { ledger, node } = setup(undefined);
  const one = node();
  await one.admit('w', 1, 1);
  expect(one.admit('w', 1, 1)).toBeUndefined();
  expect(ledger.queries).toBe(0);
});

test('two nodes together accept no more than the quota, with one query per chunk', async () => {
  const { ledger, node } = setup({ ...NO_QUOTAS, messages_per_hour: 1_000 });
  const nodes = [node(), node()];
  let accepted = 0;
  for (let index = 0; index < 3_000; index++) {
    if (await admit(nodes[index % 2] as MessageQuotas)) accepted += 1;
  }
  expect(accepted).toBe(1_000);
  // 100 chunks of 10, and one refusal for each node.
  expect(ledger.queries).toBe(102);
});

test('concurrent sends share a lease', async () => {
  const { ledger, node } = setup({ ...NO_QUOTAS, messages_per_hour: 10_000 });
  const one = node();
  const all = await Promise.all(Array.from({ length: 100 }, () => admit(one)));
  expect(all.every(Boolean)).toBe(true);
  expect(ledger.queries).toBe(1);
});

test('a batch is admitted as a whole, and a smaller one may still fit', async () => {
  const { node } = setup({ ...NO_QUOTAS, messages_per_hour: 10 });
  const one = node();
  expect(await admit(one, 7)).toBe(true);
  expect(await admit(one, 4)).toBe(false);
  expect(await admit(one, 3)).toBe(true);
  expect(await admit(one)).toBe(false);
});

test('the next hour has a quota of its own', async () => {
  const { clock, node } = setup({ ...NO_QUOTAS, messages_per_hour: 1 });
  const one = node();
  expect([await admit(one), await admit(one)]).toEqual([true, false]);
  clock.advance(HOUR_MS);
  expect(await admit(one)).toBe(true);
});

test('messages that were not accepted are refunded, and the rest is returned at the end', async () => {
  const { ledger, node } = setup({ ...NO_QUOTAS, messages_per_hour: 1_000 });
  const one = node();
  await one.admit('w', 2, 1);
  one.refund('w', 1);
  await one.release();
  expect(ledger.returned).toBe(9);
});

test('a changed quota ends a refusal', async () => {
  const quotas = { ...NO_QUOTAS, messages_per_hour: 1 };
  const { node } = setup(quotas);
  const one = node();
  expect([await admit(one), await admit(one)]).toEqual([true, false]);
  quotas.messages_per_hour = 2;
  one.invalidateWorkspace('w');
  expect(await admit(one)).toBe(true);
});

test('a lowered quota takes back what was leased', async () => {
  const quotas = { ...NO_QUOTAS, messages_per_hour: 1_000 };
  const { ledger, node } = setup(quotas);
  const one = node();
  expect(await admit(one, 2)).toBe(true);
  quotas.messages_per_hour = 3;
  one.invalidateWorkspace('w');
  expect(ledger.returned).toBe(8);
  expect([await admit(one), await admit(one)]).toEqual([true, false]);
});

test('recipients per message are limited without a lease', async () => {
  const { ledger, node } = setup({ ...NO_QUOTAS, recipients_per_message: 2 });
  const one = node();
  expect([await admit(one, 1, 2), await admit(one, 1, 3)]).toEqual([true, false]);
  expect(ledger.queries).toBe(0);
});

test('quotas that end at a time, such as those of probation, are read again then', async () => {
  const clock = new ManualClock(0);
  let limit = 1;
  const node = new MessageQuotas({
    clock,
    maxAgeMs: () => HOUR_MS,
    read: async () => ({
      quotas: { ...NO_QUOTAS, recipients_per_message: limit },
      endsAtMs: limit === 1 ? 10_000 : Infinity,
    }),
    lease: async () => ({ granted: 1 }),
    giveBack: async () => {},
  });
  expect(await admit(node, 1, 2)).toBe(false);
  limit = 2;
  clock.advance(9_999);
  expect(await admit(node, 1, 2)).toBe(false);
  clock.advance(1);
  expect(await admit(node, 1, 2)).toBe(true);
});
