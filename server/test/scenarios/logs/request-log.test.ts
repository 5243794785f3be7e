import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startApp, type TestApp, validMessage } from '../../harness/app.ts';
import { member } from '../../harness/browser/dashboard-session.ts';

/** API requests are found in the request log of their workspace, with what went wrong. */

let app: TestApp;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app[Symbol.asyncDispose]());

const list = async (query = '', key?: string) =>
  (await app.call('GET', `/requests${query}`, key ? { key } : {})).json.data;

const requestIdOf = (response: { headers: Headers }): string =>
  response.headers.get('x-request-id') ?? '';

test('a rejected send is found by status, with its problem, its fix and what was sent', async () => {
  const body = validMessage({
    subject: undefined,
    template_key: 'Not A Key',
    template_variables: { code: '482913', link: 'https://shop.example/reset/abc' },
    headers: { Authorization: 'Bearer abcdefgh' },
  });
  const rejected = await app.call('POST', '/transactional/send', { body });
  expect(rejected.status).toBe(422);
  const [found, ...others] = await list('?status=422');
  expect(others).toEqual([]);
  expect(found).toMatchObject({
    id: requestIdOf(rejected),
    method: 'POST',
    path: '/api/v1/transactional/send',
    operation: 'sendTransactional',
    status: 422,
    problem_code: 'validation_failed',
    message_id: null,
    api_key_id: found.actor,
  });
  const { json, text } = await app.call('GET', `/requests/${found.id}`);
  expect(json.problem).toMatchObject({ fix: rejected.json.fix, errors: rejected.json.errors });
  expect(json.body).toMatchObject({
    template_key: 'Not A Key',
    template_variables: { code: '[redacted]', link: '[redacted]' },
    headers: { Authorization: '[redacted]' },
  });
  expect(text).not.toMatch(/482913|reset\/abc|abcdefgh/);
  expect(text).not.toContain(app.testKey);
});

test('a successful send links to its message and keeps no body', async () => {
  const sent = await app.call('POST', '/transactional/send', { body: validMessage() });
  const { json } = await app.call('GET', `/requests/${requestIdOf(sent)}`);
  expect(json).toMatchObject({ status: 202, message_id: sent.json.id, body: null, problem: null });
  const read = await app.call('GET', `/messages/${sent.json.id}`);
  const [found] = await list(`?request_id=${requestIdOf(read)}`);
  expect(found).toMatchObject({ operation: 'getMessage', message_id: sent.json.id });
});

test('filters: method, path, key, period, and unknown paths', async () => {
  const key = await app.newKey({ scopes: ['read:logs', 'read:messages'] });
  const typo = await app.call('GET', '/mesages', { key });
  const forbidden = await app.call('DELETE', '/contacts/jane@example.com', { key });
  expect([typo.status, forbidden.status]).toEqual([404, 403]);
  const [own] = await list('?status=404');
  expect(own).toMatchObject({ id: requestIdOf(typo), path: '/api/v1/mesages', operation: null });
  const mine = await list(`?api_key_id=${own.api_key_id}&status=4xx`);
  expect(mine.map(({ status }: { status: number }) => status)).toEqual([403, 404]);
  expect(mine[0]).toMatchObject({
    path: '/api/v1/contacts/[address]',
    problem_code: 'insufficient_scope',
  });
  expect(await list(`?api_key_id=${own.api_key_id}&method=DELETE&path=/contacts`)).toHaveLength(1);
  const { created_at: at } = own;
  const later = encodeURIComponent(new Date(Date.parse(at) + 1).toISOString());
  expect(await list(`?status=404&created_before=${encodeURIComponent(at)}`)).toEqual([]);
  expect(await list(`?status=404&created_before=${later}`)).toHaveLength(1);
  expect(await list(`?status=404&created_after=${later}`)).toEqual([]);
  expect((await app.call('GET', '/requests?status=9xx')).status).toBe(422);
});

test('requests of the compatible APIs are logged too', async () => {
  const response = await fetch(`${app.url}/compat/postmark/email`, {
    method: 'POST',
    headers: { 'x-postmark-server-token': app.testKey, 'content-type': 'application/json' },
    body: JSON.stringify({ From: 'hello@shop.example', To: 'jane@example.com' }),
  });
  expect(response.status).toBe(422);
  const [found] = await list('?path=/compat/postmark');
  expect(found).toMatchObject({ status: 422, path: '/compat/postmark/email' });
});

test('members: what they read is not logged, what they change or may not do is', async () => {
  const { visitor } = await member(app, 'viewer');
  const reading = await visitor.call('GET', '/messages');
  const refused = await visitor.call('POST', '/contacts', { body: { email: 'a@b.example' } });
  expect([reading.status, refused.status]).toEqual([200, 403]);
  const { json } = await visitor.call('GET', '/requests?status=403&path=/contacts&method=POST');
  expect(json.data).toHaveLength(1);
  expect(json.data[0]).toMatchObject({ api_key_id: null, problem_code: 'insufficient_role' });
  // The editor renders a preview after every change.
  await app.call('POST', '/templates', { body: { key: 'seen', subject: 'Hi', html: '<p>Hi</p>' } });
  const preview = await visitor.call('POST', '/templates/seen/render', { body: {} });
  expect(preview.status).toBe(200);
  for (const request of [reading, preview]) {
    const found = await visitor.call('GET', `/requests?request_id=${requestIdOf(request)}`);
    expect(found.json.data).toEqual([]);
  }
});

test('a workspace, a mode and a key without the scope see nothing of it', async () => {
  const { id } = await app.app.workspaces.create('Other');
  const stranger = await app.newKey({ workspaceId: id });
  const weak = await app.newKey({ scopes: ['read:messages'] });
  const [own] = await list('?status=422');
  for (const key of [stranger, app.liveKey]) {
    expect(await list('?status=422', key)).toEqual([]);
    expect(await list(`?request_id=${own.id}`, key)).toEqual([]);
    expect((await app.call('GET', `/requests/${own.id}`, { key })).status).toBe(404);
  }
  expect((await app.call('GET', '/requests', { key: weak })).status).toBe(403);
});

test('a request whose client has disconnected is logged, with its address', async () => {
  const { hostname, port } = new URL(app.url);
  const socket = connect(Number(port), hostname);
  const request = (path: string): string =>
    `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${app.testKey}\r\n\r\n`;
  socket.write(request('/healthz'));
  await once(socket, 'data');
  // The server shares this event loop, so it reads the second request after the reset.
  socket.write(request('/api/v1/messages/none'));
  socket.resetAndDestroy();
  const path = '/api/v1/messages/none';
  await expect.poll(() => list(`?path=${path}`)).toMatchObject([{ path, status: 404 }]);
  const [logged] = await list(`?path=${path}`);
  expect(logged.ip).toBe('127.0.0.1');
});
