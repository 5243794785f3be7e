import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { EVENT_TYPES } from '../../../src/events/event-types.ts';
import { startApp, type TestApp } from '../../harness/app.ts';
import { startWebhookReceiver } from '../../harness/webhooks/webhook-receiver.ts';

/**
 * Endpoints are created, read, changed, tested and deleted through the API; secrets are shown once; invalid fields are
 * named. One server allows private targets, one does not.
 */

let app: TestApp;
let strict: TestApp;
beforeAll(async () => {
  app = await startApp({
    env: { WEBHOOK_ALLOW_PRIVATE: 'true', WEBHOOK_PORTS: '9,443,1024-65535' },
  });
  strict = await startApp({ env: { DNS_SERVERS: '127.0.0.1:1' } });
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await strict[Symbol.asyncDispose]();
});

const UNREACHABLE_URL = 'http://127.0.0.1:9/hook';

async function made(body: Record<string, unknown> = {}) {
  const answer = await app.call('POST', '/webhooks', { body: { url: UNREACHABLE_URL, ...body } });
  expect(answer.status).toBe(201);
  return answer.json;
}

test('an endpoint can be limited to streams that exist', async () => {
  await app.call('POST', '/streams', { body: { key: 'digest', purpose: 'subscription' } });
  const { id, streams } = await made({ streams: ['digest', 'digest'] });
  expect(streams).toEqual(['digest']);
  const unknown = await app.call('PATCH', `/webhooks/${id}`, { body: { streams: ['none'] } });
  expect([unknown.status, unknown.json.errors[0].pointer]).toEqual([422, '/streams/0']);
  const used = await app.call('DELETE', '/streams/digest');
  expect([used.status, used.json.detail]).toEqual([
    409,
    `The webhook ${UNREACHABLE_URL} uses this stream.`,
  ]);
  const all = await app.call('PATCH', `/webhooks/${id}`, { body: { streams: [] } });
  expect(all.json.streams).toEqual([]);
  expect((await app.call('DELETE', '/streams/digest')).status).toBe(204);
  await app.call('DELETE', `/webhooks/${id}`);
});

test('an endpoint is created, read, changed and deleted', async () => {
  const created = await made({ events: ['message.*', 'message.*'], description: 'Shop' });
  expect(created).toMatchObject({
    url: UNREACHABLE_URL,
    events: ['message.*'],
    description: 'Shop',
    enabled: true,
    mode: 'test',
    headers: {},
    failing_since: null,
    disabled_reason: null,
  });
  const { secret, ...shown } = created;
  expect(secret).toMatch(/^whsec_/);
  const path = `/webhooks/${created.id}`;
  expect((await app.call('GET', path)).json).toEqual(shown);
  const changed = await app.call('PATCH', path, {
    body: { url: 'http://127.0.0.1:9/other', events: ['*'], description: '', enabled: false },
  });
  expect(changed.json).toMatchObject({
    url: 'http://127.0.0.1:9/other',
    events: ['*'],
    description: '',
    enabled: false,
    disabled_reason: 'manual',
  });
  expect((await app.call('GET', '/webhooks')).json.data[0]).toEqual(changed.json);
  const on = await app.call('PATCH', path, { body: { enabled: true } });
  expect(on.json).toMatchObject({ enabled: true, disabled_at: null, disabled_reason: null });
  expect((await app.call('DELETE', path)).status).toBe(204);
  for (const method of ['GET', 'DELETE']) expect((await app.call(method, path)).status).toBe(404);
});

test('a change without effect adds no event', async () => {
  const fields = { url: UNREACHABLE_URL, events: ['message.*'], headers: { Authorization: 'x' } };
  const { secret: _, ...created } = await made(fields);
  const path = `/webhooks/${created.id}`;
  for (const body of [
    { ...fields, enabled: true, description: '' },
    { headers: { Absent: null } },
  ]) {
    expect((await app.call('PATCH', path, { body })).json).toEqual(created);
  }
  expect((await app.call('GET', path)).json).toEqual(created);
  const { json } = await app.call('PATCH', path, { body: { headers: { Authorization: 'y' } } });
  expect(json.updated_at).not.toBe(created.updated_at);
});

