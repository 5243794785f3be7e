import { afterAll, beforeAll, expect, test } from 'vitest';
import { startApp, type TestApp } from '../harness/app.ts';

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
