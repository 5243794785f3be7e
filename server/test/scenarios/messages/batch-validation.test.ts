import { afterAll, beforeAll, expect, test } from 'vitest';
import { startApp, type TestApp, validMessage } from '../../harness/app.ts';

/**
 * A message that is invalid on its own is rejected in a batch too, with the same code and a pointer to
 * it: a strict batch then accepts nothing, a permissive one accepts the others. Each invalid message
 * of a table is sent alone and between two valid ones.
 */

let app: TestApp;
let limitedKey: string;

beforeAll(async () => {
  app = await startApp({ env: { ROLES: 'api' } });
  await app.app.domains.trust(app.workspaceId, { name: 'ours.example' });
  const pending = await app.call('POST', '/domains', {
    key: app.liveKey,
    body: { name: 'pending.example' },
  });
  expect(pending.status).toBe(201);
  limitedKey = await app.newKey({ mode: 'live', allowedDomains: ['ours.example'] });
});
afterAll(() => app[Symbol.asyncDispose]());

const from = (email: string) => validMessage({ from: { email } });
const good = from('hello@ours.example');

const WRONG: [string, () => string, Record<string, unknown>][] = [
  ['domain_not_owned', () => app.liveKey, from('hello@theirs.example')],
  ['domain_not_verified', () => app.liveKey, from('hello@pending.example')],
  ['domain_not_allowed', () => limitedKey, from('hello@theirs.example')],
  ['missing_variables', () => app.testKey, validMessage({ subject: '${name}' })],
  ['template_syntax', () => app.testKey, validMessage({ subject: '${name' })],
  [
    'template_limit',
    () => app.testKey,
    validMessage({
      html: '{% for a in (1..9999) %}{% for b in (1..9999) %}x{% endfor %}{% endfor %}',
    }),
  ],
  ['content_conflict', () => app.testKey, validMessage({ template_key: 'x' })],
  ['content_missing', () => app.testKey, validMessage({ html: undefined })],
  [
    'template_not_found',
    () => app.testKey,
    { ...validMessage({ template_key: 'x' }), ...noContent() },
  ],
  ['validation_failed', () => app.testKey, validMessage({ to: { email: 'nobody' } })],
  ['validation_failed', () => app.testKey, validMessage({ to: undefined })],
  ['validation_failed', () => app.testKey, validMessage({ unknown: 1, headers: { From: 'x' } })],
];

function noContent(): Record<string, unknown> {
  return { subject: undefined, html: undefined };
}

async function messages(): Promise<number> {
  const { rows } = await app.database.pool.query('select count(*)::int as count from messages');
  return rows[0].count;
}

test.each(WRONG)('%s', async (code, key, wrong) => {
  const alone = await app.call('POST', '/transactional/send', { key: key(), body: wrong });
  expect(alone.json.code).toBe(code);
  const before = await messages();
  const batch = [good, wrong, good];
  const strict = await app.call('POST', '/transactional/batch', {
    key: key(),
    body: { messages: batch },
  });
  expect([strict.status, strict.json.code]).toEqual([alone.status, code]);
  expect(strict.json.errors.length).toBeGreaterThan(0);
  for (const { pointer } of strict.json.errors) expect(pointer).toMatch(/^\/messages\/1/);
  expect(await messages()).toBe(before);

  const permissive = await app.call('POST', '/transactional/batch', {
    key: key(),
    body: { messages: batch, mode: 'permissive' },
  });
  expect(permissive.status).toBe(202);
  expect(permissive.json.data).toMatchObject([
    { index: 0, message: { status: 'queued' } },
    { index: 1, error: { code } },
    { index: 2, message: { status: 'queued' } },
  ]);
  expect(await messages()).toBe(before + 2);
});

test('an item that is not a message at all is the only one rejected', async () => {
  const { status, json } = await app.call('POST', '/transactional/batch', {
    body: { messages: [validMessage(), 'no message', null], mode: 'permissive' },
  });
  expect(status).toBe(202);
  expect(json.data).toMatchObject([
    { index: 0, message: { status: 'queued' } },
    { index: 1, error: { code: 'validation_failed', errors: [{ pointer: '/messages/1' }] } },
    { index: 2, error: { code: 'validation_failed', errors: [{ pointer: '/messages/2' }] } },
  ]);
});

test('the messages of a batch share one limit on rendering work', async () => {
  const html = '{% for i in (1..40000) %}{{ i | plus: 1 }}{% endfor %}';
  const alone = await app.call('POST', '/transactional/send', { body: validMessage({ html }) });
  expect(alone.status).toBe(202);
  const { status, json } = await app.call('POST', '/transactional/batch', {
    body: { messages: Array.from({ length: 5 }, () => validMessage({ html })), mode: 'permissive' },
  });
  expect(status).toBe(202);
  expect(json.data[0]).toMatchObject({ message: { status: 'queued' } });
  expect(json.data[4]).toMatchObject({
    error: { code: 'template_limit', errors: [{ pointer: '/messages/4/html' }] },
  });
  expect(json.data[4].error.detail).toMatch(/smaller batches/);
});

test('a permissive batch without any valid message is rejected', async () => {
  const wrong = validMessage({ subject: '${name}' });
  const { status, json } = await app.call('POST', '/transactional/batch', {
    body: { messages: [wrong, wrong], mode: 'permissive' },
  });
  expect(status).toBe(422);
  expect(json.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual([
    '/messages/0/subject',
    '/messages/1/subject',
  ]);
});
