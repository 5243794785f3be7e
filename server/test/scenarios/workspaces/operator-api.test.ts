import { afterAll, beforeAll, expect, test } from 'vitest';
import { decodeId, encodeId } from '../../../src/lib/ids.ts';
import { startApp, type TestApp, validMessage } from '../../harness/app.ts';
import { member, PASSWORD } from '../../harness/browser/dashboard-session.ts';
import { databaseEnv, runPostrider } from '../../harness/cli-process.ts';
import { documentedOperations, fillPath } from '../../harness/http/openapi-operations.ts';
import { until } from '../../harness/until.ts';

/** A platform manages its customers' workspaces with an operator key, which no customer can have. */

let app: TestApp;
let key: string;
let keyId: string;

beforeAll(async () => {
  app = await startApp();
  const made = await command('create', 'Platform');
  key = made.token;
  keyId = made.id;
});
afterAll(() => app[Symbol.asyncDispose]());

async function command(...args: string[]) {
  const env = databaseEnv(app.database);
  const ran = await runPostrider(['operator-keys', ...args, '--json'], { env });
  expect(ran).toMatchObject({ code: 0, stderr: '' });
  return JSON.parse(ran.stdout);
}

interface Pointer {
  pointer: string;
}

const isOwner = ({ role }: { role: string }) => role === 'owner';

const call = (method: string, path: string, body?: unknown) =>
  app.call(method, `/operator${path}`, { key, ...(body === undefined ? {} : { body }) });

test('no credential of a workspace can use an operation of the operator', async () => {
  const operations = (await documentedOperations(app)).filter(({ scope }) => scope === 'operator');
  expect(operations.length).toBeGreaterThan(10);
  const { visitor } = await member(app, 'owner');
  for (const { id, method, path, takesBody } of operations) {
    const url = fillPath(path, encodeId('wsp', app.workspaceId));
    const sent = takesBody ? { rawBody: '{"broken' } : {};
    const refusals = [
      await app.call(method, url, { ...sent, key: app.liveKey }),
      await visitor.call(method, url, sent),
      await app.call(method, url, { ...sent, key: null }),
      await app.call(method, url, { ...sent, key: `${key.slice(0, -1)}_` }),
    ].map(({ json }) => json.code);
    expect([id, ...refusals]).toEqual([
      id,
      'operator_key_required',
      'operator_key_required',
      'missing_api_key',
      'invalid_api_key',
    ]);
  }
});

test('the error for an invalid operator key says how to create one', async () => {
  const { json } = await app.call('GET', '/operator/status', { key: `${key.slice(0, -1)}_` });
  expect(json).toMatchObject({
    code: 'invalid_api_key',
    fix: expect.stringContaining('postrider operator-keys create'),
  });
});

test('an operator key cannot do what a workspace does', async () => {
  for (const path of ['/messages', '/limits', '/workspaces', '/audit-log']) {
    const refused = await app.call('GET', path, { key });
    expect([path, refused.status, refused.json.code]).toEqual([path, 401, 'invalid_api_key']);
  }
});

