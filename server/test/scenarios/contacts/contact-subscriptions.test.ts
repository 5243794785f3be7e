import { afterAll, beforeAll, expect, test } from 'vitest';
import { validMessage } from '../../harness/app.ts';
import {
  type ReturnPathServer,
  startReturnPathServer,
} from '../../harness/smtp/return-path-setup.ts';
import { until } from '../../harness/until.ts';

/**
 * Contacts know which streams they chose or left, when and how, and the suppressions agree: whatever
 * sets one, the other follows. One server; recipients act with the links of delivered mail.
 */

const BASE_URL = 'https://mail.postrider.test';

let server: ReturnPathServer;
beforeAll(async () => {
  server = await startReturnPathServer({ env: { BASE_URL } });
  for (const key of ['digest', 'news']) {
    await call('POST', '/streams', { key, purpose: 'subscription' });
  }
});
afterAll(() => server[Symbol.asyncDispose]());

const call = async (method: string, path: string, body?: object) =>
  server.app.call(method, path, { key: server.app.liveKey, ...(body ? { body } : {}) });

const put = (email: string, body: object) => call('PUT', `/contacts/${email}`, body);

const subscriptionsOf = async (email: string) =>
  (await call('GET', `/contacts/${email}`)).json.subscriptions;

const suppressedStreamsOf = async (email: string): Promise<string[]> =>
  (await call('GET', `/suppressions?email=${email}`)).json.data.map(
    ({ stream }: { stream: string | null }) => stream,
  );

async function statusOfNext(email: string, stream: string): Promise<string> {
  const body = validMessage({ to: { email }, stream });
  return (await call('POST', '/transactional/send', body)).json.status;
}

/** The path of the link in a delivered digest. */
async function linkTo(email: string): Promise<string> {
  const { id } = await server.send({ to: { email }, stream: 'digest' });
  const raw =
    server.receiver.messages.map((one) => one.raw.toString()).find((one) => one.includes(id)) ?? '';
  const head = raw.slice(0, raw.indexOf('\r\n\r\n')).replaceAll(/\r\n[ \t]/g, ' ');
  return (/^List-Unsubscribe: <(https[^>]*)>/m.exec(head)?.[1] ?? '').replace(BASE_URL, '');
}

const post = (path: string, fields: Record<string, string>) =>
  fetch(server.app.url + path, { method: 'POST', body: new URLSearchParams(fields) });

async function importFile(rawBody: string, type: string) {
  const headers = { 'content-type': type };
  const options = { key: server.app.liveKey, rawBody, headers };
  const { json } = await server.app.call('POST', '/contacts/import', options);
  let report = json;
  await until(async () => {
    report = (await call('GET', `/imports/${json.id}`)).json;
    return report.status === 'finished';
  });
  return report;
}

test('the API sets a subscription, and the suppression follows', async () => {
  const email = 'api@example.com';
  const changed_at = '2026-01-02T03:04:05.000Z';
  const made = await put(email, {
    subscriptions: { digest: { status: 'subscribed', changed_at } },
  });
  const consent = { status: 'subscribed', changed_at, source: 'api' };
  expect([made.status, made.json.subscriptions]).toEqual([201, { digest: consent }]);
  // Repeating it keeps the time of the consent.
  await put(email, { subscriptions: { digest: 'subscribed' } });
  expect(await subscriptionsOf(email)).toEqual({ digest: consent });

  await put(email, { subscriptions: { digest: 'unsubscribed' } });
  expect(await subscriptionsOf(email)).toMatchObject({
    digest: { status: 'unsubscribed', source: 'api' },
  });
  expect(await suppressedStreamsOf(email)).toEqual(['digest']);
  expect(await statusOfNext(email, 'digest')).toBe('suppressed');

  const back = await put(email, { subscriptions: { digest: 'subscribed' } });
  expect(back.json.subscriptions.digest).toMatchObject({ status: 'subscribed', source: 'api' });
  expect(back.json.subscriptions.digest.changed_at > changed_at).toBe(true);
  expect(await suppressedStreamsOf(email)).toEqual([]);
});

test('a suppression that is added or deleted directly changes the status', async () => {
  const email = 'list@example.com';
  await put(email, { subscriptions: { news: 'subscribed' } });
  await call('POST', '/suppressions', { email, stream: 'news' });
  expect(await subscriptionsOf(email)).toMatchObject({
    news: { status: 'unsubscribed', source: null },
  });
  const refused = await put(email, { first_name: 'L', subscriptions: { news: 'subscribed' } });
  expect([refused.status, refused.json.errors[0].code]).toEqual([422, 'suppressed']);
  expect((await call('GET', `/contacts/${email}`)).json.first_name).toBeNull();
  await call('DELETE', `/suppressions?email=${email}&stream=news`);
  expect(await subscriptionsOf(email)).toMatchObject({ news: { status: 'subscribed' } });
});

