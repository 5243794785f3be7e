import { expect, test } from 'vitest';
import { createTestDatabase } from '../../test/harness/database.ts';
import { newWorkspace } from '../../test/harness/enqueue-messages.ts';
import { appendEvents } from '../events/events-store.ts';
import { systemClock } from '../lib/clock.ts';
import { uuidv7 } from '../lib/ids.ts';
import { newLease } from '../queue/lease.ts';
import { fanOut } from './fan-out-store.ts';

test('a workspace at its capacity does not keep others from being leased on insert', async () => {
  await using database = await createTestDatabase();
  const { pool } = database;
  const nowMs = systemClock.now();
  const subscribe = async (endpoints: number) => {
    const workspaceId = await newWorkspace(pool, nowMs);
    for (let n = 0; n < endpoints; n++) {
      await pool.query(
        `insert into webhooks (workspace_id, mode, id, url, events, description, enabled, since_tx,
                               created_at, updated_at)
         values ($1, 'live', $2, 'https://example.com/', '{*}', '', true, 0, $3, $3)`,
        [workspaceId, uuidv7(nowMs), new Date(nowMs)],
      );
    }
    return workspaceId;
  };
  const append = (workspaceId: string, count: number) =>
    appendEvents(
      pool,
      Array.from({ length: count }, () => ({
        workspaceId,
        mode: 'live' as const,
        type: 'template.published' as const,
        atMs: nowMs,
        data: {},
      })),
    );
  const noisy = await subscribe(3);
  const quiet = await subscribe(1);
  await append(noisy, 10);
  await append(quiet, 1);
  const capacity = {
    total: 20,
    defaultPerEndpoint: 16,
    perEndpoint: [],
    defaultPerWorkspace: 15,
    perWorkspace: [{ id: noisy, capacity: 4 }],
  };
  const { seen, made, leased } = await fanOut(pool, 100, capacity, newLease(1, nowMs, 60_000));
  expect({ seen, made }).toEqual({ seen: 11, made: 31 });
  const leasedBy = (id: string) => leased.filter((row) => row.workspace_id === id).length;
  expect([leasedBy(noisy), leasedBy(quiet)]).toEqual([4, 1]);
});
