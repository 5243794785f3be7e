import { expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../test/harness/database/database.ts';
import { isWriteFenced } from '../db/connections/database-errors.ts';
import { parseDatabaseUrl } from '../db/connections/database-url.ts';
import { listen } from '../db/connections/listen.ts';
import { uuidv7 } from '../lib/ids.ts';
import { silentLog } from '../lib/log.ts';
import { systemClock } from '../lib/time/clock.ts';
import { ManualClock } from '../lib/time/manual-clock.ts';
import { closeWorkspace, reopenWorkspace } from './close-workspace.ts';
import { insertPurge } from './workspace-purge-store.ts';
import { WorkspacePurges } from './workspace-purges.ts';

/** The servers of the source are played by the tests: they hold leases, and are late with writes. */

const HOUR_MS = 3_600_000;

async function createWorkspace({ pool }: TestDatabase, name: string): Promise<string> {
  const id = uuidv7(Date.now());
  await pool.query('insert into workspaces (id, name, created_at) values ($1, $2, now())', [
    id,
    name,
  ]);
  return id;
}

async function insertDelivery({ pool }: TestDatabase, id: string, lease: number | null) {
  const messageId = uuidv7(Date.now() - HOUR_MS);
  const dueAt = new Date(Date.now() + HOUR_MS);
  await pool.query(
    `insert into deliveries (workspace_id, mode, message_id, ordinal, kind, recipient, recipient_key,
                             status, shard, due_at, expires_at, lease)
     values ($1, 'live', $2, 0, 'to', 'a@example.com', 'a@example.com', 'queued', 1, $3, $3, $4)`,
    [id, messageId, dueAt, lease],
  );
  return { messageId, dueAt };
}

const insertContact = ({ pool }: TestDatabase, ...ids: string[]) =>
  pool.query(
    `insert into contacts (workspace_id, mode, id, email, email_key, created_at, updated_at)
     select w, 'live', gen_random_uuid(), 'a@example.com', gen_random_uuid()::text, now(), now()
       from unnest($1::uuid[]) w`,
    [ids],
  );

const countTriggers = async ({ pool }: TestDatabase): Promise<number> =>
  (await pool.query(`select from pg_trigger where tgname like 'fence%'`)).rowCount ?? 0;

test('closing waits until servers have released what they hold', async () => {
  await using database = await createTestDatabase();
  const { pool } = database;
  const id = await createWorkspace(database, 'Shop');
  const { messageId } = await insertDelivery(database, id, 8);
  await using server = listen({ hosts: parseDatabaseUrl(database.url), log: silentLog });
  await server.ready;
  let announced = 0;
  server.on('moves', (workspaceId) => {
    announced += 1;
    // Not at once: an attempt is in progress.
    if (announced !== 3 || workspaceId !== id) return;
    void pool.query('update deliveries set lease = null where message_id = $1', [messageId]);
  });
  const leases: unknown[] = [];
  await closeWorkspace(
    {
      pool,
      clock: systemClock,
      onStep: async (step) => {
        const { rows } = await pool.query(
          'select lease, due_at > now() + interval $$900 years$$ as parked from deliveries',
        );
        leases.push([step, rows[0]]);
      },
    },
    id,
  );
  expect(leases).toEqual([
    ['drained', { lease: null, parked: false }],
    ['leaving', { lease: null, parked: false }],
    ['fenced', { lease: null, parked: true }],
  ]);
});

test('a closed workspace cannot be written to, others can, and it opens again as it was', async () => {
  await using database = await createTestDatabase();
  const { pool } = database;
  const id = await createWorkspace(database, 'Shop');
  const other = await createWorkspace(database, 'Stays');
  const { messageId, dueAt } = await insertDelivery(database, id, null);
  await insertContact(database, id, other);
  await closeWorkspace({ pool, clock: systemClock, onStep: async () => {} }, id);

  const refused = async (work: Promise<unknown>): Promise<boolean> =>
    work.then(() => false, isWriteFenced);
  expect(await refused(insertContact(database, id))).toBe(true);
  expect(await refused(pool.query('delete from contacts where workspace_id = $1', [id]))).toBe(
    true,
  );
  const cancel = `update deliveries set status = 'cancelled' where message_id = $1`;
  expect(await refused(pool.query(cancel, [messageId]))).toBe(true);
  expect(await refused(insertDelivery(database, id, null))).toBe(true);
  expect(await refused(insertContact(database, other))).toBe(false);
  expect(await refused(insertDelivery(database, other, 8))).toBe(false);

  await reopenWorkspace(pool, id);
  expect(await countTriggers(database)).toBe(0);
  const { rows } = await pool.query('select due_at from deliveries where message_id = $1', [
    messageId,
  ]);
  expect(rows).toEqual([{ due_at: dueAt.getTime() }]);
  expect(await refused(insertContact(database, id))).toBe(false);
});

test('the purge of a workspace that has left removes its fence', async () => {
  await using database = await createTestDatabase();
  const { pool } = database;
  const id = await createWorkspace(database, 'Shop');
  await insertContact(database, id);
  await insertDelivery(database, id, null);
  await closeWorkspace({ pool, clock: systemClock, onStep: async () => {} }, id);
  expect(await countTriggers(database)).toBeGreaterThan(0);

  const clock = new ManualClock(Date.now());
  await insertPurge(pool, { id, requestedAtMs: clock.now() }, clock.now());
  const purges = new WorkspacePurges({ pool, clock, log: silentLog });
  for (let pass = 0; pass < 3; pass++) {
    await purges.work();
    clock.advance(61_000);
  }
  expect((await pool.query('select from workspaces where id = $1', [id])).rowCount).toBe(0);
  expect(await countTriggers(database)).toBe(0);
});
