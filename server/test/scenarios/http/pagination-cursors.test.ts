import { afterAll, beforeAll, expect, test } from 'vitest';
import { startApp, type TestApp, validMessage } from '../../harness/app.ts';
import { until } from '../../harness/until.ts';

/**
 * A cursor is valid only for the list that returned it: in another list it would silently return wrong
 * results. Every list gets at least two rows, and each list's cursor is tried on all others.
 */

let app: TestApp;

const LISTS = [
  '/contacts',
  '/contacts?q=jane@',
  '/suppressions',
  '/suppressions?q=jane',
  '/templates',
  '/layouts',
  '/templates/first/versions',
  '/templates/second/versions',
  '/domains',
  '/api-keys',
  '/webhooks',
  '/webhook-deliveries',
  '/messages',
  '/test/inbox',
  '/events',
  '/events?order=desc',
  '/requests',
  '/audit-log',
];

beforeAll(async () => {
  app = await startApp({ env: { WEBHOOK_ALLOW_PRIVATE: 'true' } });
  for (const n of [1, 2, 3]) {
    const webhook = { url: `http://127.0.0.1/${n}`, events: ['*'] };
    await made('POST', '/webhooks', webhook);
    await made('POST', '/contacts', { email: `jane@${n}.example` });
    await made('POST', '/suppressions', { email: `jane@${n}.example` });
    await made('POST', '/domains', { name: `${n}.example` });
    await app.newKey({});
    await made('POST', '/layouts', { key: `frame${n}`, html: '{{ content }}' });
  }
  for (const key of ['first', 'second', 'third']) {
    await made('POST', '/templates', { key, subject: 'Hi', html: '<p>Hi</p>' });
    for (const text of ['Hi', 'Hello']) {
      await made('PATCH', `/templates/${key}`, { subject: text });
      await made('POST', `/templates/${key}/publish`, {});
    }
  }
  for (const n of [1, 2])
    await made('POST', '/transactional/send', validMessage({ subject: `${n}` }));
  await until(async () => (await app.call('GET', '/test/inbox')).json.data.length === 2);
  await until(async () => (await app.call('GET', '/webhook-deliveries')).json.data.length > 2);
});
afterAll(() => app[Symbol.asyncDispose]());

async function made(method: string, path: string, body: object) {
  const answer = await app.call(method, path, { body });
  expect([path, answer.status < 300, answer.text]).toEqual([path, true, answer.text]);
}

function page(list: string, parameters: string) {
  return app.call('GET', `${list}${list.includes('?') ? '&' : '?'}${parameters}`);
}

test('every list accepts its own cursors and rejects all others', async () => {
  const cursors = new Map<string, string>();
  for (const list of LISTS) {
    const { json } = await page(list, 'limit=1');
    expect([list, json.data?.length, typeof json.next_cursor]).toEqual([list, 1, 'string']);
    cursors.set(list, json.next_cursor);
  }
  for (const list of LISTS) {
    for (const [giver, cursor] of cursors) {
      const answer = await page(list, `cursor=${cursor}`);
      const { status, json } = answer;
      const seen = [list, giver, status, json.errors?.[0]?.parameter, json.errors?.[0]?.code];
      if (giver === list) expect(seen).toEqual([list, giver, 200, undefined, undefined]);
      else expect(seen).toEqual([list, giver, 422, 'cursor', 'invalid_cursor']);
    }
  }
});

test('the deliveries of one endpoint accept cursors of the list of all deliveries', async () => {
  const { json: all } = await page('/webhook-deliveries', 'limit=1');
  const list = `/webhooks/${all.data[0].webhook_id}/deliveries`;
  expect((await page(list, `cursor=${all.next_cursor}`)).status).toBe(200);
});

test('cursors from before they contained their list are still accepted', async () => {
  const { json: first } = await page('/domains', 'limit=1');
  const { json: second } = await page('/domains', `limit=1&cursor=${first.next_cursor}`);
  const { rows } = await app.database.pool.query('select id from domains order by id desc limit 1');
  const unnamed = Buffer.from(JSON.stringify([rows[0].id])).toString('base64url');
  const { json } = await page('/domains', `limit=1&cursor=${unnamed}`);
  expect(json.data).toEqual(second.data);
});
