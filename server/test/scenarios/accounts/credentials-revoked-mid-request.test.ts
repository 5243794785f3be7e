import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startApp, type TestApp, validMessage } from '../../harness/app.ts';
import { member } from '../../harness/browser/dashboard-session.ts';

/**
 * A permission that is lost while a request body is still being received is not used. The tests send the
 * headers and half of a body, wait until the server has checked the headers, revoke the permission,
 * then send the rest.
 */

let app: TestApp;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app[Symbol.asyncDispose]());

async function slowly(
  path: string,
  headers: Record<string, string>,
  body: object | string,
  meanwhile: () => Promise<unknown>,
): Promise<string> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const socket = connect(Number(new URL(app.url).port), '127.0.0.1');
  await once(socket, 'connect');
  const head = Object.entries({
    host: 'postrider.test',
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(text)),
    connection: 'close',
    expect: '100-continue',
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`POST /api/v1${path} HTTP/1.1\r\n${head.join('')}\r\n${text.slice(0, 10)}`);
  const [interim] = (await once(socket.setEncoding('utf8'), 'data')) as [string];
  expect(interim).toBe('HTTP/1.1 100 Continue\r\n\r\n');
  await meanwhile();
  socket.write(text.slice(10));
  let answer = '';
  for await (const chunk of socket) answer += chunk;
  return answer;
}

test('a key revoked during the request sends nothing', async () => {
  const made = await app.call('POST', '/api-keys', { body: { name: 'Lost' } });
  const bearer = { authorization: `Bearer ${made.json.token}` };
  const good = await slowly('/transactional/send', bearer, validMessage(), async () => {});
  expect(good).toContain('HTTP/1.1 202');
  const revoke = () => app.call('DELETE', `/api-keys/${made.json.id}`);
  const answer = await slowly('/transactional/send', bearer, validMessage(), revoke);
  expect(answer).toContain('HTTP/1.1 401');
  expect(answer).toContain('"code":"revoked_api_key"');
});

test('a key revoked during the request imports nothing', async () => {
  const made = await app.call('POST', '/api-keys', { body: { name: 'Lost' } });
  const headers = { authorization: `Bearer ${made.json.token}`, 'content-type': 'text/csv' };
  const good = await slowly('/contacts/import', headers, CSV('good'), async () => {});
  expect(good).toContain('HTTP/1.1 202');
  const revoke = () => app.call('DELETE', `/api-keys/${made.json.id}`);
  const keyed = { ...headers, 'idempotency-key': 'once' };
  const answer = await slowly('/contacts/import', keyed, CSV('bad'), revoke);
  expect(answer).toContain('HTTP/1.1 401');
  expect(answer).toContain('"code":"revoked_api_key"');
  const { rows } = await app.database.pool.query('select created_by from contact_imports');
  expect(rows).toHaveLength(1);
});

const CSV = (name: string): string => `email,first_name\r\n${name}@example.com,${name}\r\n`;

test('a user demoted or signed out during the request creates no key', async () => {
  const { visitor: owner } = await member(app, 'owner');
  const { visitor: admin, person } = await member(app, 'admin');
  const headers = {
    cookie: admin.cookie ?? '',
    origin: 'http://postrider.test',
    'postrider-workspace': admin.workspace ?? '',
    'postrider-mode': 'live',
  };
  const body = { name: 'A persistent key', scopes: ['write:domains'] };
  const make = (role: string) =>
    owner.call('PATCH', `/members/${person.publicId}`, { body: { role } });
  const demoted = await slowly('/api-keys', headers, body, () => make('viewer'));
  expect(demoted).toContain('HTTP/1.1 403');
  expect(demoted).toContain('"code":"insufficient_role"');
  await make('admin');
  const out = () => admin.call('DELETE', '/session');
  expect(await slowly('/api-keys', headers, body, out)).toContain('HTTP/1.1 401');
  const { data } = (await owner.call('GET', '/api-keys')).json;
  expect(data.map((one: { name: string }) => one.name)).not.toContain(body.name);
});
