import { expect, test } from 'vitest';
import { createTestDatabase } from '../../test/harness/database.ts';
import { systemClock } from '../lib/clock.ts';
import { uuidv7 } from '../lib/ids.ts';
import { expireWebhookLeases } from './webhook-queue-store.ts';

test('a restart ends leases, and leaves rows alone that wait for a retry', async () => {
  await using database = await createTestDatabase();
  const { pool } = database;
  const nowMs = systemClock.now();
  const [leased, waiting] = [uuidv7(nowMs), uuidv7(nowMs)];
  await pool.query(
    `insert into webhook_deliveries (workspace_id, mode, webhook_id, event_id, event_tx, event_type,
                                     due_at, lease, created_at)
     select $1, 'live', $1, id, 1, 'message.delivered', $3, lease, $4
       from unnest($2::uuid[], array[8, null]::bigint[]) as r(id, lease)`,
    [uuidv7(nowMs), [leased, waiting], new Date(nowMs + 60_000), new Date(nowMs)],
  );
  expect(await expireWebhookLeases(pool, nowMs)).toBe(1);
  const { rows } = await pool.query(
    'select event_id, lease from webhook_deliveries where due_at <= $1',
    [new Date(nowMs)],
  );
  expect(rows).toEqual([{ event_id: leased, lease: null }]);
});
