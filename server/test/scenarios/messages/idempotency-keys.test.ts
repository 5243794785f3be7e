import { hash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { canonicalRequest } from '../../../src/messages/accept/idempotency.ts';
import { startApp, type TestApp, validMessage } from '../../harness/app.ts';

/**
 * A repeated request, by retry or by race, creates one message and gets one response. Real requests carry an
 * Idempotency-Key; messages are counted through the list, not by responses.
 */

let app: TestApp;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app[Symbol.asyncDispose]());

function send(key: string, changes: Record<string, unknown> = {}, path = '/transactional/send') {
  const body = path.endsWith('batch') ? changes : validMessage(changes);
  return app.call('POST', path, { body, headers: { 'idempotency-key': key } });
}

async function countTagged(tag: string): Promise<number> {
  return (await app.call('GET', `/messages?tag=${tag}&limit=100`)).json.data.length;
}

test('the same key and body replay the first response', async () => {
  const first = await send('again', { tags: ['again'] });
  const second = await send('again', { tags: ['again'] });
  expect(first.headers.get('idempotent-replayed')).toBeNull();
  expect(second.headers.get('idempotent-replayed')).toBe('true');
  expect(second.status).toBe(202);
  expect(second.text).toBe(first.text);
  expect(second.headers.get('location')).toBe(first.headers.get('location'));
  expect(await countTagged('again')).toBe(1);
});

test('a replayed response of another POST has the same Location header', async () => {
  const email = `where-${Date.now()}@example.com`;
  for (const [path, body, place] of [
    ['/contacts', { email }, `/api/v1/contacts/${encodeURIComponent(email)}`],
    ['/templates', { key: `t-${Date.now()}` }, /^\/api\/v1\/templates\/t-/],
  ] as const) {
    const headers = { 'idempotency-key': `where ${path} ${email}`.replaceAll(' ', '-') };
    const first = await app.call('POST', path, { body, headers });
    const second = await app.call('POST', path, { body, headers });
    expect([first.status, second.status]).toEqual([201, 201]);
    expect(second.headers.get('idempotent-replayed')).toBe('true');
    expect(first.headers.get('location')).toMatch(place);
    expect(second.headers.get('location')).toBe(first.headers.get('location'));
  }
});

test('the same JSON in another notation is the same body', async () => {
  const body = { ...validMessage(), tags: ['spelling'] };
  const reversed = Object.fromEntries(Object.entries(body).reverse());
  const headers = { 'idempotency-key': 'spelling' };
  const first = await app.call('POST', '/transactional/send', { body, headers });
  const second = await app.call('POST', '/transactional/send', {
    rawBody: JSON.stringify(reversed, null, 2),
    headers: { ...headers, 'content-type': 'application/json' },
  });
  expect(second.json.id).toBe(first.json.id);
});

test('the same key with another body is rejected and accepts nothing', async () => {
  await send('other', { tags: ['other'] });
  const second = await send('other', { tags: ['other'], subject: 'Something else' });
  expect(second.status).toBe(422);
  expect(second.json.code).toBe('idempotency_key_reused');
  expect(await countTagged('other')).toBe(1);
});

test('concurrent requests create one message', async () => {
  const answers = await Promise.all(
    Array.from({ length: 40 }, () => send('race', { tags: ['race'] })),
  );
  const ids = new Set(answers.filter(({ status }) => status === 202).map(({ json }) => json.id));
  expect(ids.size).toBe(1);
  for (const answer of answers) {
    if (answer.status !== 202) expect(answer.json.code).toBe('idempotency_key_in_progress');
  }
  expect(await countTagged('race')).toBe(1);
});

test('concurrent requests on two nodes create one message', async () => {
  await using other = await startApp({ database: app.database });
  const headers = { 'idempotency-key': 'nodes' };
  const body = validMessage({ tags: ['nodes'] });
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, i) =>
      (i % 2 ? app : other).call('POST', '/transactional/send', {
        body,
        headers,
        key: app.testKey,
      }),
    ),
  );
  expect(new Set(answers.filter((one) => one.status === 202).map((one) => one.json.id)).size).toBe(
    1,
  );
  expect(await countTagged('nodes')).toBe(1);
});

test('a replay succeeds even if the request would be rejected now', async () => {
  const scheduled_at = new Date(Date.now() + 3_000).toISOString();
  const first = await send('late', { scheduled_at });
  expect(first.status).toBe(202);
  while (Date.now() <= Date.parse(scheduled_at)) await new Promise((done) => setTimeout(done, 50));
  const second = await send('late', { scheduled_at });
  expect(second.text).toBe(first.text);
  const unknown = await send('late-2', { scheduled_at });
  expect(unknown.json.code).toBe('validation_failed');
});