test('bad subscriptions are refused by field and change nothing', async () => {
  const email = 'bad@example.com';
  const refused = await put(email, {
    subscriptions: {
      transactional: 'subscribed',
      digest: { status: 'subscribed', changed_at: '2999-01-01T00:00:00Z' },
    },
  });
  expect(refused.status).toBe(422);
  expect(refused.json.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual([
    '/subscriptions/transactional',
    '/subscriptions/digest/changed_at',
  ]);
  expect((await call('GET', `/contacts/${email}`)).status).toBe(404);
});

test('links that recipients follow change the contact', async () => {
  const email = 'reader@example.com';
  await put(email, { subscriptions: { digest: 'subscribed' } });
  const path = await linkTo(email);
  await post(path, { 'List-Unsubscribe': 'One-Click' });
  expect(await subscriptionsOf(email)).toMatchObject({
    digest: { status: 'unsubscribed', source: 'one_click' },
  });
  await post(path, { action: 'resubscribe' });
  expect(await subscriptionsOf(email)).toMatchObject({
    digest: { status: 'subscribed', source: 'page' },
  });
  await post(path, { action: 'unsubscribe' });
  expect(await subscriptionsOf(email)).toMatchObject({
    digest: { status: 'unsubscribed', source: 'page' },
  });
  // The choice follows the contact to a new address.
  await call('PATCH', `/contacts/${email}`, { email: 'moved@example.com' });
  expect(await subscriptionsOf('moved@example.com')).toMatchObject({
    digest: { status: 'unsubscribed', source: 'page' },
  });
  expect(await statusOfNext('moved@example.com', 'digest')).toBe('suppressed');
});

test('imports and exports carry subscriptions, and no import brings back who left', async () => {
  const left = 'left@example.com';
  await put(left, { subscriptions: { digest: 'unsubscribed' } });
  const before = await subscriptionsOf(left);
  const csv =
    'email,subscription:digest,subscription:digest:changed_at\n' +
    `${left},subscribed,2026-01-01T00:00:00Z\n` +
    'new@example.com,subscribed,2026-01-01T00:00:00Z\n' +
    'out@example.com,unsubscribed,2026-01-01T00:00:00Z\n';
  expect(await importFile(csv, 'text/csv')).toMatchObject({ created: 2, unchanged: 1, failed: 0 });
  expect(await subscriptionsOf(left)).toEqual(before);
  const changed_at = '2026-01-01T00:00:00.000Z';
  const consent = { status: 'subscribed', changed_at, source: 'import' };
  expect(await subscriptionsOf('new@example.com')).toEqual({ digest: consent });
  expect(await subscriptionsOf('out@example.com')).toEqual({
    digest: { status: 'unsubscribed', changed_at, source: 'import' },
  });
  expect(await statusOfNext('out@example.com', 'digest')).toBe('suppressed');
  const lines =
    '{"email":"new@example.com","subscriptions":{"news":"subscribed"}}\n' +
    '{"email":"new@example.com","subscriptions":{"nothing":"subscribed"}}\n';
  const report = await importFile(lines, 'application/x-ndjson');
  expect(report).toMatchObject({ updated: 1, failed: 1 });
  expect(report.failures).toMatchObject([{ line: 2, field: '/subscriptions/nothing' }]);

  const exported = (await call('GET', '/contacts/export')).text;
  const again = await importFile(exported, 'application/x-ndjson');
  expect(again).toMatchObject({ created: 0, updated: 0, failed: 0 });
  const table = (await call('GET', '/contacts/export?format=csv')).text;
  expect(table.split('\r\n')[0]).toContain(
    'subscription:digest,subscription:digest:changed_at,subscription:digest:source',
  );
  expect(table).toContain(`subscribed,${changed_at},import`);
  expect(await importFile(table, 'text/csv')).toMatchObject({ created: 0, updated: 0, failed: 0 });
});

test('deleting and erasing a contact removes its record, but not the suppression', async () => {
  const { pool } = server.app.database;
  const rowsOf = async (email: string) =>
    (await pool.query('select from contact_subscriptions where email_key = $1', [email])).rowCount;
  for (const [email, query] of [
    ['deleted@example.com', ''],
    ['erased@example.com', '?erase=true&keep_suppression=true'],
  ] as const) {
    await put(email, { subscriptions: { digest: 'unsubscribed', news: 'subscribed' } });
    expect(await rowsOf(email)).toBe(2);
    await call('DELETE', `/contacts/${email}${query}`);
    expect(await rowsOf(email)).toBe(0);
    expect(await statusOfNext(email, 'digest')).toBe('suppressed');
  }
});
