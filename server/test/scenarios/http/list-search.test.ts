import { afterAll, beforeAll, expect, test } from 'vitest';
import { startApp, type TestApp } from '../../harness/app.ts';
import { member } from '../../harness/browser/dashboard-session.ts';

/**
 * In the lists that grow with a team (templates and their parts, domains, keys, members), `q` finds items
 * that contain all search terms, page by page, and nothing from another workspace or list. A few rows are
 * created through the API; many are inserted directly for the scan limits.
 */

let app: TestApp;

beforeAll(async () => {
  app = await startApp();
  for (const [key, name, subject] of TEMPLATES) {
    await app.call('POST', '/templates', { body: { key, name, subject, html: '<p>Hi</p>' } });
  }
  const foot = { key: 'foot', name: 'Invoice footer', html: '<p>Invoice</p>' };
  await app.call('POST', '/partials', { body: foot });
});
afterAll(() => app[Symbol.asyncDispose]());

const TEMPLATES = [
  ['welcome', 'Welcome', 'Good to have you'],
  ['invoice.de', 'Rechnung (Österreich)', 'Ihre Rechnung'],
  ['invoice.en', 'Invoice', 'Your INVOICE of {{ month }}'],
  ['invoice_en', 'Reminder', 'Still 100% open'],
  ['reset', 'Password reset', 'A new password'],
  ['slashed', 'C:\\new\\mail', 'News'],
] as const;

async function all(list: string, query: string, key?: string): Promise<Record<string, string>[]> {
  const found: Record<string, string>[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const path: string = `${list}?${query}${cursor && `&cursor=${cursor}`}`;
    const answer = await app.call('GET', path, key === undefined ? {} : { key });
    expect([answer.status, answer.text]).toEqual([200, answer.text]);
    found.push(...answer.json.data);
    cursor = answer.json.next_cursor;
  }
  return found;
}

test.each([
  ['a part of the key', 'invoice', ['invoice_en', 'invoice.en', 'invoice.de']],
  ['the name, in any case', 'öSTERREICH', ['invoice.de']],
  ['the subject', 'good', ['welcome']],
  ['terms from several fields', 'your invoice.en', ['invoice.en']],
  ['a character that is special in patterns', 'e_e', ['invoice_en']],
  ['another one', '100%', ['invoice_en']],
  ['a backslash', 'new\\', ['slashed']],
  ['terms that no template combines', 'welcome reset', []],
  ['the end of one field and the start of the next', 'welcomegood', []],
  [
    'only whitespace',
    ' ',
    ['slashed', 'reset', 'invoice_en', 'invoice.en', 'invoice.de', 'welcome'],
  ],
])('templates are found by %s', async (_, q, keys) => {
  const query = `q=${encodeURIComponent(q)}`;
  expect((await all('/templates', query)).map(({ key }) => key)).toEqual(keys);
  expect((await all('/templates', `${query}&limit=1`)).map(({ key }) => key)).toEqual(keys);
});

test('only the first ten of many terms count', async () => {
  const ten = ['i', 'n', 'v', 'o', 'ic', 'ce', 'e', 'e_', 'en', '100'].join('%20');
  for (const [more, count] of [
    ['', 1],
    ['%20nowhere', 1],
  ] as const) {
    expect([more, await all('/templates', `q=${ten}${more}`)]).toMatchObject([
      more,
      { length: count },
    ]);
  }
  expect(await all('/templates', `q=nowhere%20${ten}`)).toEqual([]);
});

test('each list and each workspace is searched separately', async () => {
  expect((await all('/partials', 'q=invoice')).map(({ key }) => key)).toEqual(['foot']);
  expect(await all('/layouts', 'q=invoice')).toEqual([]);
  const other = await app.app.workspaces.create('Other');
  const key = await app.newKey({ workspaceId: other.id });
  expect(await all('/templates', 'q=invoice', key)).toEqual([]);
});

test('a draft is found by its current subject', async () => {
  await app.call('POST', '/templates', { body: { key: 'late', subject: 'Tulips', html: '-' } });
  await app.call('PATCH', '/templates/late', { body: { subject: 'Roses' } });
  expect(await all('/templates', 'q=tulips')).toEqual([]);
  expect((await all('/templates', 'q=roses')).map(({ key }) => key)).toEqual(['late']);
});

test.each(['/templates', '/layouts', '/partials', '/domains', '/api-keys'])(
  'in %s an empty or overlong search is rejected by name',
  async (list) => {
    for (const q of ['', 'x'.repeat(201), 'a%00']) {
      const { status, json } = await app.call('GET', `${list}?q=${q}`);
      expect([q, status, json.errors?.[0]?.parameter]).toEqual([q, 422, 'q']);
    }
  },
);

test('domains are found by a part of their name', async () => {
  const key = await app.newKey({ mode: 'live' });
  for (const name of ['mail.shop.example', 'shop.example', 'other.example']) {
    await app.call('POST', '/domains', { body: { name }, key });
  }
  const names = (await all('/domains', 'q=SHOP&limit=1', key)).map(({ name }) => name);
  expect(names).toEqual(['shop.example', 'mail.shop.example']);
});

test('domains are found by their Unicode form', async () => {
  const key = await app.newKey({ mode: 'live' });
  await app.call('POST', '/domains', { body: { name: 'post.bücher.example' }, key });
  for (const q of [
    'bücher',
    'BÜCH',
    'bu\u0308cher',
    'post ücher',
    'xn--bcher',
    'post.xn--bcher-kva',
  ]) {
    const found = await all('/domains', `q=${encodeURIComponent(q)}`, key);
    expect([q, found.map(({ name }) => name)]).toEqual([q, ['post.xn--bcher-kva.example']]);
  }
});

test('members are found by name and by address', async () => {
  await using own = await startApp();
  const { visitor } = await member(own, 'owner');
  const ada = await member(own, 'viewer', 'ada@people.example');
  await ada.visitor.call('PATCH', '/me', { body: { name: 'Ada Lovelace' } });
  for (const q of ['lovelace', 'ADA%40people', 'people.example%20love']) {
    const { json } = await visitor.call('GET', `/members?q=${q}`);
    expect([q, json.data.map(({ name }: { name: string }) => name)]).toEqual([q, ['Ada Lovelace']]);
  }
});

test('API keys are found by name and by the end of a secret', async () => {
  const made = await app.call('POST', '/api-keys', { body: { name: 'Nightly job' } });
  const hint = made.json.token.slice(-4);
  expect((await all('/api-keys', 'q=NIGHTLY')).map(({ id }) => id)).toEqual([made.json.id]);
  expect((await all('/api-keys', `q=${hint}`)).map(({ id }) => id)).toContain(made.json.id);
});

test('a search through very many keys scans a limited number per request', async () => {
  const other = await app.app.workspaces.create('Many');
  const key = await app.newKey({ workspaceId: other.id });
  await app.database.pool.query(
    `insert into api_keys (workspace_id, id, mode, name, scopes, token_hint, created_by, created_at)
     select $1, ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'test', 'n' || n || '.',
       '{}', 'pr_test_…', 'cli', now() from generate_series(1, 45000) n`,
    [other.id],
  );
  const first = await app.call('GET', '/api-keys?q=n9.', { key });
  expect(first.json.data).toEqual([]);
  expect(first.json.next_cursor).not.toBeNull();
  expect((await all('/api-keys', 'q=n9.', key)).map(({ name }) => name)).toEqual(['n9.']);
  const many = await all('/api-keys', 'q=n123&limit=100', key);
  expect(new Set(many.map(({ id }) => id)).size).toBe(111);
  expect(many).toHaveLength(111);
});
