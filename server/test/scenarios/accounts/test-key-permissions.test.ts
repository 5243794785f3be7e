import { afterAll, beforeAll, expect, test } from 'vitest';
import { startApp, type TestApp, validMessage } from '../../harness/app.ts';

/**
 * Live and test mode share templates, layouts and partials. A test key can write drafts, preview and
 * send them, but nothing it does changes live mail.
 */

let app: TestApp;

beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app[Symbol.asyncDispose]());

const CONTENTS = [
  ['templates', { subject: 'Old', html: '<p>old</p>' }, { html: '<p>new</p>' }],
  ['layouts', { html: '<div>{{ content }}</div>' }, { html: '<p>{{ content }}</p>' }],
  ['partials', { html: '<i>old</i>' }, { html: '<i>new</i>' }],
] as const;

test.each(CONTENTS)('a test key cannot publish or delete published %s', async (kind, old, next) => {
  const asTest = (method: string, path: string, body?: object) =>
    app.call(method, path, { key: app.testKey, ...(body ? { body } : {}) });
  const path = `/${kind}/shared`;
  await asTest('POST', `/${kind}`, { key: 'shared', ...old });
  expect((await app.call('POST', `${path}/publish`, { key: app.liveKey, body: {} })).status).toBe(
    200,
  );
  expect((await asTest('PATCH', path, next)).status).toBe(200);

  for (const [method, target, body] of [
    ['POST', `${path}/publish`, {}],
    ['POST', `${path}/publish`, { version: 1 }],
    ['DELETE', path],
    ['DELETE', `${path}?force=true`],
  ] as const) {
    const refused = await asTest(method, target, body);
    expect([target, refused.status, refused.json.code]).toEqual([target, 403, 'wrong_mode']);
  }
  const after = await asTest('GET', path);
  expect(after.json).toMatchObject({ published_version: 1, ...next });
});

test('a test key sends drafts, and deletes what was never published', async () => {
  const key = app.testKey;
  const draft = { key: 'draft-only', subject: 'Draft', html: '<p>draft</p>' };
  await app.call('POST', '/templates', { key, body: draft });
  const { to, from } = validMessage();
  const body = { to, from, template_key: 'draft-only', template_version: 'draft' };
  const sent = await app.call('POST', '/transactional/send', { key, body });
  expect(sent.status).toBe(202);
  expect((await app.call('DELETE', '/templates/draft-only', { key })).status).toBe(204);
});

test('scopes that a test key can never use are not granted to one', async () => {
  const wanted = { name: 'Test', mode: 'test', scopes: ['read:domains', 'write:domains'] };
  const refused = await app.call('POST', '/api-keys', { key: app.liveKey, body: wanted });
  expect(refused.status).toBe(422);
  expect(refused.json.errors).toMatchObject([{ pointer: '/scopes/1', code: 'live_keys_only' }]);

  const all = { name: 'Test', mode: 'test' };
  const made = await app.call('POST', '/api-keys', { key: app.liveKey, body: all });
  expect(made.json.scopes).toContain('read:domains');
  expect(made.json.scopes).not.toContain('write:domains');
  const changed = await app.call('PATCH', `/api-keys/${made.json.id}`, {
    key: app.liveKey,
    body: { scopes: ['write:domains'] },
  });
  expect(changed.json.errors).toMatchObject([{ pointer: '/scopes/0', code: 'live_keys_only' }]);
});