test('a workspace from its creation to its deletion', async () => {
  const once = { key, body: { name: 'Customer' }, headers: { 'idempotency-key': 'customer-1' } };
  const created = await app.call('POST', '/operator/workspaces', once);
  expect(created).toMatchObject({ status: 201, json: { name: 'Customer', suspended: null } });
  expect((await app.call('POST', '/operator/workspaces', once)).json.id).toBe(created.json.id);
  const path = `/workspaces/${created.json.id}`;
  expect((await call('PATCH', path, { name: 'Customer 1' })).json.name).toBe('Customer 1');
  expect((await call('GET', path)).json.name).toBe('Customer 1');

  const first = await call('POST', `${path}/api-keys`, {
    name: 'First key',
    mode: 'test',
    scopes: ['send:transactional'],
  });
  expect(first).toMatchObject({ status: 201, json: { created_by: keyId } });
  const sent = () =>
    app.call('POST', '/transactional/send', { key: first.json.token, body: validMessage() });
  expect((await sent()).status).toBe(202);

  const invited = await call('POST', `${path}/invitations`, {
    email: 'first@customer.example',
    role: 'owner',
  });
  expect(invited).toMatchObject({ status: 201, json: { invited_by: 'operator', mailed: false } });
  const token = new URL(invited.json.link).hash.slice(1);
  const accepted = await app.call('POST', '/invitations/accept', {
    key: null,
    headers: { 'postrider-mode': 'live' },
    body: { token, name: 'First', password: PASSWORD },
  });
  expect(accepted.status).toBeLessThan(300);
  const { person } = await member(app, 'viewer');
  const added = await call('POST', `${path}/members`, { email: person.email, role: 'developer' });
  expect(added).toMatchObject({ status: 200, json: { role: 'developer' } });
  const unknown = await call('POST', `${path}/members`, {
    email: 'no@one.example',
    role: 'viewer',
  });
  expect(unknown).toMatchObject({ status: 409, json: { code: 'conflict' } });
  const page = await call('GET', `${path}/members?limit=1`);
  expect(page.json.data).toHaveLength(1);
  const next = await call('GET', `${path}/members?cursor=${page.json.next_cursor}`);
  expect(next.json).toMatchObject({ data: [{}], next_cursor: null });

  // Members can be removed, except the last owner and those of other workspaces.
  const remove = (id: string) => call('DELETE', `${path}/members/${id}`);
  const owner = next.json.data.concat(page.json.data).find(isOwner);
  expect((await remove(owner.id)).json.code).toBe('last_owner');
  expect((await remove(encodeId('usr', person.id))).status).toBe(204);
  expect((await remove(encodeId('usr', person.id))).status).toBe(404);
  expect((await call('GET', `${path}/members`)).json.data).toMatchObject([{ role: 'owner' }]);

  const suspended = await call('POST', `${path}/suspension`, { reason: 'Unpaid invoice' });
  expect(suspended.json.suspended).toMatchObject({ reason: 'Unpaid invoice' });
  expect((await call('DELETE', `${path}/suspension`)).json.suspended).toBeNull();
  expect((await call('POST', `${path}/suspension`, { reason: ' ' })).status).toBe(422);

  const wrong = await call('POST', `${path}/deletion`, { name: 'Another' });
  expect(wrong).toMatchObject({ status: 422, json: { errors: [{ pointer: '/name' }] } });
  const deleted = await call('POST', `${path}/deletion`, { name: 'Customer 1' });
  expect(deleted).toMatchObject({ status: 202, json: { deletion: {} } });
  expect((await call('DELETE', `${path}/deletion`)).json.deletion).toBeNull();

  // The customer sees what was done, but not from where.
  const live = { name: 'Auditor', scopes: ['read:audit_log'] };
  const auditor = (await call('POST', `${path}/api-keys`, live)).json;
  expect(auditor.mode).toBe('live');
  const { json: log } = await app.call('GET', '/audit-log', { key: auditor.token });
  expect(log.data[1]).toMatchObject({
    action: 'restoreOperatorWorkspace',
    actor: { type: 'operator_key', id: keyId },
    ip: null,
  });
  const server = await call('GET', '/audit-log?limit=2');
  expect(server.json.data[1]).toMatchObject({
    action: 'restoreOperatorWorkspace',
    target: created.json.id,
    ip: expect.any(String),
  });
  expect(server.json.next_cursor).toEqual(expect.any(String));
});

test('a workspace has a name that is not blank', async () => {
  const { id } = (await call('POST', '/workspaces', { name: 'Named' })).json;
  for (const [method, path] of [
    ['POST', '/workspaces'],
    ['PATCH', `/workspaces/${id}`],
  ] as const) {
    const { status, json } = await call(method, path, { name: ' \t' });
    expect([status, json.errors[0].pointer]).toEqual([422, '/name']);
  }
  expect((await call('GET', `/workspaces/${id}`)).json.name).toBe('Named');
});

