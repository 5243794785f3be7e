import { expect, test } from 'vitest';
import { createTestDatabase } from '../../../test/harness/database/database.ts';
import { enqueue, newWorkspace } from '../../../test/harness/database/enqueue-messages.ts';
import { systemClock } from '../../lib/time/clock.ts';

/** Goal: no statement can make an invalid transition. Method: every pair of states, in a real database. */

const FINAL = ['expired', 'failed', 'cancelled', 'suppressed'];
const ALLOWED: Record<string, readonly string[]> = {
  scheduled: ['queued', ...FINAL],
  queued: ['deferred', 'delivered', 'bounced', ...FINAL],
  deferred: ['queued', ...FINAL],
  delivered: ['bounced'],
  bounced: ['queued'],
  expired: ['queued'],
  failed: ['queued'],
  cancelled: [],
  suppressed: [],
};

test('the database allows the transitions between states of a delivery, and no others', async () => {
  await using database = await createTestDatabase();
  const { pool } = database;
  const nowMs = systemClock.now();
  const workspaceId = await newWorkspace(pool, nowMs);
  await enqueue(pool, [{ workspaceId, nowMs, recipients: ['a@example.com'] }]);
  const setStatus = (status: string) => pool.query('update deliveries set status = $1', [status]);
  const disable = 'alter table deliveries disable trigger deliveries_transition';
  for (const [from, allowed] of Object.entries(ALLOWED)) {
    const found: string[] = [];
    for (const to of Object.keys(ALLOWED)) {
      await pool.query(disable);
      await setStatus(from);
      await pool.query(disable.replace('disable', 'enable'));
      const isAllowed = await setStatus(to).then(
        () => true,
        (error: Error) => {
          expect(error.message).toBe(`invalid delivery transition from ${from} to ${to}`);
          return false;
        },
      );
      if (isAllowed && to !== from) found.push(to);
    }
    expect(found.sort(), from).toEqual([...allowed].sort());
  }
});
