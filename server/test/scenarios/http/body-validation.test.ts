import { afterAll, beforeAll, expect, test } from 'vitest';
import { startApp, type TestApp } from '../../harness/app.ts';
import { member, SessionClient } from '../../harness/browser/dashboard-session.ts';

/**
 * An invalid type in one field does not hide errors in other fields: a client that fixes everything
 * that a response lists is not rejected again for an error that was already there. The bodies combine
 * fields with invalid types and fields with invalid values, for every resource except messages.
 */

let app: TestApp;

beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app[Symbol.asyncDispose]());

const PAST = '2020-01-01T00:00:00Z';

test.each([
  [
    'a contact',
    'POST /contacts',
    { email: 5, first_name: 'a\nb', locale: 'not a locale', attributes: { email: 'x' }, extra: 1 },
    ['/attributes/email', '/email', '/extra', '/first_name', '/locale'],
  ],
  [
    'updating a contact',
    'PATCH /contacts/jane@example.com',
    { first_name: 5, last_name: 'a\nb' },
    ['/first_name', '/last_name'],
  ],
  [
    'putting a contact',
    'PUT /contacts/jane@example.com',
    { first_name: 5, locale: 'not a locale' },
    ['/first_name', '/locale'],
  ],
  [
    'a suppression',
    'POST /suppressions',
    { domain: 'no domain', note: 5, expires_at: PAST },
    ['/domain', '/expires_at', '/note'],
  ],
  [
    'a suppression whose target has an invalid type',
    'POST /suppressions',
    { email: 5, expires_at: PAST },
    ['/email', '/expires_at'],
  ],
  [
    'updating a suppression',
    'PATCH /suppressions/sup_01kc8x3g0kf3s9w2a4b6c8d0e2',
    { note: 5, expires_at: PAST },
    ['/expires_at', '/note'],
  ],
  [
    'an API key',
    'POST /api-keys',
    { name: 5, allowed_domains: ['no domain'], allowed_ips: ['x'], expires_at: PAST },
    ['/allowed_domains/0', '/allowed_ips/0', '/expires_at', '/name'],
  ],
  [
    'a webhook endpoint',
    'POST /webhooks',
    { url: 'ftp://example.com', enabled: 'yes', headers: { Host: 'x' } },
    ['/enabled', '/headers/Host', '/url'],
  ],
  [
    'a template',
    'POST /templates',
    { key: 'No Key', name: 'a\nb', from: { email: 'x' }, locales: { '??': { html: 'x' } } },
    ['/from/email', '/key', '/locales/??', '/name'],
  ],
  [
    'updating a template',
    'PATCH /templates/welcome',
    { name: 'a\nb', html: 5 },
    ['/html', '/name'],
  ],
  [
    'a domain',
    'POST /domains',
    { name: 'no domain', return_path_host: 'x', tracking_host: 'y', tls: 'perhaps' },
    ['/name', '/return_path_host', '/tls', '/tracking_host'],
  ],
  [
    'a domain without fields of an invalid type',
    'POST /domains',
    { name: 'shop.example', return_path_host: 'x.example', tracking_host: 'y.example' },
    ['/return_path_host', '/tracking_host'],
  ],
  [
    'a replay',
    'POST /webhooks/whk_01kc8x3g0kf3s9w2a4b6c8d0e2/replay',
    { from: PAST, to: '2019-01-01T00:00:00Z', only_failed: 'yes' },
    ['/from', '/only_failed'],
  ],
])('%s', async (_, operation, body, pointers) => {
  const [method, path] = operation.split(' ') as [string, string];
  const { status, json } = await app.call(method, path, { body, key: app.liveKey });
  expect(json.errors.map((error: { pointer: string }) => error.pointer).sort()).toEqual(pointers);
  expect(status).toBe(422);
});

test('the name of a stream is one line that is not blank', async () => {
  for (const name of ['  ', 'a\nb']) {
    const body = { key: 'digest', purpose: 'subscription', name };
    const { json } = await app.call('POST', '/streams', { body, key: app.liveKey });
    const detail = 'Must not be blank or contain control characters.';
    expect(json.errors).toEqual([{ pointer: '/name', code: 'invalid_format', detail }]);
  }
});

test('a live webhook endpoint must use https', async () => {
  const body = { url: 'http://example.com/hook', enabled: 'yes' };
  const { json } = await app.call('POST', '/webhooks', { body, key: app.liveKey });
  expect(json.errors).toHaveLength(2);
});

test('creating the first account', async () => {
  const body = { email: 'jane', name: '', password: 'short' };
  const { json } = await new SessionClient(app).call('POST', '/setup', { body });
  const pointers = json.errors.map((error: { pointer: string }) => error.pointer).sort();
  expect(pointers).toEqual(['/email', '/name', '/password']);
});

test('names that consist of white space are refused, and change nothing', async () => {
  const { visitor } = await member(app, 'owner');
  const workspaces = async () => (await visitor.call('GET', '/workspaces')).json.data;
  const apiKeys = async () => (await app.call('GET', '/api-keys')).json.data;
  const before = [await workspaces(), await apiKeys(), (await visitor.call('GET', '/me')).json];
  const [{ id: workspace }] = before[0];
  const [{ id: apiKey }] = before[1];
  for (const name of [' ', '\t\n', '\u00a0\u2003']) {
    for (const [client, method, path] of [
      [app, 'POST', '/api-keys'],
      [app, 'PATCH', `/api-keys/${apiKey}`],
      [visitor, 'POST', '/workspaces'],
      [visitor, 'PATCH', `/workspaces/${workspace}`],
      [visitor, 'PATCH', '/me'],
    ] as const) {
      const { status, json } = await client.call(method, path, { body: { name } });
      expect([path, status, json.errors]).toEqual([
        path,
        422,
        [{ pointer: '/name', code: 'invalid_format', detail: 'Must not be blank.' }],
      ]);
    }
  }
  const after = [await workspaces(), await apiKeys(), (await visitor.call('GET', '/me')).json];
  expect(after).toEqual(before);
  // What precedes and follows a name is the caller's business.
  const spaced = await app.call('POST', '/api-keys', { body: { name: ' Shop ' } });
  expect(spaced).toMatchObject({ status: 201, json: { name: ' Shop ' } });
});
