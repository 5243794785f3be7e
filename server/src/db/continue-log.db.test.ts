import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../test/harness/database/database.ts';
import { uuidv7 } from '../lib/ids.ts';
import { inTransaction, type Queryable } from './connections/pool.ts';
import { continueLogAfter } from './event-log-offset.ts';

/** The numbers of an event log jump ahead while others write to it. */

let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database[Symbol.asyncDispose]());

const continueAfter = (tx: number) =>
  inTransaction(database.pool, (client) => continueLogAfter(client, tx));

async function appendEvent(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ tx: number }>(
    `insert into events (workspace_id, mode, tx, id, type, created_at, data)
     values ($1, 'live', event_log_tx(), $1, 'message.accepted', now(), '{}') returning tx`,
    [uuidv7(Date.now())],
  );
  return rows[0]?.tx as number;
}

test('an event that is not committed yet keeps the numbers from jumping', async () => {
  const writer = await database.pool.connect();
  try {
    await writer.query('begin');
    const before = await appendEvent(writer);
    await expect(continueAfter(before + 1_000_000)).rejects.toThrow('lock timeout');
    await writer.query('commit');
    await continueAfter(before + 1_000_000);
    expect(await appendEvent(database.pool)).toBeGreaterThan(before + 1_000_000);
  } finally {
    writer.release(true);
  }
});

test('a transaction that began before the jump writes its events after it', async () => {
  const writer = await database.pool.connect();
  try {
    await writer.query('begin');
    await writer.query('select pg_current_xact_id()');
    for (let n = 0; n < 5; n += 1) await appendEvent(database.pool);
    const last = (await appendEvent(database.pool)) + 1_000_000;
    await continueAfter(last);
    const { rows } = await database.pool.query<{ horizon: number }>(
      'select event_log_horizon() as horizon',
    );
    expect(rows[0]?.horizon).toBeGreaterThan(last);
    expect(await appendEvent(writer)).toBeGreaterThanOrEqual(rows[0]?.horizon as number);
    await writer.query('commit');
  } finally {
    writer.release(true);
  }
});

test('numbers that are ahead already do not change', async () => {
  const before = await appendEvent(database.pool);
  await continueAfter(1);
  expect(await appendEvent(database.pool)).toBeLessThan(before + 1_000);
});
