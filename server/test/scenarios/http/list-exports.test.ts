import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startApp, type TestApp, validMessage } from '../../harness/app.ts';
import { until } from '../../harness/until.ts';

/**
 * Messages, events and suppressions as files: everything that the filters of the list match, once, in its
 * order, and safe to open in a spreadsheet.
 */

/** More than a page. */
const MESSAGES = 105;

let app: TestApp;
beforeAll(async () => {
  app = await startApp();
  const messages = Array.from({ length: MESSAGES }, (_, n) =>
    validMessage({
      to: { email: n % 50 === 7 ? `bounced+${n}@simulator.test` : `jane${n}@example.com` },
      subject: n === 3 ? '=HYPERLINK("http://evil.test")' : `Order ${n}`,
      cc: n === 0 ? [{ email: 'copy@example.com' }] : [],
      ...(n === 0 ? { tags: ['welcome mail', 'vip'], metadata: { order: '17' } } : {}),
    }),
  );
  const sent = await app.call('POST', '/transactional/batch', { body: { messages } });
  expect(sent.status).toBe(202);
  for (const email of ['a@example.com', 'b@example.com']) {
    const body = { email, reason: 'manual', note: '@SUM(A1)' };
    expect((await app.call('POST', '/suppressions', { body })).status).toBe(201);
  }
  await until(async () => {
    const waiting = await app.call('GET', '/messages?status=queued&limit=1');
    return waiting.json.data.length === 0;
  });
});
afterAll(() => app[Symbol.asyncDispose]());

async function all(path: string): Promise<unknown[]> {
  const rows: unknown[] = [];
  for (let cursor = ''; ; ) {
    const { json } = await app.call('GET', `${path}limit=100${cursor && `&cursor=${cursor}`}`);
    rows.push(...json.data);
    if (json.next_cursor === null || json.has_more === false) return rows;
    cursor = json.next_cursor;
  }
}

async function ndjson(path: string): Promise<unknown[]> {
  const { status, text } = await app.call('GET', path);
  expect(status).toBe(200);
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));
}

async function csv(path: string): Promise<string[]> {
  const { headers, text } = await app.call('GET', path);
  expect(headers.get('content-type')).toMatch(/^text\/csv/);
  return text.split('\r\n').slice(0, -1);
}

describe('messages', () => {
  test('NDJSON has every message once, as the list returns it', async () => {
    const exported = await ndjson('/messages/export');
    expect(exported).toHaveLength(MESSAGES);
    expect(exported).toEqual(await all('/messages?'));
  });

  test('filters apply', async () => {
    const bounced = await ndjson('/messages/export?status=bounced');
    expect(bounced).toHaveLength(2);
    expect(bounced).toEqual(await all('/messages?status=bounced&'));
    expect(await ndjson('/messages/export?created_before=2020-01-01T00:00:00Z')).toEqual([]);
  });

  test('CSV has a record for each recipient and no formulas', async () => {
    const [head, ...records] = await csv('/messages/export?format=csv');
    expect(head).toMatch(/^message_id,created_at,scheduled_at,from,recipient,kind,subject,/);
    expect(records).toHaveLength(MESSAGES + 1);
    expect(records.join('\n')).toContain(`"'=HYPERLINK(""http://evil.test"")"`);
    const copies = records.filter((record) => record.includes(',copy@example.com,cc,'));
    expect(copies).toHaveLength(1);
    expect(copies[0]).toContain(',"welcome mail, vip",');
    expect(copies[0]).toMatch(/,transactional,"{""order"":""17""}",$/);
    expect(records.filter((record) => record.includes(',bounced,unknown_mailbox,'))).toHaveLength(
      2,
    );
  });
});

test('events are exported in either order', async () => {
  const exported = await ndjson('/events/export?type=message.bounced,message.accepted');
  expect(exported).toEqual(await all('/events?type=message.bounced,message.accepted&'));
  expect(exported).toHaveLength(MESSAGES + 2);
  const newestFirst = await ndjson('/events/export?order=desc');
  expect(newestFirst).toEqual(await all('/events?order=desc&'));
  const [head, ...records] = await csv('/events/export?format=csv&type=message.bounced');
  expect(head).toBe('id,type,created_at,message_id,recipient,data');
  expect(records).toHaveLength(2);
});

test('suppressions are exported', async () => {
  expect(await ndjson('/suppressions/export')).toEqual(await all('/suppressions?'));
  const [head, ...records] = await csv('/suppressions/export?format=csv&reason=manual');
  expect(head).toBe('email,domain,reason,note,created_at,expires_at,message_id');
  expect(records).toHaveLength(2);
  expect(records[0]).toMatch(/^b@example\.com,,manual,"'@SUM\(A1\)",/);
});

test('a wrong parameter, another mode and a missing scope get nothing', async () => {
  for (const query of ['format=xml', 'limit=5', 'cursor=x', 'status=nonsense']) {
    const refused = await app.call('GET', `/messages/export?${query}`);
    expect([query, refused.status]).toEqual([query, 422]);
  }
  for (const list of ['messages', 'events', 'suppressions']) {
    const key = await app.newKey({ scopes: ['send:transactional'] });
    const refused = await app.call('GET', `/${list}/export`, { key });
    expect([refused.status, refused.json.code]).toEqual([403, 'insufficient_scope']);
  }
  expect((await app.call('GET', '/messages/export', { key: app.liveKey })).text).toBe('');
});
