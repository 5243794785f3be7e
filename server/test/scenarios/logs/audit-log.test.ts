import { afterAll, beforeAll, expect, test } from 'vitest';
import { COMMANDS } from '../../../src/cli/commands.ts';
import { NOT_AUDITED } from '../../../src/cli/running-command.ts';
import { encodeId } from '../../../src/lib/ids.ts';
import { silentLog } from '../../../src/lib/log.ts';
import { systemClock } from '../../../src/lib/time/clock.ts';
import { AuditLog } from '../../../src/logs/audit-log.ts';
import { startApp, type TestApp, validMessage } from '../../harness/app.ts';
import { member, SessionClient } from '../../harness/browser/dashboard-session.ts';
import { databaseEnv, runPostrider } from '../../harness/cli-process.ts';
import { until } from '../../harness/delivery/delivery-engine.ts';
import { startWebhookReceiver } from '../../harness/webhooks/webhook-receiver.ts';

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

test('a change whose end is not known is an entry with the outcome unknown', async () => {
  const { pool } = app.database;
  const change = {
    where: { workspaceId: app.workspaceId },
    mode: 'test' as const,
    action: 'deleteTemplate',
    actor: 'cli',
    target: 'welc\0ome',
    client: null,
    details: {},
  };
  const auditLog = new AuditLog({ pool, clock: systemClock, log: silentLog });
  // As if the server had ended between the two, 20 minutes ago and just now.
  await auditLog.begin(change);
  await pool.query(`update audit_intents set created_at = created_at - interval '20 minutes'`);
  await auditLog.begin({ ...change, target: 'recent' });
  await auditLog.recordUnfinished();
  await auditLog.recordUnfinished();
  expect(await list('?action=deleteTemplate')).toMatchObject([
    { target: 'welcome', outcome: 'unknown', details: { started_at: expect.any(String) } },
  ]);
  await pool.query('delete from audit_intents');
  // Neither changes nor refused changes leave an intent.
  const created = await app.call('POST', '/webhooks', { body: { url: 'http://127.0.0.1/a' } });
  await app.call('DELETE', `/webhooks/${created.json.id}`);
  expect((await app.call('DELETE', `/webhooks/${created.json.id}`)).status).toBe(404);
  const run = (...args: string[]) => runPostrider(args, { env: databaseEnv(app.database) });
  expect((await run('workspaces', 'suspend', 'Nobody')).code).not.toBe(0);
  expect((await pool.query('select * from audit_intents')).rows).toEqual([]);
});

test('entries are events for those who select them and may read the audit log', async () => {
  await using receiver = await startWebhookReceiver();
  await using other = await startWebhookReceiver();
  const weak = await app.newKey({
    scopes: ['read:events', 'read:webhooks', 'write:webhooks', 'write:templates'],
  });
  const asWeak = async (method: string, path: string, body?: object) =>
    (await app.call(method, path, { key: weak, ...(body ? { body } : {}) })).status;
  const create = (url: string, events: string[]) =>
    app.call('POST', '/webhooks', { body: { url, events } });
  expect(await asWeak('POST', '/webhooks', { url: receiver.url, events: ['audit.*'] })).toBe(403);
  expect((await create(receiver.url, ['audit.*', 'message.*'])).json.errors).toMatchObject([
    { pointer: '/events', code: 'audit_only' },
  ]);
  const { json: audit } = await create(receiver.url, ['audit.*']);
  const { json: all } = await create(other.url, ['*']);
  const { json: template } = await app.call('POST', '/templates', {
    body: { key: 'audited', subject: 'Hi', html: '<p>Hi</p>' },
  });
  await app.call('POST', '/suppressions', { body: { email: 'no@example.com' } });

  // The endpoint for audit events gets nothing else, the one for all events none of them.
  const entries = () => receiver.received.map(({ body }) => JSON.parse(body).data.entry);
  await until(
    () => entries().some(({ target }) => target === template.id) && other.received.length >= 1,
  );
  const types = (one: { received: readonly { body: string }[] }): Set<string> =>
    new Set(one.received.map(({ body }) => JSON.parse(body).type));
  expect(types(receiver)).toEqual(new Set(['audit.recorded']));
  expect([...types(other)].filter((type) => type.startsWith('audit.'))).toEqual([]);
  const [entry] = await list(`?target=${template.id}&action=createTemplate`);
  const { name: _, ...actor } = entry.actor;
  expect(entries()).toContainEqual({ ...entry, actor });

  // In the feed they are left out unless they are selected; live mode has those of both modes.
  const feed = async (query: string, key = app.testKey) =>
    (await app.call('GET', `/events?limit=100&${query}`, { key })).json.data;
  const unselected = await feed('');
  expect(unselected.map(({ type }: { type: string }) => type)).toContain('suppression.created');
  expect(JSON.stringify(unselected)).not.toContain('audit.recorded');
  const ids = (events: { data: { entry: { id: string } } }[]) =>
    events.map(({ data }) => data.entry.id);
  expect(ids(await feed('type=audit.*'))).toContain(entry.id);
  expect(ids(await feed('type=audit.recorded', app.liveKey))).toContain(entry.id);
  expect(await asWeak('GET', '/events')).toBe(200);
  expect(await asWeak('GET', '/events?type=audit.*')).toBe(403);
  expect(await asWeak('GET', '/events/export?type=audit.*&format=ndjson')).toBe(403);
  expect(await asWeak('GET', '/events/stream?type=message.*,audit.recorded')).toBe(403);

  // Who may not read the audit log cannot divert the endpoint, or read what it received.
  const { json: deliveries } = await app.call('GET', `/webhooks/${audit.id}/deliveries`);
  const path = `/webhooks/${audit.id}`;
  const delivery = deliveries.data[0].id;
  expect(await asWeak('GET', `${path}/deliveries/${delivery}`)).toBe(403);
  expect(await asWeak('GET', `/webhook-deliveries/${delivery}`)).toBe(403);
  expect(await asWeak('PATCH', path, { url: other.url })).toBe(403);
  expect(await asWeak('POST', `${path}/replay`, { delivery_id: delivery })).toBe(403);
  expect(await asWeak('POST', `${path}/rotate-secret`, {})).toBe(403);
  expect(await asWeak('POST', `${path}/test`, {})).toBe(403);
  expect(await asWeak('DELETE', path)).toBe(403);
  const change = (id: string, events: string[]) =>
    app.call('PATCH', `/webhooks/${id}`, { body: { events } });
  expect((await change(audit.id, ['message.*'])).status).toBe(422);
  expect((await change(all.id, ['audit.recorded'])).status).toBe(422);
  expect((await app.call('GET', `${path}/deliveries/${delivery}`)).status).toBe(200);
  // A replay of everything leaves them out as well.
  const before = other.received.length;
  const from = new Date(Date.now() - 3_600_000).toISOString();
  await app.call('POST', `/webhooks/${all.id}/replay`, { body: { from } });
  await until(() => other.received.length > before);
  expect([...types(other)].filter((type) => type.startsWith('audit.'))).toEqual([]);
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
