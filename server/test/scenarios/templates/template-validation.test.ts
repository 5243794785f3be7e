import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startApp, type TestApp } from '../../harness/app.ts';
import { until } from '../../harness/until.ts';

/**
 * Documented errors of templates, layouts and partials beyond those of every operation, caused through the API, or
 * by inserted rows where real use would take days.
 */

let app: TestApp;

beforeAll(async () => {
  app = await startApp({ env: { ROLES: 'api', ACCEPT_BUFFER_MAX_MESSAGES: '10' } });
  await made('/templates', { key: 'broken', subject: 'S', html: '{{ a | nofilter }}' });
  await made('/templates', { key: 'deep', subject: 'S', html: '{% if a %}'.repeat(100) });
  await made('/templates', {
    key: 'endless',
    subject: 'S',
    html: '{% for a in (1..9999) %}{% for b in (1..9999) %}x{% endfor %}{% endfor %}',
  });
  await made('/templates', { key: 'needy', subject: 'S', html: '{{ a }}' });
});
afterAll(() => app[Symbol.asyncDispose]());

async function made(path: string, body: object): Promise<void> {
  expect((await app.call('POST', path, { body })).status).toBe(201);
}

const KINDS = ['template', 'layout', 'partial'];

test.each(KINDS)('keys are unique, and their number is limited: %s', async (kind) => {
  const body = { key: 'twice', html: '{{ content }}' };
  await made(`/${kind}s`, body);
  const again = await app.call('POST', `/${kind}s`, { body });
  expect([again.status, again.json.code]).toEqual([409, 'conflict']);
  await app.database.pool.query(
    `insert into templates (workspace_id, kind, key, id, name, draft, draft_hash, draft_locales,
       draft_partials, created_at, updated_at, updated_by)
     select $1, $2, 'many-' || n, gen_random_uuid(), 'x', '{}', '', '{}', '{}', now(), now(), 'test'
     from generate_series(
       (select count(*) + 1 from templates where workspace_id = $1 and kind = $2), 9999) n`,
    [app.workspaceId, kind],
  );
  const add = (key: string) => app.call('POST', `/${kind}s`, { body: { key, html: 'x' } });
  const last = await Promise.all(['last-a', 'last-b', 'last-c', 'last-d'].map(add));
  expect(last.map(({ status }) => status).sort()).toEqual([201, 429, 429, 429]);
  const more = await add('more');
  expect([more.status, more.json.code]).toEqual([429, 'quota_exceeded']);
  await app.database.pool.query(`delete from templates where name = 'x' and kind = $1`, [kind]);
});

test.each(KINDS)(
  'versions are listed and read, and syntax errors prevent publishing: %s',
  async (kind) => {
    const path = `/${kind}s`;
    await made(path, { key: 'lived', html: '<p>{{ content }}</p>', ...subject(kind) });
    const published = await app.call('POST', `${path}/lived/publish`, { body: { note: 'why' } });
    expect([published.status, published.text]).toEqual([200, published.text]);
    const { data } = (await app.call('GET', `${path}/lived/versions`)).json;
    expect(data).toMatchObject([{ version: 1, current: true, note: 'why' }]);
    const version = await app.call('GET', `${path}/lived/versions/1`);
    expect(version.json).toMatchObject({ key: 'lived', html: '<p>{{ content }}</p>', locales: {} });
    expect((await app.call('GET', `${path}/lived`)).json.published_version).toBe(1);
    await app.call('PATCH', `${path}/lived`, { body: { html: '{% if %}' } });
    const refused = await app.call('POST', `${path}/lived/publish`, { body: {} });
    expect(refused.json).toMatchObject({ status: 422, code: 'template_syntax' });
  },
);

function subject(kind: string): object {
  return kind === 'template' ? { subject: 'S' } : {};
}