test('all workspaces are listed in pages', async () => {
  for (let index = 0; index < 3; index++) await call('POST', '/workspaces', { name: `W${index}` });
  const names: string[] = [];
  for (let cursor = ''; ; ) {
    const { json } = await call('GET', `/workspaces?limit=2${cursor && `&cursor=${cursor}`}`);
    names.push(...json.data.map(({ name }: { name: string }) => name));
    if (json.next_cursor === null) break;
    cursor = json.next_cursor;
  }
  expect(names.slice(0, 3)).toEqual(['W2', 'W1', 'W0']);
  expect(names.at(-1)).toBe('Test');
  expect((await call('GET', `/workspaces/${encodeId('wsp', crypto.randomUUID())}`)).status).toBe(
    404,
  );
});

test('the status and the queue of the server, and a search in its workspaces', async () => {
  const { id } = (await call('POST', '/workspaces', { name: 'Searched for' })).json;
  await call('POST', `/workspaces/${id}/suspension`, { reason: 'Unpaid invoice' });
  await app.app.domains.trust(app.workspaceId, { name: 'example.org' });
  const scheduled_at = new Date(Date.now() + 86_400_000).toISOString();
  const to = [{ email: 'a@receiver.example' }];
  const sent = await app.call('POST', '/transactional/send', {
    key: app.liveKey,
    body: validMessage({ scheduled_at, to }),
  });
  expect(sent.status).toBe(202);
  // Neither the list nor the status counts test mail.
  const ofTest = await app.call('POST', '/transactional/send', {
    body: validMessage({ scheduled_at, to }),
  });
  expect(ofTest.status).toBe(202);

  const { json: queue } = await call('GET', '/queue');
  const workspace = { id: encodeId('wsp', app.workspaceId), name: 'Test' };
  expect(queue).toMatchObject({ more: false, throttled_receivers: [], warm_ups: [] });
  expect(queue.data).toEqual([
    {
      workspace,
      receiver: 'receiver.example',
      queued: 0,
      deferred: 0,
      scheduled: 1,
      next_attempt_at: scheduled_at,
      reason: null,
    },
  ]);

  // The statistics follow the event log.
  const status = async () => (await call('GET', '/status')).json;
  await until(async () => (await status()).last_24_hours.messages === 1);
  const list = async (query: string) => (await call('GET', `/workspaces?${query}`)).json.data;
  const { total, ...states } = (await status()).workspaces;
  expect(total).toBe((await list('limit=100')).length);
  expect(states).toEqual({ suspended: 1, deleting: 0, slowed: 0, paused: 0 });
  expect((await status()).queue).toMatchObject({ queued: 0, scheduled: 1, oldest_due_at: null });

  expect(await list('suspended=true')).toMatchObject([{ id, brake: null, messages_this_month: 0 }]);
  expect(await list('q=searched')).toMatchObject([{ id }]);
  expect(await list('q=test')).toMatchObject([{ name: 'Test', messages_this_month: 1 }]);
});

