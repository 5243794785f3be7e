import { expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/harness/database/database.ts';
import { enqueue, newWorkspace } from '../../../test/harness/database/enqueue-messages.ts';
import { sqlTime } from '../../db/schema/row-types.ts';
import { uuidv7 } from '../../lib/ids.ts';
import { systemClock } from '../../lib/time/clock.ts';
import { claimUnseen, clearInbox, listInbox } from './test-inbox-store.ts';

/** Rows read, as counted by PostgreSQL for a session. */
async function rowsReadBy(
  { pool }: TestDatabase,
  work: (client: Parameters<typeof claimUnseen>[0]) => Promise<unknown>,
): Promise<number> {
  const client = await pool.connect();
  const rowsRead = async (): Promise<number> => {
    const { rows } = await client.query<{ n: number }>(
      `select coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0)::int as n
         from pg_stat_xact_user_tables where relname ~ '^(test_inbox|messages|deliveries)_p'`,
    );
    return rows[0]?.n ?? 0;
  };
  try {
    await client.query('begin');
    const before = await rowsRead();
    await work(client);
    const after = await rowsRead();
    await client.query('rollback');
    return after - before;
  } finally {
    client.release();
  }
}

async function filledInbox(database: TestDatabase, recipients: readonly string[]) {
  const { pool } = database;
  const nowMs = systemClock.now();
  const workspaceId = await newWorkspace(pool, nowMs);
  const ids = await enqueue(
    pool,
    recipients.map((recipient) => ({
      workspaceId,
      mode: 'test' as const,
      nowMs,
      recipients: [recipient],
      subject: `For ${recipient}`,
    })),
  );
  const atMs = sqlTime(nowMs);
  await pool.query(`update deliveries set status = 'delivered', due_at = null, finished_at = $1`, [
    atMs,
  ]);
  await pool.query(
    `insert into test_inbox (workspace_id, message_id, arrived_at)
     select workspace_id, id, $1 from messages`,
    [atMs],
  );
  await pool.query('analyze');
  return { workspaceId, nowMs, ids };
}

const NO_MAIL = 'nobody@example.org';

test('polling costs the same however much unclaimed mail there is', async () => {
  await using database = await createTestDatabase();
  const recipients = Array.from({ length: 4_000 }, (_, n) => `n${n}@example.org`);
  const { workspaceId, nowMs } = await filledInbox(database, recipients);
  const scannedRows = (recipientKey?: string, subject?: string) =>
    rowsReadBy(database, (client) =>
      claimUnseen(client, workspaceId, { recipientKey, subject }, nowMs),
    );
  expect(await scannedRows(NO_MAIL)).toBeLessThan(20);
  expect(await scannedRows('n0@example.org')).toBeLessThan(20);
  expect(await scannedRows(undefined, 'no such subject')).toBeLessThan(3_500);
  const page = { beforeId: undefined, limit: 20, recipientKey: NO_MAIL };
  const listed = await rowsReadBy(database, (client) => listInbox(client, workspaceId, page));
  expect(listed).toBeLessThan(20);
});

test('returns each message once, oldest first, for every kind of filter', async () => {
  await using database = await createTestDatabase();
  const jane = 'jane@example.org';
  const { workspaceId, nowMs, ids } = await filledInbox(database, [jane, 'joe@example.org', jane]);
  const claim = async (recipientKey?: string, subject?: string) => {
    const wanted = { recipientKey, subject };
    const entry = await claimUnseen(database.pool, workspaceId, wanted, nowMs);
    return entry && ids.indexOf(entry.messageId);
  };
  expect(await claim(jane, 'joe')).toBeUndefined();
  expect(await claim(jane)).toBe(0);
  expect(await claim(undefined, 'JANE')).toBe(2);
  expect(await claim(jane)).toBeUndefined();
  expect(await claim()).toBe(1);
  expect(await claim()).toBeUndefined();
  const page = { beforeId: undefined, limit: 20, recipientKey: jane };
  const listed = await listInbox(database.pool, workspaceId, page);
  expect(listed.map(({ messageId }) => ids.indexOf(messageId))).toEqual([2, 0]);
});

test('clears a full inbox in short commits, because others would wait for a long one', async () => {
  await using database = await createTestDatabase();
  const { pool } = database;
  const nowMs = systemClock.now();
  const workspaceId = await newWorkspace(pool, nowMs);
  const ids = Array.from({ length: 1_500 }, () => uuidv7(nowMs));
  await pool.query(
    'insert into test_inbox (workspace_id, message_id, arrived_at) select $1, unnest($2::uuid[]), $3',
    [workspaceId, ids, sqlTime(nowMs)],
  );
  const left = async (): Promise<number> =>
    (await pool.query('select from test_inbox')).rowCount ?? 0;
  const holder = await pool.connect();
  await holder.query('begin');
  await holder.query('select from test_inbox where message_id = $1 for update', [ids.at(-1)]);
  const cleared = clearInbox(pool, workspaceId, nowMs);
  await expect.poll(left).toBe(500);
  await holder.query('commit');
  holder.release();
  await cleared;
  expect(await left()).toBe(0);
});
