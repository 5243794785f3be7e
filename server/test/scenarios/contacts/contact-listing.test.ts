import { afterAll, beforeAll, expect, test } from 'vitest';
import { startApp, type TestApp } from '../../harness/app.ts';

/**
 * Contacts are listed by search terms, address, locale, attribute and time, page by page. A few dozen
 * contacts are created through the API; thousands of rows are inserted directly for the scan limits.
 */

let app: TestApp;
beforeAll(async () => {
  app = await startApp();
  for (let n = 0; n < 45; n++) {
    await app.call('POST', '/contacts', {
      body: {
        email: `person${String(n).padStart(2, '0')}@example.com`,
        first_name: n % 2 ? 'Ödön' : 'Grace',
        last_name: n % 3 ? 'Hopper' : 'Horváth',
        locale: n % 5 ? 'en' : 'hu-HU',
        attributes: { group: n % 4, address: { city: n % 2 ? 'Pécs' : 'New York' } },
      },
    });
  }
});
afterAll(() => app[Symbol.asyncDispose]());

async function emails(query: string): Promise<string[]> {
  const answer = await app.call('GET', `/contacts?${query}`);
  expect(answer.status).toBe(200);
  return answer.json.data.map((one: { email: string }) => one.email.split('@')[0]);
}

async function all(query: string): Promise<string[]> {
  const found: string[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const answer = await app.call('GET', `/contacts?${query}${cursor && `&cursor=${cursor}`}`);
    found.push(...answer.json.data.map((one: { email: string }) => one.email.split('@')[0]));
    cursor = answer.json.next_cursor;
  }
  return found;
}

test('newest first, each contact once, with any page size', async () => {
  const wanted = Array.from({ length: 45 }, (_, n) => `person${String(44 - n).padStart(2, '0')}`);
  expect(await emails('')).toEqual(wanted.slice(0, 20));
  expect(await all('limit=7')).toEqual(wanted);
  expect(await all('limit=45')).toEqual(wanted);
});

test('pages are stable while contacts are added', async () => {
  const first = await app.call('GET', '/contacts?limit=10');
  await app.call('PUT', '/contacts/newcomer@example.com', { body: {} });
  const second = await app.call('GET', `/contacts?limit=10&cursor=${first.json.next_cursor}`);
  expect(second.json.data[0].email).toBe('person34@example.com');
  await app.call('DELETE', '/contacts/newcomer@example.com');
});

test.each([
  ['a word of a name', 'q=horv%C3%A1th&limit=100', 15],
  ['a word in any case', 'q=GRACE&limit=100', 23],
  ['several words', 'q=grace%20horv&limit=100', 8],
  ['a part of an address', 'q=person1&limit=100', 10],
  ['a domain', 'q=@EXAMPLE.com&limit=100', 45],
  ['an unknown domain', 'q=@example.org', 0],
  ['a language', 'locale=HU-hu&limit=100', 9],
  ['an attribute', 'attribute=group:3&limit=100', 11],
  ['a nested attribute', 'attribute=address.city:P%C3%A9cs&limit=100', 22],
  ['search terms and a locale', 'q=grace&locale=hu-HU&limit=100', 5],
  ['a term without matches', 'q=nobody', 0],
  ['an unknown attribute', 'attribute=no.such:x', 0],
])('are found by %s', async (_, query, count) => {
  expect(await emails(query)).toHaveLength(count);
});

test('an address prefix matches in order, page by page, combined with other filters', async () => {
  expect(await all('q=person1@')).toEqual([]);
  expect(await all('q=Person17@EXAMPLE')).toEqual(['person17']);
  await app.call('PUT', '/contacts/a.b@example.com', { body: {} });
  expect(await emails('q=a.b@example.com')).toEqual(['a.b']);
  await app.call('DELETE', '/contacts/a.b@example.com');
  for (const name of ['team', 'team1', 'team2']) {
    for (const domain of ['one.test', 'two.test']) {
      await app.call('PUT', `/contacts/${name}@${domain}`, {
        body: { locale: domain === 'one.test' ? 'fr' : 'it' },
      });
    }
  }
  const answer = await app.call('GET', '/contacts?q=team@');
  expect(answer.json.data.map((one: { email: string }) => one.email)).toEqual([
    'team@one.test',
    'team@two.test',
  ]);
  expect(await all('q=team@&limit=1')).toEqual(['team', 'team']);
  expect(await all('q=team@&locale=it')).toEqual(['team']);
});

test('are found by creation time', async () => {
  const list = await app.call('GET', '/contacts?q=person&limit=100');
  const middle = list.json.data[20];
  const after = await emails(`q=person&limit=100&created_after=${middle.created_at}`);
  expect(after).toContain(middle.email.split('@')[0]);
  expect(after.length).toBeGreaterThanOrEqual(21);
  const before = await emails(`q=person&limit=100&created_before=${middle.created_at}`);
  expect(new Set([...after, ...before]).size).toBe(45);
});

test.each([
  ['limit=0', 'limit'],
  ['limit=101', 'limit'],
  ['q=', 'q'],
  ['q=a%00', 'q'],
  ['locale=%00', 'locale'],
  ['attribute=plan', 'attribute'],
  ['created_after=yesterday', 'created_after'],
  ['cursor=x', 'cursor'],
  [
    `cursor=${Buffer.from('["00000000-0000-7000-8000-000000000000","a\\u0000"]').toString('base64url')}`,
    'cursor',
  ],
])('an invalid query such as %s is rejected and named', async (query, parameter) => {
  const answer = await app.call('GET', `/contacts?${query}`);
  expect(answer.status).toBe(422);
  expect(answer.json.errors[0].parameter).toBe(parameter);
});

test('a filter with few matches scans a limited number of rows per request', async () => {
  const other = await app.app.workspaces.create('Many');
  const key = await app.newKey({ workspaceId: other.id });
  await app.database.pool.query(
    `insert into contacts (workspace_id, mode, email_key, id, email, created_at, updated_at)
     select $1, 'test', n || '@many.test', ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid,
       n || '@many.test', now(), now() from generate_series(1, 45000) n`,
    [other.id],
  );
  const pages: unknown[][] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const path: string = `/contacts?q=1234&limit=5${cursor && `&cursor=${cursor}`}`;
    const answer = await app.call('GET', path, { key });
    pages.push(answer.json.data.map((one: { email: string }) => one.email));
    cursor = answer.json.next_cursor;
  }
  expect(pages.length).toBeGreaterThan(3);
  expect(pages.flat()).toEqual(
    [
      ...['41234', '31234', '21234', '12349', '12348', '12347', '12346', '12345', '12344', '12343'],
      ...['12342', '12341', '12340', '11234', '1234'],
    ].map((n) => `${n}@many.test`),
  );
});