test('the secret is shown on creation and rotation, never again', async () => {
  const { id, secret } = await made();
  const rotated = await app.call('POST', `/webhooks/${id}/rotate-secret`);
  expect(rotated.json.secret).not.toBe(secret);
  expect(Date.parse(rotated.json.previous_ends_at)).toBeGreaterThan(Date.now());
  for (const path of [`/webhooks/${id}`, '/webhooks']) {
    const { text } = await app.call('GET', path);
    expect(text).not.toContain('whsec_');
  }
  const { rows } = await app.database.pool.query('select encrypted_secret from webhook_secrets');
  const bytes = Buffer.from(secret.replace('whsec_', ''), 'base64');
  for (const row of rows) expect(row.encrypted_secret.includes(bytes)).toBe(false);
});

test('headers are changed individually, and their values are never shown', async () => {
  const { id, headers } = await made({ headers: { 'X-One': '1', 'X-Two': '2' } });
  expect(headers).toEqual({ 'X-One': '[hidden]', 'X-Two': '[hidden]' });
  const change = { headers: { 'X-Two': null, 'X-Three': '3' } };
  const { json } = await app.call('PATCH', `/webhooks/${id}`, { body: change });
  expect(json.headers).toEqual({ 'X-One': '[hidden]', 'X-Three': '[hidden]' });
});

test('failed deliveries are replayed, unless the endpoint is disabled', async () => {
  const { id } = await made();
  const replay = () => app.call('POST', `/webhooks/${id}/replay`, { body: { only_failed: true } });
  const replayed = await replay();
  expect([replayed.status, replayed.json]).toEqual([202, { replayed: 0, next_from: null }]);
  await app.call('PATCH', `/webhooks/${id}`, { body: { enabled: false } });
  const refused = await replay();
  expect([refused.status, refused.json.code]).toEqual([409, 'conflict']);
});

test('a replay with an invalid range is rejected with all errors', async () => {
  const { id } = await made();
  const day = (number: number) => `2026-11-0${number}T00:00:00Z`;
  for (const [body, ...pointers] of [
    [{ from: day(2), to: day(1) }, '/from'],
    [{ from: day(1), to: day(1) }, '/from'],
    [{ from: '9999-01-01T00:00:00Z' }, '/from'],
    [{ to: '2001-01-01T00:00:00Z' }, '/from'],
    [{ from: 'once', to: 'now' }, '/from', '/to'],
    [{ from: day(1), to: 'now' }, '/to'],
  ] as const) {
    const { status, json } = await app.call('POST', `/webhooks/${id}/replay`, { body });
    const invalidFields = json.errors?.map(({ pointer }: { pointer: string }) => pointer);
    expect([body, status, invalidFields]).toEqual([body, 422, pointers]);
  }
});

test('live and test endpoints are separate', async () => {
  const { id } = await made();
  for (const [method, path, body] of [
    ['GET', '', undefined],
    ['PATCH', '', { enabled: false }],
    ['GET', '/deliveries', undefined],
    ['POST', '/test', {}],
    ['POST', '/replay', { only_failed: true }],
    ['POST', '/rotate-secret', {}],
    ['DELETE', '', undefined],
  ] as const) {
    const answer = await app.call(method, `/webhooks/${id}${path}`, { key: app.liveKey, body });
    expect([method, path, answer.status]).toEqual([method, path, 404]);
  }
  expect((await app.call('GET', '/webhooks', { key: app.liveKey })).json.data).toEqual([]);
});

test('lists continue across pages', async () => {
  for (let n = 0; n < 3; n++) await made({ description: `page ${n}` });
  const seen: string[] = [];
  let cursor = '';
  do {
    const { json } = await app.call('GET', `/webhooks?limit=2${cursor && `&cursor=${cursor}`}`);
    seen.push(...json.data.map((one: { id: string }) => one.id));
    cursor = json.next_cursor ?? '';
  } while (cursor);
  expect(new Set(seen).size).toBe(seen.length);
  expect(seen).toEqual(seen.toSorted().reverse());
});

