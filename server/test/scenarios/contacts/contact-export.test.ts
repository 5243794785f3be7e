import { afterAll, beforeAll, expect, test } from 'vitest';
import { startApp, type TestApp } from '../../harness/app.ts';
import { until } from '../../harness/delivery/delivery-engine.ts';

/**
 * An export contains every contact once, is safe to open in a spreadsheet, and can be imported again.
 * Unusual contacts are exported, imported into another workspace and compared.
 */

let app: TestApp;
const ODD = [
  { email: 'plain@example.com', first_name: 'Plain', last_name: 'Jane', locale: 'en' },
  { email: '=cmd@example.com', first_name: '=HYPERLINK("http://evil.test")', last_name: '+1' },
  { email: '-x@example.com', first_name: "'=quoted", last_name: '@SUM(A1:A9)' },
  { email: '"a,b"@example.com', first_name: 'Comma, "Quote"', last_name: 'Zoë 🎈' },
  {
    email: 'nested@example.com',
    attributes: { plan: 'pro', deep: { a: [1, { b: null }] }, n: -5 },
  },
  { email: 'text@example.com', attributes: { plan: '=1+1', note: 'two\r\nlines', n: 0.5 } },
];
beforeAll(async () => {
  app = await startApp();
  for (const body of ODD) {
    expect((await app.call('POST', '/contacts', { body })).status).toBe(201);
  }
});
afterAll(() => app[Symbol.asyncDispose]());

async function into(name: string, rawBody: string, type: string): Promise<string> {
  const workspace = await app.app.workspaces.create(name);
  const key = await app.newKey({ workspaceId: workspace.id });
  const headers = { 'content-type': type };
  const { json } = await app.call('POST', '/contacts/import', { key, rawBody, headers });
  await until(async () => {
    const report = await app.call('GET', `/imports/${json.id}`, { key });
    expect(report.json.failures).toEqual([]);
    return report.json.status === 'finished';
  });
  return key;
}

test('NDJSON round-trips every contact', async () => {
  const exported = await app.call('GET', '/contacts/export');
  expect(exported.status).toBe(200);
  expect(exported.headers.get('content-type')).toMatch(/^application\/x-ndjson/);
  expect(exported.headers.get('content-disposition')).toContain('contacts.ndjson');
  const lines = exported.text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines.map(({ email }) => email)).toEqual(ODD.map(({ email }) => email));
  expect(lines[4]).toEqual((await app.call('GET', '/contacts/nested@example.com')).json);
  const key = await into('From NDJSON', exported.text, 'application/x-ndjson');
  const again = await app.call('GET', '/contacts/export?format=ndjson', { key });
  const essence = ({
    email,
    first_name,
    last_name,
    locale,
    attributes,
  }: Record<string, unknown>) => ({
    email,
    first_name,
    last_name,
    locale,
    attributes,
  });
  expect(
    again.text
      .trim()
      .split('\n')
      .map((line) => essence(JSON.parse(line))),
  ).toEqual(lines.map(essence));
});

test('CSV contains no formulas, and names and texts round-trip', async () => {
  const exported = await app.call('GET', '/contacts/export?format=csv');
  expect(exported.headers.get('content-type')).toMatch(/^text\/csv/);
  const [header] = exported.text.split('\r\n');
  expect(header).toBe('email,first_name,last_name,locale,created_at,updated_at,deep,n,note,plan');
  expect(exported.text).not.toMatch(/(^|,|\r\n)"?[=+@]/);
  expect(exported.text).toContain(`"'=cmd@example.com","'=HYPERLINK(""http://evil.test"")","'+1"`);
  expect(exported.text).toContain(',-5,');
  const key = await into('From CSV', exported.text, 'text/csv');
  for (const { email, first_name = null, last_name = null } of ODD) {
    const read = await app.call('GET', `/contacts/${encodeURIComponent(email)}`, { key });
    expect(read.json).toMatchObject({ email, first_name, last_name });
  }
  const text = await app.call('GET', '/contacts/text@example.com', { key });
  expect(text.json.attributes).toEqual({ plan: '=1+1', note: 'two\r\nlines', n: '0.5' });
});

test('an export without contacts is empty, and unknown formats are rejected', async () => {
  const workspace = await app.app.workspaces.create('Empty');
  const key = await app.newKey({ workspaceId: workspace.id });
  expect((await app.call('GET', '/contacts/export', { key })).text).toBe('');
  const csv = await app.call('GET', '/contacts/export?format=csv', { key });
  expect(csv.text).toBe('email,first_name,last_name,locale,created_at,updated_at\r\n');
  expect((await app.call('GET', '/contacts/export?format=xml')).status).toBe(422);
  expect((await app.call('GET', '/contacts/export', { key: app.liveKey })).text).toBe('');
});

test('an export of thousands contains each contact once while contacts are added', async () => {
  const workspace = await app.app.workspaces.create('Many');
  const key = await app.newKey({ workspaceId: workspace.id });
  await app.database.pool.query(
    `insert into contacts (workspace_id, mode, email_key, id, email, attributes, created_at, updated_at)
     select $1, 'test', n || '@many.test', ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid,
       n || '@many.test', jsonb_build_object('k' || n % 30, n), now(), now()
     from generate_series(1, 12000) n`,
    [workspace.id],
  );
  const response = await fetch(`${app.url}/api/v1/contacts/export?format=csv`, {
    headers: { authorization: `Bearer ${key}` },
  });
  await app.call('PUT', '/contacts/late@many.test', { key, body: {} });
  const lines = (await response.text()).trim().split('\r\n');
  const left = new AbortController();
  const broken = await fetch(`${app.url}/api/v1/contacts/export`, {
    headers: { authorization: `Bearer ${key}` },
    signal: left.signal,
  });
  await broken.body?.getReader().read();
  left.abort();
  expect(lines[0]?.split(',')).toHaveLength(6 + 30);
  expect(new Set(lines.map((line) => line.split(',')[0])).size).toBe(lines.length);
  expect([12_001, 12_002]).toContain(lines.length);
});