test('a rejected request does not use up its key', async () => {
  const refused = await send('free', { to: { email: 'nobody' } });
  expect(refused.status).toBe(422);
  expect((await send('free')).status).toBe(202);
});

test('keys are scoped to a mode and a workspace', async () => {
  const workspace = await app.app.workspaces.create('Another');
  const key = await app.newKey({ workspaceId: workspace.id });
  const own = await send('mine', { tags: ['mine'] });
  const headers = { 'idempotency-key': 'mine' };
  const theirs = await app.call('POST', '/transactional/send', {
    body: validMessage({ tags: ['mine'] }),
    headers,
    key,
  });
  expect(theirs.status).toBe(202);
  expect(theirs.json.id).not.toBe(own.json.id);
});

test('a batch is replayed as a whole', async () => {
  const batch = {
    messages: [validMessage({ tags: ['batch'] }), validMessage({ tags: ['batch'] })],
  };
  const first = await send('batch', batch, '/transactional/batch');
  const second = await send('batch', batch, '/transactional/batch');
  expect(first.status).toBe(202);
  expect(second.text).toBe(first.text);
  expect(await countTagged('batch')).toBe(2);
});

test('a permissive batch is replayed byte for byte, with the errors of the first request', async () => {
  const batch = {
    mode: 'permissive',
    messages: [validMessage(), { to: { email: 'nobody' } }, validMessage({ headers: { To: 'x' } })],
  };
  const first = await send('mixed', batch, '/transactional/batch');
  const second = await send('mixed', batch, '/transactional/batch');
  expect(first.json.data.map((item: object) => Object.keys(item))).toEqual([
    ['index', 'message'],
    ['index', 'error'],
    ['index', 'error'],
  ]);
  expect(second.headers.get('idempotent-replayed')).toBe('true');
  expect(second.text).toBe(first.text);
});

test('creating an API key twice with one Idempotency-Key returns one key and the same secret', async () => {
  const headers = { 'idempotency-key': 'new-key' };
  const body = { name: 'Once', scopes: ['read:messages'] };
  const first = await app.call('POST', '/api-keys', { body, headers });
  const second = await app.call('POST', '/api-keys', { body, headers });
  expect(first.status).toBe(201);
  expect(second.status).toBe(201);
  expect(second.json.token).toBe(first.json.token);
  const { rows } = await app.database.pool.query<{ result: Buffer }>(
    `select result from idempotency_keys where key = 'new-key'`,
  );
  expect(rows[0]?.result.includes(first.json.token)).toBe(false);
});

test('a completed request whose response could not be stored is reported and not executed again', async () => {
  await app.database.pool.query(`
    create or replace function reject_response() returns trigger language plpgsql as
      $$ begin raise 'shut down' using errcode = 'admin_shutdown'; end $$;
    create or replace trigger reject_response before update on idempotency_keys for each row
      when (new.key = 'unkept' and new.result is not null) execute function reject_response()`);
  const create = () =>
    app.call('POST', '/api-keys', {
      body: { name: 'Unkept', scopes: ['read:messages'] },
      headers: { 'idempotency-key': 'unkept' },
    });
  expect(await create()).toMatchObject({
    status: 201,
    json: { token: expect.stringMatching(/^pr_/) },
  });
  expect(await create()).toMatchObject({
    status: 409,
    json: { code: 'idempotency_key_in_progress' },
  });
  const { data } = (await app.call('GET', '/api-keys?q=Unkept')).json;
  expect(data).toHaveLength(1);
});

test('the stored fingerprint cannot be used to guess a message', async () => {
  const key = `kept-${Date.now()}`;
  await send(key, { subject: 'Your code is 123456' });
  const path = '/api/v1/transactional/send';
  const body = validMessage({ subject: 'Your code is 123456' });
  const { rows } = await app.database.pool.query<{ hash: string }>(
    `select encode(request_hash, 'hex') as hash from idempotency_keys where key = $1`,
    [key],
  );
  expect(rows).toHaveLength(1);
  expect(rows[0]?.hash).not.toBe(hash('sha256', canonicalRequest('POST', path, body)));
});

test('an expired key can be used again for another request', async () => {
  const key = `old-${Date.now()}`;
  // Not removed yet, with an encrypted response.
  await app.database.pool.query(
    `insert into idempotency_keys (workspace_id, mode, key, request_hash, result, result_encrypted, created_at)
     values ($1, 'test', $2, '\\x00', '\\x00', true, $3)`,
    [app.workspaceId, key, new Date(Date.now() - 86_400_500)],
  );
  const first = await send(key);
  const again = await send(key);
  expect([first.status, again.status, again.text]).toEqual([202, 202, first.text]);
});