test('a workspace is exported as a whole, on the record', async () => {
  const { json: workspace } = await call('POST', '/workspaces', { name: 'Leaving' });
  const path = `/workspaces/${workspace.id}`;
  const scopes = ['send:transactional', 'write:contacts', 'write:templates', 'read:audit_log'];
  const created = await call('POST', `${path}/api-keys`, { name: 'Key', mode: 'live', scopes });
  const own = (method: string, at: string, body?: unknown) =>
    app.call(method, at, { key: created.json.token, ...(body === undefined ? {} : { body }) });
  for (let n = 0; n < 101; n++) {
    expect((await own('POST', '/contacts', { email: `c${n}@example.com` })).status).toBe(201);
  }
  await own('POST', '/templates', { key: 'bye', name: 'Bye', subject: 'Bye', html: '<p>Bye</p>' });
  // Larger than a piece of the stream, and of a size that is not a multiple of three.
  const file = Buffer.alloc(200_000, 'Ä');
  const attachments = [
    { filename: 'a.bin', content: file.toString('base64') },
    { filename: 'b.txt', content: Buffer.from('b').toString('base64') },
  ];
  await app.app.domains.trust(decodeId('wsp', workspace.id) as string, { name: 'example.org' });
  const scheduled_at = new Date(Date.now() + 86_400_000).toISOString();
  const message = (more: object) => validMessage({ scheduled_at, ...more });
  const sent = await own('POST', '/transactional/send', message({ attachments }));
  expect(sent.status).toBe(202);
  expect((await own('POST', '/transactional/send', message({}))).status).toBe(202);
  const exported = (query = '') =>
    fetch(`${app.url}/api/v1/operator${path}/export${query}`, {
      headers: { authorization: `Bearer ${key}` },
    });
  const response = await exported();
  expect(response.headers.get('content-type')).toContain('application/x-ndjson');
  const text = await response.text();
  const lines = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  const counts = Object.groupBy(lines, ({ type }) => type);
  expect(lines[0]).toMatchObject({ type: 'workspace', data: { name: 'Leaving' } });
  expect(counts.contact).toHaveLength(101);
  expect(counts.template?.[0].data).toMatchObject({ key: 'bye', fields: { html: '<p>Bye</p>' } });
  expect(counts.api_key?.[0].data).toMatchObject({ id: created.json.id });
  expect(counts.message).toHaveLength(2);
  expect(counts.message_content?.map(({ data }) => data)).toMatchObject([
    { html: validMessage().html, attachments: [] },
    { message_id: sent.json.id, attachments },
  ]);
  expect(await (await exported('?contents=false')).text()).not.toContain('message_content');
  expect(counts.event?.length).toBeGreaterThan(0);
  expect(counts.audit_log_entry?.length).toBeGreaterThan(101);
  expect(text).not.toContain(created.json.token);
  const { json: log } = await own('GET', '/audit-log?limit=1');
  expect(log.data[0]).toMatchObject({ action: 'exportOperatorWorkspace', target: workspace.id });
  const missing = `/workspaces/${encodeId('wsp', crypto.randomUUID())}/export`;
  expect((await call('GET', missing)).status).toBe(404);
});

