import { afterAll, beforeAll, expect, test } from 'vitest';
import { startApp, type TestApp, validMessage } from '../../harness/app.ts';
import { sendRaw } from '../../harness/http/raw-request.ts';

/**
 * All invalid query parameters are reported in one response, whether their type or their value is invalid, and
 * nothing else is reported.
 */

let app: TestApp;

beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app[Symbol.asyncDispose]());

async function faultyIn(address: string): Promise<string[]> {
  const { status, json } = await app.call('GET', address);
  expect([address, status]).toEqual([address, 422]);
  return json.errors.map((error: { parameter: string }) => error.parameter).sort();
}

test.each([
  [
    '/messages?limit=0&recipient=bad&domain=no_domain&receiver=a..b&created_after=x&cursor=zz',
    ['created_after', 'cursor', 'domain', 'limit', 'receiver', 'recipient'],
  ],
  ['/messages?recipient=bad&cursor=zz', ['cursor', 'recipient']],
  ['/messages?recipient=a%00@example.com&domain=no_domain&lmit=3', ['domain', 'lmit', 'recipient']],
  ['/events?type=no.such&recipient=bad&order=up&limit=0', ['limit', 'order', 'recipient', 'type']],
  ['/events?type=no.such&cursor=zz', ['cursor', 'type']],
  ['/test/inbox?to=bad&cursor=zz', ['cursor', 'to']],
  ['/test/inbox/wait?to=bad&timeout=0', ['timeout', 'to']],
  ['/contacts?limit=0&cursor=zz', ['cursor', 'limit']],
  ['/suppressions?reason=x&cursor=zz', ['cursor', 'reason']],
  ['/templates?limit=0&cursor=zz', ['cursor', 'limit']],
  ['/domains?limit=0&cursor=zz', ['cursor', 'limit']],
  ['/webhook-deliveries?status=x&cursor=zz', ['cursor', 'status']],
  [
    '/stats?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z&value=x&limit=0',
    ['from', 'limit', 'value'],
  ],
  ['/messages?reason=typo&cursor=zz', ['cursor', 'reason']],
  ['/messages/export?reason=typo', ['reason']],
  ['/messages?q=%ff', ['q']],
  ['/messages?tag=a&tag=%C3&subject=%', ['subject', 'tag']],
  ['/messages?metadata[%ff]=x', ['metadata[%ff]']],
  ['/messages?q=caf%e9&cursor=zz', ['cursor', 'q']],
  ['/events?tag=%ed%a0%80', ['tag']],
  ['/messages?%ff=1', ['%ff']],
])('%s', async (address, parameters) => {
  expect(await faultyIn(address)).toEqual(parameters);
});

test('parameters that depend on an invalid one are not reported', async () => {
  const { json } = await app.call('GET', '/events?order=desc');
  expect(await faultyIn(`/events?order=down&cursor=${json.next_cursor}`)).toEqual(['order']);
  expect(await faultyIn('/stats?group_by=colour&value=red')).toEqual(['group_by']);
  const year = 'from=2025-01-01T00:00:00Z&to=2026-01-01T00:00:00Z';
  expect(await faultyIn(`/stats?interval=week&${year}`)).toEqual(['interval']);
  const place = ['/contacts?q', '01a1e3cd-2c07-7000-a936-099a77b47ace', 'jane@example.com'];
  const cursor = Buffer.from(JSON.stringify(place)).toString('base64url');
  expect(await faultyIn(`/contacts?q=jane@&q=joe@&cursor=${cursor}`)).toEqual(['q']);
});

test.each([
  ['/test/inbox/wait?to=jane+label@example.com', 'The address contains a space.'],
  ['/messages?recipient=jane+label@example.com', 'The address contains a space.'],
  [
    '/messages?created_after=2026-11-15T09:00:00+01:00',
    'Must be an RFC 3339 time with an offset, such as 2026-11-15T09:00:00Z.',
  ],
])('the error of a + that is not encoded says so: %s', async (address, detail) => {
  const { json } = await app.call('GET', address);
  expect(json.errors[0].detail).toBe(`${detail} In a URL, + must be written as %2B.`);
});

test('an unknown reason is answered with those that exist', async () => {
  const { json } = await app.call('GET', '/messages?reason=hard_bounced');
  expect(json.errors[0].code).toBe('invalid_value');
  expect(json.errors[0].detail).toMatch(
    /^Must be one of unknown_mailbox, .*, hard_bounce, .*, content_gone, .* Did you mean hard_bounce\?$/,
  );
  for (const reason of ['unknown_mailbox', 'hard_bounce', 'content_gone']) {
    expect((await app.call('GET', `/messages?reason=${reason}`)).status).toBe(200);
  }
});

test('text in a query is found however it is encoded, and a % that encodes nothing is itself', async () => {
  const subject = 'Größe 100% ~';
  const sent = await app.call('POST', '/transactional/send', { body: validMessage({ subject }) });
  for (const q of ['Gr%C3%B6%C3%9Fe+100%+~', 'Gr%c3%b6%c3%9fe%20100%25%20%7E', '100%']) {
    const { json } = await app.call('GET', `/messages?q=${q}`);
    expect([q, json.data.map(({ id }: { id: string }) => id)]).toEqual([q, [sent.json.id]]);
  }
});

test('a URL that is not encoded is refused, and says why', async () => {
  const path = Buffer.from('/api/v1/messages?q=Größe').toString('latin1');
  const { status, body } = await sendRaw(app.url, `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
  expect([status, JSON.parse(body).code]).toEqual([400, 'malformed_request']);
  expect(JSON.parse(body).detail).toContain('encode spaces and characters beyond ASCII');
});

test('a path that is not UTF-8 is refused, with any method and operation', async () => {
  for (const [method, path] of [
    ['GET', '/messages/%ff'],
    ['DELETE', '/contacts/caf%e9@example.com'],
    ['GET', '/templates/%zz'],
    ['GET', '/%ff'],
  ] as const) {
    const { status, json, headers } = await app.call(method, path);
    expect([path, status, json.code]).toEqual([path, 400, 'malformed_request']);
    expect(json.detail).toContain('The path must be UTF-8');
    expect(headers.get('x-request-id')).toBe(json.request_id);
  }
});
