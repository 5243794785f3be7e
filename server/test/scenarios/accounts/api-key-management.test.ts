import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startApp, type TestApp, type TestResponse, validMessage } from '../../harness/app.ts';
import { until } from '../../harness/delivery/delivery-engine.ts';

/**
 * API keys are created, changed, rotated and revoked through the API; changes apply immediately, and no
 * key can create one with more permissions than its own. The tests use the keys that they create.
 */

let app: TestApp;

beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app[Symbol.asyncDispose]());

async function made(body: object = {}): Promise<{ id: string; token: string }> {
  const answer = await app.call('POST', '/api-keys', { body: { name: 'Mine', ...body } });
  expect([answer.status, answer.text]).toEqual([201, answer.text]);
  return answer.json;
}

const use = (key: string): Promise<TestResponse> => app.call('GET', '/limits', { key });

test('a secret is shown on creation and never again', async () => {
  const { id, token } = await made();
  expect((await use(token)).status).toBe(200);
  for (const path of [`/api-keys/${id}`, '/api-keys']) {
    const { text } = await app.call('GET', path);
    expect(text).toContain(token.slice(-4));
    expect(text).not.toContain(token);
  }
});

test('changes apply immediately', async () => {
  const { id, token } = await made();
  const changed = await app.call('PATCH', `/api-keys/${id}`, {
    body: { name: 'Readers', scopes: ['read:messages'], allowed_domains: ['Example.org'] },
  });
  expect(changed.status).toBe(200);
  expect(changed.json).toMatchObject({
    name: 'Readers',
    scopes: ['read:messages'],
    allowed_domains: ['example.org'],
  });
  const refused = await app.call('POST', '/transactional/send', {
    body: validMessage(),
    key: token,
  });
  expect(refused.json.code).toBe('insufficient_scope');
  expect((await app.call('GET', '/messages', { key: token })).status).toBe(200);
});

