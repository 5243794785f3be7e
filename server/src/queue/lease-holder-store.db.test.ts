import { expect, test } from 'vitest';
import { createTestDatabase } from '../../test/harness/database/database.ts';
import { enqueue, newWorkspace } from '../../test/harness/database/enqueue-messages.ts';
import type { Pool } from '../db/connections/pool.ts';
import { systemClock } from '../lib/time/clock.ts';
import { DELIVERIES } from '../messages/deliveries/delivery-lease-store.ts';
import { WEBHOOK_DELIVERIES } from '../webhooks/dispatch/webhook-queue-store.ts';
import { newLeaseToken } from './lease.ts';
import { leaseHolderStore } from './lease-holder-store.ts';

test('a takeover ends the leases of one holder, unless it has reported since', async () => {
  await using database = await createTestDatabase();
  const { pool } = database;
  const nowMs = systemClock.now();
  const store = leaseHolderStore(DELIVERIES, { heartbeats: pool, pool });
  const [deadId, livingId] = [await store.register('dead/1'), await store.register('living/1')];
  await leaseDelivery(pool, 'dead@one.example', newLeaseToken(deadId), nowMs);
  await leaseDelivery(pool, 'living@two.example', newLeaseToken(livingId), nowMs);
  const dead = await stateOf(store, livingId, deadId);
  expect(dead).toEqual({ id: deadId, name: 'dead/1', heartbeats: 0 });

  expect(await store.heartbeat(deadId)).toHaveLength(2);
  expect(await store.takeOver(dead, nowMs)).toBeUndefined();
  expect(await dueNow(pool, nowMs)).toEqual([]);

  expect(await store.takeOver(await stateOf(store, livingId, deadId), nowMs)).toBe(1);
  expect(await dueNow(pool, nowMs)).toEqual(['dead@one.example']);
  expect(await store.heartbeat(deadId)).toBeUndefined();
  expect((await store.heartbeat(livingId))?.map(({ name }) => name)).toEqual(['living/1']);
  await store.unregister(livingId);
  expect(await store.heartbeat(livingId)).toBeUndefined();
});

test('holders see only those of their own queue', async () => {
  await using database = await createTestDatabase();
  const { pool } = database;
  const mail = leaseHolderStore(DELIVERIES, { heartbeats: pool, pool });
  const webhooks = leaseHolderStore(WEBHOOK_DELIVERIES, { heartbeats: pool, pool });
  const ids = [await mail.register('node/1'), await webhooks.register('node/1')] as const;
  expect((await mail.heartbeat(ids[0]))?.map(({ id }) => id)).toEqual([ids[0]]);
  expect((await webhooks.heartbeat(ids[1]))?.map(({ id }) => id)).toEqual([ids[1]]);
});

async function stateOf(store: ReturnType<typeof leaseHolderStore>, readerId: number, id: number) {
  const found = (await store.heartbeat(readerId))?.find((holder) => holder.id === id);
  if (!found) throw new Error('There is no such holder.');
  const { name, heartbeats } = found;
  return { id, name, heartbeats };
}

async function leaseDelivery(
  pool: Pool,
  recipient: string,
  lease: number,
  nowMs: number,
): Promise<void> {
  const workspaceId = await newWorkspace(pool, nowMs);
  await enqueue(pool, [{ workspaceId, nowMs, recipients: [recipient] }]);
  await pool.query('update deliveries set lease = $1, due_at = $2 where recipient = $3', [
    lease,
    new Date(nowMs + 120_000),
    recipient,
  ]);
}

async function dueNow(pool: Pool, nowMs: number): Promise<string[]> {
  const { rows } = await pool.query<{ recipient: string }>(
    'select recipient from deliveries where due_at <= $1',
    [new Date(nowMs)],
  );
  return rows.map(({ recipient }) => recipient);
}