describe('validation rejects', () => {
  const refused = (body: unknown, on = strict) => on.call('POST', '/webhooks', { body });

  test('private addresses, by IP and by name', async () => {
    for (const url of ['https://127.0.0.1/', 'https://[::1]/', 'https://169.254.169.254/latest']) {
      const { status, json } = await refused({ url });
      expect([url, status]).toEqual([url, 422]);
      expect(json.errors).toMatchObject([{ pointer: '/url', code: 'private_target' }]);
    }
    const { json } = await refused({ url: 'https://localhost/' });
    expect(json.errors[0].code).toBe('private_target');
  });

  test('no name that cannot be resolved now, because the address is checked again on connect', async () => {
    expect((await refused({ url: 'https://not-yet.example/hook' })).status).toBe(201);
  });

  test('all invalid fields at once', async () => {
    const { json } = await refused({
      url: 'https://user@example.com/',
      headers: { Host: 'a.example', 'X-Bad': 'ü' },
    });
    expect(json.errors.map((one: { pointer: string }) => one.pointer).toSorted()).toEqual([
      '/headers/Host',
      '/headers/X-Bad',
      '/url',
    ]);
  });

  test('unknown events and an empty list', async () => {
    for (const events of [['message.eaten'], ['mess*'], []]) {
      const { status, json } = await refused({ url: 'https://example.com/', events });
      expect([events, status]).toEqual([events, 422]);
      expect(json.errors[0].pointer).toMatch(/^\/events/);
    }
  });

  test('ports that the operator does not allow', async () => {
    const { json } = await refused({ url: 'http://127.0.0.1:80/' }, app);
    expect(json.errors[0].code).toBe('port_not_allowed');
  });

  test('the fifty-first endpoint', async () => {
    const workspace = await strict.app.workspaces.create('Many');
    const key = await strict.newKey({ workspaceId: workspace.id });
    const create = () =>
      strict.call('POST', '/webhooks', { body: { url: 'https://8.8.8.8/' }, key });
    const answers = await Promise.all(Array.from({ length: 55 }, create));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(50);
    expect(answers.filter(({ json }) => json.code === 'conflict')).toHaveLength(5);
  });
});

describe('a webhook test', () => {
  test('sends a real sample of every type and returns the response', async () => {
    await using receiver = await startWebhookReceiver({
      answer: () => ({ status: 201, body: 'hi' }),
    });
    const { id, secret } = await made({ url: receiver.url, enabled: false });
    for (const type of EVENT_TYPES) {
      const { status, json } = await app.call('POST', `/webhooks/${id}/test`, { body: { type } });
      expect([type, status]).toEqual([type, 200]);
      expect(json).toMatchObject({ succeeded: true, status: 201, response_body: 'hi' });
      const sent = receiver.received.at(-1);
      expect(sent?.body).toBe(json.body);
      expect(new Webhook(secret).verify(sent?.body ?? '', sent?.headers ?? {})).toMatchObject({
        type,
        mode: 'test',
        data: expect.any(Object),
      });
    }
  });

  test('explains why there was no response', async () => {
    const { id } = await made();
    const { status, json } = await app.call('POST', `/webhooks/${id}/test`);
    expect(status).toBe(200);
    expect(json).toMatchObject({ succeeded: false, status: null, response_body: null });
    expect(json.error).toContain('connection to 127.0.0.1:9 was refused');
  });

  test('is limited to four at the same time', async () => {
    await using receiver = await startWebhookReceiver({ answer: () => 'hang' });
    const { id } = await made({ url: receiver.url });
    const waiting = Array.from({ length: 4 }, () => app.call('POST', `/webhooks/${id}/test`));
    while (receiver.received.length < 4) await new Promise((r) => setTimeout(r, 5));
    const fifth = await app.call('POST', `/webhooks/${id}/test`);
    expect([fifth.status, fifth.json.code]).toEqual([429, 'rate_limited']);
    receiver.answer = () => ({ status: 204 });
    await receiver[Symbol.asyncDispose]();
    for (const answer of await Promise.all(waiting)) expect(answer.json.succeeded).toBe(false);
  });
});
