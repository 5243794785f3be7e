import { afterAll, beforeAll, expect, test } from 'vitest';
import { COMMANDS } from '../../src/cli/commands.ts';
import { NOT_AUDITED } from '../../src/cli/running-command.ts';
import { encodeId } from '../../src/lib/ids.ts';
import { startApp, type TestApp, validMessage } from '../harness/app.ts';
import { databaseEnv, runPostrider } from '../harness/cli-process.ts';
import { member, SessionClient } from '../harness/dashboard-session.ts';

/** Changes by keys, members and the command line are in the audit log, which cannot be changed. */

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ env: { WEBHOOK_ALLOW_PRIVATE: 'true' } });
});
afterAll(() => app[Symbol.asyncDispose]());

const list = async (query = '', key = app.liveKey) =>
  (await app.call('GET', `/audit-log${query}`, { key })).json.data;

test('a change by an API key is recorded before it is answered', async () => {
  const body = { url: 'http://127.0.0.1/hook', events: ['*'], headers: { 'X-Key': 'sesame' } };
  const created = await app.call('POST', '/webhooks', { body });
  expect(created.status).toBe(201);
  const [entry] = await list();
  expect(entry).toMatchObject({
    action: 'createWebhook',
    actor: { type: 'api_key', name: 'A key' },
    target: created.json.id,
    mode: 'test',
    request_id: created.headers.get('x-request-id'),
    ip: expect.stringMatching(/127\.0\.0\.1|::1/),
    details: { body: { ...body, headers: { 'X-Key': '[redacted]' } } },
  });
  await app.call('DELETE', `/webhooks/${created.json.id}`);
  const entries = await list(`?target=${created.json.id}`);
  expect(entries.map(({ action }: { action: string }) => action)).toEqual([
    'deleteWebhook',
    'createWebhook',
  ]);
});

test('sends, reads and failed requests leave no entry; a compatible API does', async () => {
  const [before] = await list();
  await app.call('POST', '/transactional/send', { body: validMessage() });
  await app.call('GET', '/webhooks');
  await app.call('POST', '/webhooks', { body: { url: 'no url' } });
  expect((await list())[0].id).toBe(before.id);
  const response = await fetch(`${app.url}/compat/resend/templates`, {
    method: 'POST',
    headers: { authorization: `Bearer ${app.testKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'Hi', subject: 'Hi', html: '<p>Hi</p>' }),
  });
  expect(response.status).toBeLessThan(300);
  expect((await list())[0]).toMatchObject({ action: 'createTemplate', mode: 'test' });
});

test('a repeated request with an idempotency key is one change', async () => {
  const request = { body: { name: 'Once' }, headers: { 'idempotency-key': 'create-once' } };
  const created = await app.call('POST', '/api-keys', request);
  expect((await app.call('POST', '/api-keys', request)).json.id).toBe(created.json.id);
  expect(await list(`?action=createApiKey&target=${created.json.id}`)).toHaveLength(1);
});

test('a member: sign-in, changes of the workspace and of the account', async () => {
  const { person, visitor } = await member(app, 'owner');
  expect((await new SessionClient(app).signIn(person.email)).status).toBe(200);
  const entriesOf = () => list(`?actor=${person.publicId}`);
  expect(await entriesOf()).toMatchObject([
    { action: 'signIn', actor: { type: 'user', name: person.name } },
  ]);
  await visitor.call('PATCH', '/me', { body: { name: 'Ada' } });
  const workspace = encodeId('wsp', app.workspaceId);
  await visitor.call('PATCH', `/workspaces/${workspace}`, { body: { name: 'Renamed' } });
  const invited = { body: { email: 'new@people.example', role: 'viewer' } };
  expect((await visitor.call('POST', '/invitations', invited)).status).toBe(201);
  const entries = await entriesOf();
  expect(entries.map(({ action }: { action: string }) => action)).toEqual([
    'createInvitation',
    'updateWorkspace',
    'updateMe',
    'signIn',
  ]);
  expect(entries[0]).toMatchObject({
    actor: { name: 'Ada' },
    details: { body: { email: '[address]', role: 'viewer' } },
  });
  expect(JSON.stringify(entries)).not.toContain('new@people.example');
});

test('a command is recorded, one that reads is not', async () => {
  const run = (...args: string[]) => runPostrider(args, { env: databaseEnv(app.database) });
  const created = await run(
    'keys',
    'create',
    '--name',
    'CI',
    '--mode',
    'test',
    '--scopes',
    'all',
    '--json',
  );
  expect(created.code).toBe(0);
  const { id } = JSON.parse(created.stdout);
  expect((await run('keys', 'list')).code).toBe(0);
  const [entry, ...others] = await list('?actor=cli');
  expect(others).toEqual([]);
  expect(entry).toMatchObject({
    action: 'keys create',
    actor: { type: 'cli', id: null, name: null },
    target: id,
    ip: null,
    request_id: null,
    mode: null,
    details: { arguments: [], options: { name: 'CI', mode: 'test', scopes: 'all' } },
  });
  const names = new Set(COMMANDS.map(({ name }) => name));
  expect([...NOT_AUDITED].filter((name) => !names.has(name))).toEqual([]);
});

test('the database refuses to change or delete an entry', async () => {
  const { pool } = app.database;
  const refused = { constraint: 'audit_log_append_only' };
  await expect(pool.query(`update audit_log set action = 'nothing'`)).rejects.toMatchObject(
    refused,
  );
  await expect(pool.query('delete from audit_log')).rejects.toMatchObject(refused);
  expect((await list()).length).toBeGreaterThan(5);
});

test('a workspace sees only its own entries, a test key only those of test mode', async () => {
  const { id } = await app.app.workspaces.create('Other');
  const stranger = await app.newKey({ workspaceId: id, mode: 'live' });
  expect(await list('', stranger)).toEqual([]);
  await app.call('POST', '/domains', { body: { name: 'shop.example' } });
  expect((await list('?action=createDomain'))[0]).toMatchObject({ mode: 'live' });
  const seen = await list('', app.testKey);
  expect(new Set(seen.map(({ mode }: { mode: string }) => mode))).toEqual(new Set(['test']));
  const weak = await app.newKey({ scopes: ['read:logs'] });
  expect((await app.call('GET', '/audit-log', { key: weak })).status).toBe(403);
  expect((await app.call('GET', '/audit-log?actor=jane')).status).toBe(422);
});