describe('a draft that cannot be rendered', () => {
  const to = { email: 'a@example.com' };
  const from = { email: 'b@example.org' };
  test.each([
    ['render', 'broken', {}, 'template_syntax'],
    ['render', 'endless', {}, 'template_limit'],
    ['test-send', 'broken', { to, from }, 'template_syntax'],
    ['test-send', 'endless', { to, from }, 'template_limit'],
    ['test-send', 'needy', { to, from, variables: {} }, 'missing_variables'],
    ['test-send', 'needy', { to, from, version: 3 }, 'template_not_found'],
  ])('%s of %s', async (operation, key, body, code) => {
    const answer = await app.call('POST', `/templates/${key}/${operation}`, { body });
    expect(answer.json.code).toBe(code);
  });

  test.each([
    ['deep', 'template_limit'],
    ['needy?version=7', 'template_not_found'],
  ])('the schema of %s', async (request, code) => {
    const [key, query] = request.split('?');
    const answer = await app.call('GET', `/templates/${key}/schema${query ? `?${query}` : ''}`);
    expect(answer.json.code).toBe(code);
  });
});

test('a subject is one line, in every locale', async () => {
  const subject = 'one\r\nBcc: two@example.com';
  const html = '<p>Hi</p>';
  const created = await app.call('POST', '/templates', { body: { key: 'lines', subject, html } });
  expect(created.status).toBe(422);
  await app.call('POST', '/templates', { body: { key: 'lines', subject: 'one', html } });
  for (const [body, pointer] of [
    [{ subject }, '/subject'],
    [{ subject: 'a\nb' }, '/subject'],
    [{ locales: { de: { subject } } }, '/locales/de/subject'],
  ] as const) {
    const { status, json } = await app.call('PATCH', '/templates/lines', { body });
    expect([status, json.errors]).toEqual([
      422,
      [expect.objectContaining({ pointer, code: 'invalid_text' })],
    ]);
  }
  expect((await app.call('GET', '/templates/lines')).json.subject).toBe('one');
});

describe('a test send with a live key', () => {
  const body = { to: { email: 'a@example.com' }, from: { email: 'b@example.org' } };
  const send = (key: string) => app.call('POST', '/templates/needy/test-send', { body, key });

  test('requires a verified domain like any other send', async () => {
    expect((await send(app.liveKey)).json.code).toBe('domain_not_owned');
    const limited = await app.newKey({ mode: 'live', allowedDomains: ['example.net'] });
    expect((await send(limited)).json.code).toBe('domain_not_allowed');
    const added = await app.call('POST', '/domains', {
      body: { name: 'example.org' },
      key: app.liveKey,
    });
    expect(added.status).toBe(201);
    expect((await send(app.liveKey)).json.code).toBe('domain_not_verified');
  });

  test('sends the draft once the domain is verified', async () => {
    await app.app.domains.trust(app.workspaceId, { name: 'example.org' });
    // The domain cache is notified a moment later.
    let sent = await send(app.liveKey);
    await until(async () => {
      sent = await send(app.liveKey);
      return sent.status !== 403;
    });
    expect([sent.status, sent.json.mode, sent.json.template]).toEqual([
      202,
      'live',
      { key: 'needy', version: 'draft' },
    ]);
  });
});

test('a send from a template that can no longer be rendered is rejected, alone and in a batch', async () => {
  const envelope = { to: { email: 'a@example.com' }, from: { email: 'b@example.org' } };
  for (const [key, code] of [
    ['broken', 'template_syntax'],
    ['endless', 'template_limit'],
    ['none', 'template_not_found'],
  ]) {
    const message = { ...envelope, template_key: key, template_version: 'draft' };
    const one = await app.call('POST', '/transactional/send', { body: message });
    expect(one.json.code).toBe(code);
    const batch = await app.call('POST', '/transactional/batch', { body: { messages: [message] } });
    expect(batch.json.code).toBe(code);
  }
});

const ENVELOPE = { to: { email: 'a@example.com' }, from: { email: 'b@example.org' } };
const INLINE = { ...ENVELOPE, subject: 'S', html: 'H' };

test.each([
  ['/templates/needy/test-send', ENVELOPE],
  ['/transactional/send', INLINE],
  ['/transactional/batch', { messages: [INLINE] }],
])('%s is rejected while too many messages wait for storage', async (path, body) => {
  const blocker = await app.database.pool.connect();
  await blocker.query('begin');
  await blocker.query('lock table messages in exclusive mode');
  const sends = Array.from({ length: 500 }, () => app.call('POST', path, { body }));
  const refused = await Promise.race(
    sends.map(async (sending) => {
      const answer = await sending;
      return answer.status === 503 ? answer : new Promise<never>(() => {});
    }),
  );
  expect(refused.json.code).toBe('overloaded');
  await blocker.query('rollback');
  blocker.release();
  await Promise.all(sends);
});
