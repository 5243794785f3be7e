import { expect, test } from 'vitest';
import { createTestDatabase } from '../../../test/harness/database/database.ts';
import { enqueue, newWorkspace } from '../../../test/harness/database/enqueue-messages.ts';
import { until } from '../../../test/harness/until.ts';
import { systemClock } from '../../lib/time/clock.ts';
import { ManualClock } from '../../lib/time/manual-clock.ts';
import { newLeaseToken } from '../../queue/lease.ts';
import type { HandedOffMessage } from './delivery-handoff.ts';
import { UnconfirmedLeases } from './unconfirmed-leases.ts';

test('deliveries of a commit without a response are released, also when it ends late', async () => {
  await using database = await createTestDatabase();
  const { pool } = database;
  const clock = new ManualClock(systemClock.now());
  const nowMs = clock.now();
  const workspaceId = await newWorkspace(pool, nowMs);
  const leases = new UnconfirmedLeases(pool, clock);
  const token = newLeaseToken(1);
  const [early, late, other] = (await enqueue(
    pool,
    ['early', 'late', 'other'].map((name) => ({
      workspaceId,
      nowMs,
      recipients: [`${name}@one.example`],
    })),
  )) as [string, string, string];
  const lease = (id: string, of: number) =>
    pool.query('update deliveries set lease = $1, due_at = $2 where message_id = $3', [
      of,
      new Date(nowMs + 3_600_000),
      id,
    ]);
  const due = async () => {
    const { rows } = await pool.query<{ message_id: string }>(
      'select message_id from deliveries where lease is null and due_at < $1 order by message_id',
      [new Date(nowMs + 3_600_000)],
    );
    return rows.map((row) => row.message_id);
  };
  await lease(early, token);
  // The commit of this one is still in progress: here, the row has another lease.
  await lease(late, newLeaseToken(2));
  await lease(other, newLeaseToken(3));
  const handed = (messageId: string) =>
    ({ workspaceId, mode: 'live', messageId, deliveries: [{ ordinal: 0 }] }) as HandedOffMessage;
  leases.add({ token, endsAtMs: nowMs + 3_600_000, count: 2, bytes: 0 }, [
    handed(early),
    handed(late),
    handed(other),
  ]);
  await until(async () => (await due()).length === 1, { clock, stepMs: 500 });
  expect(await due()).toEqual([early]);
  await lease(late, token);
  await until(async () => (await due()).length === 2, { clock, stepMs: 500 });
  expect(await due()).toEqual([early, late]);
});
