import { afterAll, beforeAll, expect, test } from 'vitest';
import { startApp, type TestApp, type TestResponse, validMessage } from '../../harness/app.ts';

/**
 * The number and total size of a template's partials are limited, because all of them are held in memory to render
 * it. Partials are inserted directly into the database.
 */

let app: TestApp;

beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app[Symbol.asyncDispose]());

const post = (path: string, body: unknown = {}) => app.call('POST', path, { body });

async function partials(prefix: string, count: number, chars: number): Promise<string> {
  const values = [app.workspaceId, prefix, count, chars];
  await app.database.pool.query(
    `insert into templates (workspace_id, kind, key, id, name, draft, draft_hash, draft_locales,
       draft_partials, last_version, created_at, updated_at, updated_by)
     select $1, 'partial', $2 || n, gen_random_uuid(), $2 || n, '{}', '', '{}', '{}', 1, now(), now(), 'cli'
     from generate_series(1, $3::int) n, (select $4::int) unused on conflict do nothing`,
    values,
  );
  await app.database.pool.query(
    `insert into template_versions (workspace_id, kind, key, version, content, content_hash, partials)
     select $1, 'partial', $2 || n, 1, json_build_object('subject', null, 'html', repeat('x', $4::int),
       'text', null, 'from', null, 'reply_to', '[]'::json, 'layout', null, 'locales', '{}'::json,
       'variables', '[]'::json), '', '{}' from generate_series(1, $3::int) n on conflict do nothing`,
    values,
  );
  await app.database.pool.query(
    `update templates set published_version = 1 where workspace_id = $1 and starts_with(key, $2)`,
    values.slice(0, 2),
  );
  return Array.from({ length: count }, (_, n) => `{% render "${prefix}${n + 1}" %}`).join('');
}

async function made(key: string, html: string): Promise<void> {
  await post('/templates', { key, subject: 'S', html: '-', text: '-' });
  expect((await app.call('PATCH', `/templates/${key}`, { body: { html } })).status).toBe(200);
}

function expectLimit(answer: TestResponse, detailPattern: RegExp): void {
  expect([answer.status, answer.json.code]).toEqual([422, 'template_limit']);
  expect(answer.json.errors).toMatchObject([{ code: 'template_limit' }]);
  expect(answer.json.detail).toMatch(detailPattern);
}

const { subject: _, html: __, ...envelope } = validMessage();

test('limits their number', async () => {
  await made('many', await partials('few', 99, 1));
  expect((await post('/templates/many/publish')).status).toBe(200);
  const rendered = await post('/templates/many/render');
  expect(rendered.json.html).toBe('x'.repeat(99));

  await made('too-many', await partials('lots', 100, 1));
  expectLimit(await post('/templates/too-many/publish'), /more than 99 layouts and partials/);
  expectLimit(await post('/templates/too-many/render'), /more than 99/);
  const draft = { ...envelope, template_key: 'too-many', template_version: 'draft' };
  expectLimit(await post('/transactional/send', draft), /more than 99/);
  const checked = await post('/templates/too-many/check');
  expect(checked.json.findings ?? checked.json.errors).toMatchObject([{ code: 'template_limit' }]);
});

test('limits their size', async () => {
  await made('heavy', await partials('large', 13, 2_000_000));
  expectLimit(await post('/templates/heavy/publish'), /larger than 25165824 bytes/);
});

test('a partial that would make a template too large is not published', async () => {
  const large = await partials('block', 12, 2_000_000);
  await post('/partials', { key: 'blocks', html: '-', text: '-' });
  await app.call('PATCH', '/partials/blocks', { body: { html: '<p>-</p>' } });
  expect((await post('/partials/blocks/publish')).status).toBe(200);
  await made('page', `{% render "blocks" %}${await partials('own', 1, 2_000_000)}`);
  expect((await post('/templates/page/publish')).status).toBe(200);
  await app.call('PATCH', '/partials/blocks', { body: { html: large } });
  const refused = await post('/partials/blocks/publish');
  expect(refused.status).toBe(422);
  expect(refused.json.errors).toMatchObject([{ code: 'breaks_template' }]);
  expect((await post('/templates/page/render')).status).toBe(200);
});
