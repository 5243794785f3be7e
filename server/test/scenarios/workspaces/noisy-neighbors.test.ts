import net from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startApp, type TestApp, type TestResponse, validMessage } from '../../harness/app.ts';

/**
 * One workspace does its worst, and its neighbors are served meanwhile. The tests compare the order in
 * which requests are answered instead of measuring time; `npm run bench noisy-neighbor` measures it.
 */

const KIB = 1024;
const BODY_BYTES_MAX = 2_000 * KIB;
const BUFFER_BYTES_MAX = 4_000 * KIB;

let app: TestApp;
let neighborKey: string;

beforeAll(async () => {
  app = await startApp({
    env: {
      ROLES: 'api',
      REQUEST_BODY_MAX_BYTES: String(BODY_BYTES_MAX),
      REQUEST_BUFFER_MAX_BYTES: String(BUFFER_BYTES_MAX),
    },
  });
  const neighbor = await app.app.workspaces.create('Neighbor');
  neighborKey = await app.newKey({ workspaceId: neighbor.id });
});
afterAll(() => app[Symbol.asyncDispose]());

test('slow uploads fill only half of the memory for requests, and give it back', async () => {
  const uploads = await Promise.all(
    Array.from({ length: 20 }, () => slowUpload(app.testKey, 300 * KIB)),
  );
  await expect.poll(buffered).toBeGreaterThan(BUFFER_BYTES_MAX / 2 - 400 * KIB);
  expect(await buffered()).toBeLessThanOrEqual(BUFFER_BYTES_MAX / 2);

  const own = await send(app.testKey, 300 * KIB);
  expect([own.status, own.json.code]).toEqual([503, 'overloaded']);
  expect(own.headers.get('retry-after')).toBe('1');
  expect((await send(app.testKey, 1)).status).toBe(202);
  expect((await send(neighborKey, 1_000 * KIB)).status).toBe(202);
  expect((await send(neighborKey, 1)).status).toBe(202);

  for (const upload of uploads) upload.destroy();
  await expect.poll(buffered).toBe(0);
  expect((await send(app.testKey, 300 * KIB)).status).toBe(202);
  await expect.poll(buffered).toBe(0);
});

test('a body is not read before its sender is known', async () => {
  const upload = await slowUpload('pr_test_unknown', 300 * KIB);
  const answer = await new Promise<string>((resolve) => {
    upload.once('data', (chunk) => resolve(chunk.toString()));
  });
  expect(answer).toMatch(/^HTTP\/1\.1 401 /);
  expect(await buffered()).toBe(0);
  upload.destroy();
});

test('anonymous clients share the memory by address', async () => {
  const uploads = await Promise.all(
    Array.from({ length: 200 }, () => slowUpload(null, 60 * KIB, '/api/v1/session')),
  );
  await expect.poll(buffered).toBeGreaterThan(BUFFER_BYTES_MAX / 2 - 100 * KIB);
  expect(await buffered()).toBeLessThanOrEqual(BUFFER_BYTES_MAX / 2);
  expect((await send(neighborKey, 1_000 * KIB)).status).toBe(202);
  for (const upload of uploads) upload.destroy();
  await expect.poll(buffered).toBe(0);
});

test('large dry runs are served in turns', async () => {
  const dryRun = (key: string) =>
    app.call('POST', '/transactional/dry-run', { key, body: largeMessage() });
  const finished: string[] = [];
  const flood = Array.from({ length: 12 }, () =>
    dryRun(app.testKey).then(({ status }) => finished.push(`flood ${status}`)),
  );
  await Promise.race(flood);
  const { status, json } = await dryRun(neighborKey);
  finished.push(`neighbor ${status}`);
  await Promise.all(flood);
  expect(finished.filter((one) => one === 'flood 200')).toHaveLength(12);
  expect(finished.indexOf('neighbor 200')).toBeLessThan(10);
  expect(json.html).toBe(largeMessage().html.replace('{{ name }}', 'Jane'));
  expect(json.text).toContain('Hello Jane');
  expect(json.size_bytes).toBeGreaterThan(json.html.length);
});

test('expensive batches are served in turns', async () => {
  const expensive = validMessage({ html: '{% for i in (1..5000) %}{{ i }}{% endfor %}' });
  const body = { messages: Array.from({ length: 10 }, () => expensive) };
  const finished: string[] = [];
  const batch = async (name: string, key: string) => {
    const { status } = await app.call('POST', '/transactional/batch', { key, body });
    finished.push(`${name} ${status}`);
  };
  await Promise.all([
    ...Array.from({ length: 8 }, () => batch('flood', app.testKey)),
    batch('neighbor', neighborKey),
  ]);
  expect(finished.filter((one) => one === 'flood 202')).toHaveLength(8);
  expect(finished.indexOf('neighbor 202')).toBeLessThan(4);
});

