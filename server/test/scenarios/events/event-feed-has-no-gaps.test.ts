import { expect, test } from 'vitest';
import { appendEvents } from '../../../src/events/events-store.ts';
import { startApp, type TestApp, validMessage } from '../../harness/app.ts';

/**
 * A reader of the event feed sees every event exactly once, even if a transaction that began earlier
 * commits later. A transaction is held open while others commit and the reader reads on.
 */

async function readAll(app: TestApp, cursor: string | undefined) {
  const events: { id: string; type: string }[] = [];
  let next = cursor;
  for (;;) {
    const query = next === undefined ? '' : `&cursor=${next}`;
    const { json } = await app.call('GET', `/events?limit=3${query}`);
    events.push(...json.data);
    next = json.next_cursor;
    if (!json.has_more) return { events, cursor: next };
  }
}

function anEvent(app: TestApp) {
  return {
    workspaceId: app.workspaceId,
    mode: 'test' as const,
    type: 'template.published' as const,
    atMs: Date.now(),
    data: { template: { kind: 'template', key: 'welcome', version: 1 } },
  };
}

test('an event that commits late is not skipped', async () => {
  await using app = await startApp();
  const before = await readAll(app, undefined);
  expect(before.events.map(({ type }) => type)).toContain('api_key.created');

  const slow = await app.database.pool.connect();
  await slow.query('begin');
  await appendEvents(slow, [anEvent(app)]);
  for (let i = 0; i < 5; i++)
    await app.call('POST', '/transactional/send', { body: validMessage() });

  // Events after the open transaction must wait: if they were returned now, the cursor would pass an
  // event that is not committed yet.
  const during = await readAll(app, before.cursor);
  expect(during.events).toEqual([]);
  await slow.query('commit');
  slow.release();

  const after = await readAll(app, during.cursor);
  expect(after.events.filter(({ type }) => type === 'template.published')).toHaveLength(1);
  expect(after.events.filter(({ type }) => type === 'message.accepted')).toHaveLength(5);
});

test('a reader next to many writers sees every event exactly once', async () => {
  await using app = await startApp();
  const { cursor } = await readAll(app, undefined);
  const seen: string[] = [];
  let done = false;
  const reading = (async () => {
    let next = cursor;
    for (let last = false; !last; ) {
      last = done;
      const page = await readAll(app, next);
      seen.push(...page.events.map(({ id }) => id));
      next = page.cursor;
    }
  })();
  await Promise.all(
    Array.from({ length: 20 }, async () => {
      for (let i = 0; i < 10; i++) {
        await app.call('POST', '/transactional/send', { body: validMessage() });
      }
    }),
  );
  for (;;) {
    const { json } = await app.call('GET', '/messages?status=delivered&limit=100');
    if (json.next_cursor !== null) break;
  }
  await app.app.engine?.stop();
  done = true;
  await reading;
  const { rows } = await app.database.pool.query<{ n: number }>(
    `select count(*) as n from events where mode = 'test'`,
  );
  const ownKeyEvents = 1;
  expect(seen.length).toBe((rows[0]?.n ?? 0) - ownKeyEvents);
  expect(new Set(seen).size).toBe(seen.length);
});
