import { expect, test } from 'vitest';
import { createTestDatabase } from '../../../test/harness/database/database.ts';
import { systemClock } from '../../lib/time/clock.ts';
import { ensurePartitions } from '../schema/partitions.ts';
import { readLockCapacity } from './database-requirements.ts';
import { inTransaction } from './pool.ts';

test('the locks of a statement over all partitions are known', async () => {
  await using db = await createTestDatabase();
  const { pool } = db;
  const held = () =>
    inTransaction(pool, async (client) => {
      await client.query(`explain select from messages m
        join deliveries d on d.message_id = m.id join events e on e.message_id = m.id`);
      const { rows } = await client.query(
        'select count(*) as n from pg_locks where pid = pg_backend_pid()',
      );
      return rows[0].n as number;
    });
  const before = await readLockCapacity(pool);
  // Also locked: the partitioned tables, their indexes, pg_locks.
  const others = (await held()) - before.perStatement;
  expect(others).toBeGreaterThan(0);
  expect(others).toBeLessThan(30);

  await ensurePartitions(pool, systemClock.now() + 100 * 86_400_000);
  const after = await readLockCapacity(pool);
  expect(after.perStatement).toBeGreaterThan(before.perStatement);
  expect(await held()).toBe(after.perStatement + others);
});