test('large and expensive content gets the same errors and results as small content', async () => {
  const post = async (changes: object) => {
    const body = { ...largeMessage(), ...changes };
    const { status, json } = await app.call('POST', '/transactional/send', { body });
    return [status, json.code, json.errors?.[0]?.pointer];
  };
  expect(await post({ variables: {} })).toEqual([422, 'missing_variables', '/html']);
  expect(await post({ html: `{% if %}${largeMessage().html}` })).toEqual([
    422,
    'template_syntax',
    '/html',
  ]);
  const endless = '{% for i in (1..50000) %}{% for j in (1..50) %}x{% endfor %}{% endfor %}';
  expect(await post({ html: endless })).toEqual([422, 'template_limit', '/html']);
  const contact = { first_name: 'Jane', attributes: { city: 'Vienna' } };
  await app.call('PUT', '/contacts/jane@example.com', { body: contact });
  const html = `${largeMessage().html}{{ contact.city }}`;
  expect(await post({ html })).toEqual([202, undefined, undefined]);

  // More work than is done in place, and less than the limit.
  const loop = '{% for i in (1..40000) %}{{ i }} {% endfor %}';
  await app.call('POST', '/templates', { body: { key: 'loop', subject: 'x', html: loop } });
  const published = await app.call('POST', '/templates/loop/publish', { body: {} });
  expect(published.status).toBe(200);
  const { to, from } = validMessage();
  const sent = { to, from, template_key: 'loop' };
  const answer = await app.call('POST', '/transactional/dry-run', { body: sent });
  expect([answer.status, answer.json.html?.slice(-12)]).toEqual([200, '39999 40000 ']);
  const preview = await app.call('POST', '/templates/loop/render', { body: {} });
  expect(preview.json.html).toBe(answer.json.html);

  const changed = { html: `${loop}${'<p>\n'.repeat(50_000)}` };
  await app.call('PATCH', '/templates/loop', { body: changed });
  const compared = await app.call('GET', '/templates/loop/compare');
  expect(compared.json.changes).toMatchObject([
    { field: 'html', before: loop, after: changed.html },
  ]);
});

test.each([
  ['messages', '/messages?tag=none'],
  ['messages', '/messages?status=bounced'],
  ['contacts', '/contacts?locale=de'],
  ['events', '/events?type=message.bounced'],
  ['events', '/events?tag=none&order=desc'],
  ['webhooks', '/webhook-deliveries?status=succeeded'],
  ['webhooks', '/webhook-deliveries?event_type=message.bounced'],
  ['suppressions', '/suppressions?q=a&reason=manual'],
])('a workspace runs one filtered list of %s at a time: %s', async (table, path) => {
  const client = await app.database.pool.connect();
  await client.query('begin');
  await client.query(`lock table ${table} in access exclusive mode`);
  const list = (key: string) => app.call('GET', path, { key });
  const lists = [...Array.from({ length: 6 }, () => list(app.testKey)), list(neighborKey)];
  try {
    await expect.poll(waitingForLock).toBe(2);
    await Promise.all(Array.from({ length: 5 }, () => app.call('GET', '/domains')));
    expect(await waitingForLock()).toBe(2);
  } finally {
    await client.query('rollback');
    client.release();
  }
  expect((await Promise.all(lists)).map(({ status }) => status)).toEqual(lists.map(() => 200));
});

async function waitingForLock(): Promise<number> {
  const { rows } = await app.database.pool.query<{ waiting: number }>(
    `select count(*)::int as waiting from pg_stat_activity
     where datname = current_database() and wait_event_type = 'Lock'`,
  );
  return rows[0]?.waiting ?? 0;
}

/** Too large to be worked on in place. */
function largeMessage() {
  const html = `<p>Hello {{ name }}</p>${'<p>x</p>'.repeat(9_000)}`;
  return { ...validMessage(), html, variables: { name: 'Jane' } };
}

function send(key: string, htmlBytes: number): Promise<TestResponse> {
  const body = validMessage({ html: 'x'.repeat(htmlBytes) });
  return app.call('POST', '/transactional/send', { key, body });
}

async function buffered(): Promise<number> {
  const metrics = await fetch(`${app.url}/metrics`).then((response) => response.text());
  return Number(/^postrider_request_buffer_bytes (\d+)$/m.exec(metrics)?.[1]);
}

/** Sends all but the last byte. */
async function slowUpload(
  key: string | null,
  bytes: number,
  path = '/api/v1/transactional/send',
): Promise<net.Socket> {
  const socket = net.connect(Number(new URL(app.url).port), '127.0.0.1');
  socket.on('error', () => {});
  const authorization =
    key === null ? 'Postrider-Mode: test\r\n' : `Authorization: Bearer ${key}\r\n`;
  const head =
    `POST ${path} HTTP/1.1\r\nHost: x\r\n${authorization}` +
    `Content-Type: application/json\r\nContent-Length: ${bytes}\r\n\r\n`;
  await new Promise<void>((resolve) => {
    socket.write(head + ' '.repeat(bytes - 1), () => resolve());
  });
  return socket;
}
