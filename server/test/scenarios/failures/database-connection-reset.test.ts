import { expect, test } from 'vitest';
import { startApp, validMessage } from '../../harness/app.ts';
import { createTestDatabase } from '../../harness/database/database.ts';
import { startDatabaseProxy, startResettableProxy } from '../../harness/database/database-proxy.ts';
import { until } from '../../harness/until.ts';

/**
 * If the database fails during a request, the response is retryable and never a 400, which clients would
 * not retry. Connections are reset in the middle of a statement, as when a backend is killed.
 */
test('connections reset during a send: 503 with Retry-After, and the retry is accepted', async () => {
  await using database = await createTestDatabase();
  await using way = await startResettableProxy(database.url);
  await using app = await startApp({ database: { ...database, url: way.url } });
  const send = () => app.call('POST', '/transactional/send', { body: validMessage() });
  expect((await send()).status).toBe(202);
  const blocker = await database.pool.connect();
  await blocker.query('begin; lock table messages in exclusive mode');
  const sends = [send(), send(), send()];
  await until(async () => {
    const { rowCount } = await blocker.query(`select from pg_locks where not granted`);
    return (rowCount ?? 0) > 0;
  });
  way.reset();
  // Requests that came during the write had no connection yet, and are written afterwards.
  await Promise.race(sends);
  await blocker.query('rollback');
  blocker.release();
  const answers = await Promise.all(sends);
  const broken = answers.filter(({ status }) => status !== 202);
  expect(broken.length).toBeGreaterThan(0);
  for (const answer of broken) {
    expect([answer.status, answer.json.code]).toEqual([503, 'storage_unavailable']);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
  }
  await expect.poll(async () => (await send()).status).toBe(202);
});

test('a send whose commit succeeded without a response is delivered long before its lease ends', async () => {
  await using database = await createTestDatabase();
  await using way = await startDatabaseProxy(database.url);
  const env = { LEASE_SECONDS: '3600' };
  await using app = await startApp({ env, database: { ...database, url: way.url } });
  const blocker = await database.pool.connect();
  await blocker.query('begin; lock table messages in exclusive mode');
  const send = app.call('POST', '/transactional/send', { body: validMessage() });
  await until(async () => {
    const { rowCount } = await blocker.query(`select from pg_locks where not granted`);
    return (rowCount ?? 0) > 0;
  });
  way.dropResponses();
  await blocker.query('rollback');
  blocker.release();
  const statuses = async () =>
    (await database.pool.query<{ status: string }>('select status from deliveries')).rows.map(
      ({ status }) => status,
    );
  await until(async () => (await statuses()).length > 0);
  await way.disconnect();
  await way.reconnect();
  expect((await send).status).toBe(503);
  await until(async () => (await statuses())[0] === 'delivered');
  expect(await statuses()).toEqual(['delivered']);
});
