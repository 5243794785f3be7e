import { expect, test } from 'vitest';
import { createTestDatabase } from '../../../test/harness/database/database.ts';
import { newWorkspace } from '../../../test/harness/database/enqueue-messages.ts';
import { appendEvents } from '../../events/events-store.ts';
import { uuidv7 } from '../../lib/ids.ts';
import { systemClock } from '../../lib/time/clock.ts';
import { newLease } from '../../queue/lease.ts';
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

test('an endpoint limited to streams gets their events, and those that concern no stream', async () => {
  await using database = await createTestDatabase();
  const { pool } = database;
  const nowMs = systemClock.now();
  const workspaceId = await newWorkspace(pool, nowMs);
  const subscribe = (streams: string[]) =>
    pool.query(
      `insert into webhooks (workspace_id, mode, id, url, events, streams, description, enabled,
                             since_tx, created_at, updated_at)
       values ($1, 'live', $2, $3, '{message.*,suppression.*,domain.*}', $4, '', true, 0, $5, $5)`,
      [workspaceId, uuidv7(nowMs), 'https://example.com/', streams, new Date(nowMs)],
    );
  await subscribe([]);
  await subscribe(['digest', 'news']);
  const events = [
    ['message.delivered', { stream: 'digest' }],
    ['message.delivered', { stream: 'transactional' }],
    ['suppression.created', { suppression: { stream: 'news' } }],
    ['suppression.deleted', { suppression: { stream: 'receipts' } }],
    ['suppression.created', { suppression: { stream: null } }],
    ['domain.verified', {}],
  ] as const;
  await appendEvents(
    pool,
    events.map(([type, data]) => ({ workspaceId, mode: 'live' as const, type, atMs: nowMs, data })),
  );
  const all = { total: 100, defaultPerEndpoint: 100, perEndpoint: [], perWorkspace: [] };
  const capacity = { ...all, defaultPerWorkspace: 100 };
  await fanOut(pool, 100, capacity, newLease(1, nowMs, 60_000));
  const { rows } = await pool.query<{ n: number }>(
    'select count(*)::int as n from webhook_deliveries group by webhook_id order by n',
  );
  expect(rows.map(({ n }) => n)).toEqual([4, 6]);
  const limited = await pool.query<{ type: string }>(
    `select d.event_type as type from webhook_deliveries d join webhooks w on w.id = d.webhook_id
     where w.streams <> '{}' order by 1`,
  );
  expect(limited.rows.map(({ type }) => type)).toEqual([
    'domain.verified',
    'message.delivered',
    'suppression.created',
    'suppression.created',
  ]);
});
