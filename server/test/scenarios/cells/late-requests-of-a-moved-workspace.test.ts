import { expect, test } from 'vitest';
import { fenceTables } from '../../../src/db/connections/write-fence.ts';
import { systemClock } from '../../../src/lib/time/clock.ts';
import { closeWorkspace } from '../../../src/privacy/close-workspace.ts';
import { startApp, validMessage } from '../../harness/app.ts';

/** A request that was authenticated before its workspace was closed comes too late, and says so. */

test('a send that comes too late gets 503, and its neighbors are accepted', async () => {
  await using app = await startApp();
  const other = await app.app.workspaces.create('Stays');
  const otherKey = await app.newKey({ mode: 'test', workspaceId: other.id });
  const send = (key: string) =>
    app.call('POST', '/transactional/send', { key, body: validMessage() });
  expect((await send(app.testKey)).status).toBe(202);
  expect((await send(otherKey)).status).toBe(202);

  // The node has cached the key and does not learn of the move, as if it had been suspended.
  await fenceTables(app.database.pool, app.workspaceId, [{ table: 'messages', insert: true }]);
  const keys = Array.from({ length: 10 }, (_, n) => (n % 2 === 0 ? app.testKey : otherKey));
  const responses = await Promise.all(keys.map(send));
  expect(responses.map(({ status }) => status)).toEqual(
    keys.map((key) => (key === otherKey ? 202 : 503)),
  );
  expect(responses[0]?.json.code).toBe('storage_unavailable');
  expect(responses[0]?.headers.get('retry-after')).toBe('2');
  const { rows } = await app.database.pool.query(
    'select count(*)::int as messages from messages where workspace_id = $1',
    [app.workspaceId],
  );
  expect(rows).toEqual([{ messages: 1 }]);
});

test('keys and sessions of a closed workspace get 503 and those of others 202', async () => {
  await using app = await startApp();
  const other = await app.app.workspaces.create('Stays');
  const otherKey = await app.newKey({ mode: 'test', workspaceId: other.id });
  const { pool } = app.database;
  expect((await app.call('GET', '/events')).status).toBe(200);
  await closeWorkspace({ pool, clock: systemClock, onStep: async () => {} }, app.workspaceId);
  await expect.poll(async () => (await app.call('GET', '/events')).status).toBe(503);
  const refused = await app.call('POST', '/transactional/send', { body: validMessage() });
  expect(refused.status).toBe(503);
  const sent = await app.call('POST', '/transactional/send', {
    key: otherKey,
    body: validMessage(),
  });
  expect(sent.status).toBe(202);
});