test('inbound messages are exported as they were received', async () => {
  await app.call('POST', '/domains', { body: { name: 'reply.test' } });
  const receive = async (content: string) => {
    const { json } = await app.call('POST', '/inbound-messages/simulate', {
      body: {
        from: { email: 'jane@example.com' },
        to: { email: 'desk@reply.test' },
        subject: 'Files',
        text: 'Here they are.',
        attachments: [{ filename: 'a.txt', content: Buffer.from(content).toString('base64') }],
      },
    });
    return json.id as string;
  };
  // Larger than a piece of the stream.
  const [kept, expired] = [await receive('Ä'.repeat(100_000)), await receive('b')];
  await app.app.storage.pool.query('delete from inbound_contents where id = $1', [
    decodeId('inm', expired),
  ]);
  const get = async (url: string, token: string) => {
    const response = await fetch(`${app.url}/api/v1${url}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    return Buffer.from(await response.arrayBuffer());
  };
  const path = `/operator/workspaces/${encodeId('wsp', app.workspaceId)}/export?mode=test`;
  const lines = async (query = '') =>
    (await get(`${path}${query}`, key))
      .toString()
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
      .filter(({ type }) => type.startsWith('inbound_message'));
  const listed = [expired, kept].map((id) => ({ type: 'inbound_message', data: { id } }));
  const [first, second, content, ...others] = await lines();
  expect([first, second]).toMatchObject(listed);
  const raw = await get(`/inbound-messages/${kept}/raw`, app.testKey);
  expect(content.type).toBe('inbound_message_content');
  expect(content.data.inbound_message_id).toBe(kept);
  expect(Buffer.from(content.data.raw, 'base64').equals(raw)).toBe(true);
  expect(others).toEqual([]);
  expect(await lines('&contents=false')).toMatchObject(listed);
});

test('only an instance owner manages operator keys, and with a password', async () => {
  const { visitor, person } = await member(app, 'owner', 'instance-owner@people.example');
  const wanted = { name: 'Screen', allowed_ips: ['127.0.0.0/8', '::1'], password: PASSWORD };
  const create = (body: object = wanted) => visitor.call('POST', '/operator-keys', { body });
  expect((await visitor.call('GET', '/me')).json.instance_owner).toBe(false);
  expect(await create()).toMatchObject({ status: 403, json: { code: 'insufficient_role' } });
  expect((await visitor.call('GET', '/operator-keys')).status).toBe(403);
  expect((await visitor.call('DELETE', `/operator-keys/${keyId}`)).status).toBe(403);
  // A stolen key could otherwise create others before it is revoked.
  for (const other of [key, app.liveKey]) {
    const refused = await app.call('POST', '/operator-keys', { key: other, body: wanted });
    expect([401, 403]).toContain(refused.status);
  }

  const env = databaseEnv(app.database);
  await runPostrider(['people', 'add-instance-owner', person.email], { env });
  expect((await visitor.call('GET', '/me')).json.instance_owner).toBe(true);
  expect((await create({ ...wanted, password: 'wrong' })).json.errors[0].pointer).toBe('/password');
  const past = { ...wanted, allowed_ips: ['nowhere'], expires_at: '2020-01-01T00:00:00Z' };
  const pointers = (await create(past)).json.errors.map(({ pointer }: Pointer) => pointer);
  expect(pointers).toEqual(['/allowed_ips/0', '/expires_at']);
  const created = await create();
  expect(created).toMatchObject({ status: 201, json: { name: 'Screen', revoked_at: null } });
  const use = async () =>
    (await app.call('GET', '/operator/status', { key: created.json.token })).status;
  expect(await use()).toBe(200);

  const page = await visitor.call('GET', '/operator-keys?limit=1');
  expect(page.json.data).toMatchObject([{ id: created.json.id }]);
  const next = await visitor.call('GET', `/operator-keys?cursor=${page.json.next_cursor}`);
  expect(next.json.data).toMatchObject([{ id: keyId }]);
  const { id } = created.json;
  const revoked = await visitor.call('DELETE', `/operator-keys/${id}`);
  expect(revoked).toMatchObject({ status: 200, json: { revoked_at: expect.any(String) } });
  expect(await use()).toBe(401);

  const { json: log } = await call('GET', '/audit-log?limit=100');
  const mine = log.data.filter(({ target }: { target: string }) => target === id);
  expect(mine).toMatchObject([
    { action: 'revokeOperatorKey', actor: { type: 'user', id: encodeId('usr', person.id) } },
    { action: 'createOperatorKey', actor: { type: 'user' } },
  ]);
  expect(JSON.stringify(log)).not.toContain(PASSWORD);
  expect(JSON.stringify(log)).not.toContain(created.json.token);
  await runPostrider(['people', 'remove-instance-owner', person.email], { env });
  expect((await create()).status).toBe(403);
});

test('a revoked key, and one from elsewhere, are refused at once', async () => {
  const made = await command(
    'create',
    'Short',
    '--allowed-ips',
    '127.0.0.0/8,::1',
    '--expires',
    '1h',
  );
  const status = async (token: string) =>
    (await app.call('GET', '/operator/workspaces', { key: token })).json.code;
  expect(await status(made.token)).toBeUndefined();
  await command('revoke', made.id);
  expect(await status(made.token)).toBe('revoked_api_key');
  const elsewhere = await command('create', 'Elsewhere', '--allowed-ips', '203.0.113.7');
  expect(await status(elsewhere.token)).toBe('ip_not_allowed');
  const { data } = await command('list');
  // IDs of this process may carry later times: they never go back after a test clock ran ahead.
  const names = data.map(({ name }: { name: string }) => name);
  expect(names.filter((name: string) => name !== 'Screen')).toEqual([
    'Elsewhere',
    'Short',
    'Platform',
  ]);
  expect(names).toContain('Screen');
  expect(JSON.stringify(data)).not.toContain(elsewhere.token);
  // So may its entries.
  const { json } = await call('GET', '/audit-log?limit=100');
  const actions = json.data.map(({ action }: { action: string }) => action);
  expect(actions.filter((action: string) => action.startsWith('operator-keys'))).toEqual([
    'operator-keys create',
    'operator-keys revoke',
    'operator-keys create',
    'operator-keys create',
  ]);
});