test('all invalid restrictions of a key are reported at once, on creation and on update', async () => {
  const wrong = {
    allowed_domains: ['-'],
    allowed_ips: ['x'],
    allowed_streams: ['none'],
    expires_at: '2001-01-01T00:00:00Z',
  };
  const { json: key } = await app.call('POST', '/api-keys', { body: { name: 'Limited' } });
  const made = await app.call('POST', '/api-keys', { body: { name: 'Limited', ...wrong } });
  const changed = await app.call('PATCH', `/api-keys/${key.id}`, { body: wrong });
  for (const { status, json } of [made, changed]) {
    expect(status).toBe(422);
    expect(json.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual([
      '/allowed_domains/0',
      '/allowed_ips/0',
      '/expires_at',
      '/allowed_streams/0',
    ]);
  }
});

test('expires_at needs a UTC offset', async () => {
  for (const expires_at of ['2999', '2999-01-01', '2999-01-01T00:00:00', 'Jan 1 2999']) {
    const { status, json } = await app.call('POST', '/api-keys', {
      body: { name: 'K', expires_at },
    });
    expect([expires_at, status]).toEqual([expires_at, 422]);
    expect(json.errors).toMatchObject([{ pointer: '/expires_at', code: 'invalid_time' }]);
  }
  const body = { name: 'K', expires_at: '2999-01-01T00:00:00+01:00' };
  const { json } = await app.call('POST', '/api-keys', { body });
  expect(json.expires_at).toBe('2998-12-31T23:00:00.000Z');
});

test('after rotation both secrets work for a while, then only the new one', async () => {
  const { id, token } = await made();
  const rotated = await app.call('POST', `/api-keys/${id}/rotate`, { body: {} });
  expect(rotated.status).toBe(200);
  expect(rotated.json.token).not.toBe(token);
  expect(Date.parse(rotated.json.previous_ends_at)).toBeGreaterThan(Date.now());
  for (const secret of [token, rotated.json.token]) expect((await use(secret)).status).toBe(200);
  const at_once = { body: { grace_seconds: 0 } };
  const again = await app.call('POST', `/api-keys/${id}/rotate`, at_once);
  for (const secret of [token, rotated.json.token]) {
    await until(async () => (await use(secret)).status === 401);
  }
  expect((await use(again.json.token)).status).toBe(200);
});

test('a rotated-out secret cannot rotate the key again', async () => {
  const { id, token } = await made();
  const rotated = await app.call('POST', `/api-keys/${id}/rotate`, { body: {} });
  for (const path of ['/api-keys', `/api-keys/${id}/rotate`]) {
    const body = path === '/api-keys' ? { name: 'Heir' } : {};
    const refused = await app.call('POST', path, { key: token, body });
    expect([path, refused.json.code]).toEqual([path, 'insufficient_scope']);
    const allowed = await app.call('POST', path, { key: rotated.json.token, body });
    expect([path, allowed.status < 300]).toEqual([path, true]);
  }
});

test('an idempotent replay returns the secret of a key only to its creator', async () => {
  const weak = await made({ scopes: ['read:api_keys', 'write:api_keys'] });
  const request = {
    body: { name: 'Once', scopes: ['send:transactional'] },
    headers: { 'idempotency-key': `once-${weak.id}` },
  };
  const first = await app.call('POST', '/api-keys', request);
  const again = await app.call('POST', '/api-keys', request);
  expect(again.json.token).toBe(first.json.token);
  const stolen = await app.call('POST', '/api-keys', { ...request, key: weak.token });
  expect([stolen.status, stolen.json.code]).toEqual([422, 'idempotency_key_reused']);
});

test('a revoked key is rejected, stays listed and cannot be changed', async () => {
  const { id, token } = await made();
  const revoked = await app.call('DELETE', `/api-keys/${id}`);
  expect([revoked.status, typeof revoked.json.revoked_at]).toEqual([200, 'string']);
  expect((await use(token)).json.code).toBe('revoked_api_key');
  const changed = await app.call('PATCH', `/api-keys/${id}`, { body: { name: 'Alive' } });
  expect([changed.status, changed.json.code]).toEqual([409, 'conflict']);
  const rotated = await app.call('POST', `/api-keys/${id}/rotate`, { body: {} });
  expect([rotated.status, rotated.json.code]).toEqual([409, 'conflict']);
  const again = await app.call('DELETE', `/api-keys/${id}`);
  expect(again.json.revoked_at).toBe(revoked.json.revoked_at);
  const { data } = (await app.call('GET', '/api-keys')).json;
  expect(data.find((one: { id: string }) => one.id === id).revoked_at).not.toBeNull();
});

test('no key can create, change or rotate a key beyond its own permissions', async () => {
  const strong = await made();
  const weak = await made({ scopes: ['read:api_keys', 'write:api_keys'] });
  const bound = await made({ allowed_domains: ['example.org'] });
  const refused = async (key: string, method: string, path: string, body: object) => {
    const answer = await app.call(method, path, { key, body });
    expect([method, path, answer.json.code]).toEqual([method, path, 'insufficient_scope']);
  };
  const more = { scopes: ['send:transactional'] };
  await refused(weak.token, 'POST', '/api-keys', { name: 'More', ...more });
  await refused(weak.token, 'PATCH', `/api-keys/${weak.id}`, more);
  await refused(weak.token, 'POST', `/api-keys/${strong.id}/rotate`, {});
  await refused(bound.token, 'POST', '/api-keys', { name: 'Free' });
  await refused(bound.token, 'PATCH', `/api-keys/${bound.id}`, { allowed_domains: [] });
  const near = await made({ allowed_ips: ['127.0.0.0/8', '::1'] });
  for (const allowed_ips of [[], ['0.0.0.0/0'], ['127.0.0.1', '203.0.113.1'], ['126.0.0.0/7']]) {
    await refused(near.token, 'POST', '/api-keys', { name: 'Far', allowed_ips });
    await refused(near.token, 'PATCH', `/api-keys/${near.id}`, { allowed_ips });
  }
  await refused(near.token, 'POST', `/api-keys/${strong.id}/rotate`, {});
  const inside = { name: 'Near', allowed_ips: ['127.0.0.1', '127.1.0.0/16', '::1/128'] };
  expect((await app.call('POST', '/api-keys', { key: near.token, body: inside })).status).toBe(201);
  const brief = await made({ expires_at: '2990-01-01T00:00:00Z' });
  for (const expires_at of [null, '2990-01-01T00:00:01Z']) {
    await refused(brief.token, 'POST', '/api-keys', { name: 'Long', expires_at });
    await refused(brief.token, 'PATCH', `/api-keys/${brief.id}`, { expires_at });
  }
  await refused(brief.token, 'POST', `/api-keys/${strong.id}/rotate`, {});
  const sooner = { name: 'Brief', expires_at: '2990-01-01T00:00:00Z' };
  expect((await app.call('POST', '/api-keys', { key: brief.token, body: sooner })).status).toBe(
    201,
  );
  const other = { name: 'Live', mode: 'live' };
  const crossed = await app.call('POST', '/api-keys', { key: app.testKey, body: other });
  expect([crossed.status, crossed.json.code]).toEqual([403, 'wrong_mode']);
  const live = await app.call('POST', '/api-keys', { key: app.liveKey, body: { name: 'Live' } });
  for (const [method, path] of [
    ['GET', ''],
    ['DELETE', ''],
    ['POST', '/rotate'],
  ]) {
    const answer = await app.call(method as string, `/api-keys/${live.json.id}${path}`);
    expect([method, answer.status]).toEqual([method, 404]);
  }
});

describe('SES credentials', () => {
  const path = (id: string) => `/api-keys/${id}/ses-credentials`;

  test('are shown once, listed without their secret, and encrypted at rest', async () => {
    const { json: key } = await app.call('POST', '/api-keys', {
      key: app.liveKey,
      body: { name: 'SES' },
    });
    const made = await app.call('POST', path(key.id), { key: app.liveKey });
    expect(made.status).toBe(201);
    expect(made.json.access_key_id).toMatch(/^PRLIVE[A-Z2-7]{14}$/);
    const { secret_access_key: secret } = made.json;
    expect(secret).toMatch(/^pr_ses_[0-9A-Za-z]{38}$/);
    const { access_key_id, created_by, created_at } = made.json;
    const listed = await app.call('GET', path(key.id), { key: app.liveKey });
    expect(listed.json).toEqual({ data: [{ access_key_id, created_by, created_at }] });
    const { rows } = await app.database.pool.query('select * from ses_credentials');
    expect(JSON.stringify(rows)).not.toContain(secret);
    expect(rows[0].encrypted_secret.includes(Buffer.from(secret))).toBe(false);
  });

  test('a key has at most two, which are revoked one by one or with the key', async () => {
    const { json: key } = await app.call('POST', '/api-keys', { body: { name: 'SES' } });
    const [first] = [await app.call('POST', path(key.id)), await app.call('POST', path(key.id))];
    expect((await app.call('POST', path(key.id))).json).toMatchObject({
      code: 'conflict',
      detail: expect.stringContaining('at most 2'),
    });
    const one = `${path(key.id)}/${first.json.access_key_id}`;
    expect((await app.call('DELETE', one)).status).toBe(204);
    expect((await app.call('DELETE', one)).status).toBe(404);
    expect((await app.call('GET', path(key.id))).json.data).toHaveLength(1);
    await app.call('DELETE', `/api-keys/${key.id}`);
    expect((await app.call('GET', path(key.id))).json.data).toEqual([]);
    expect((await app.call('POST', path(key.id))).json.code).toBe('conflict');
  });

  test('cannot be made for a key with more rights, another mode or another workspace', async () => {
    const { json: strong } = await app.call('POST', '/api-keys', { body: { name: 'Strong' } });
    const weak = await app.newKey({ mode: 'test', scopes: ['write:api_keys', 'read:api_keys'] });
    const refused = await app.call('POST', path(strong.id), { key: weak });
    expect(refused.json).toMatchObject({ status: 403, code: 'insufficient_scope' });
    const { json: live } = await app.call('POST', '/api-keys', {
      key: app.liveKey,
      body: { name: 'L' },
    });
    expect((await app.call('POST', path(live.id))).status).toBe(404);
    const other = await app.app.workspaces.create('Other');
    const stranger = await app.newKey({ mode: 'live', workspaceId: other.id });
    expect((await app.call('POST', path(live.id), { key: stranger })).status).toBe(404);
    expect((await app.call('GET', path(live.id), { key: stranger })).status).toBe(404);
    const created = await app.call('POST', path(live.id), { key: app.liveKey });
    const one = `${path(live.id)}/${created.json.access_key_id}`;
    expect((await app.call('DELETE', one, { key: stranger })).status).toBe(404);
    expect(
      (await app.call('DELETE', `${path(strong.id)}/${created.json.access_key_id}`)).status,
    ).toBe(404);
  });
});
