import { expect, test } from 'vitest';
import { classifyResponse } from './classify-response.ts';

const DAY_MS = 86_400_000;
const facts = { cycleAttempts: 1, failingSinceMs: null, nowMs: 10 * DAY_MS, random: 0.5 };

function posted(status: number | null, retryAfterMs?: number) {
  const error = status !== null && status >= 200 && status < 300 ? null : 'It failed.';
  return { status, error, retryAfterMs };
}

test.each([200, 201, 204, 299])('%i counts as delivered', (status) => {
  expect(classifyResponse(posted(status), facts)).toEqual({
    status: 'succeeded',
    dueAtMs: null,
    disable: undefined,
  });
});

test.each([null, 301, 302, 400, 401, 404, 429, 500, 503])('%j is retried', (status) => {
  const { status: becomes, dueAtMs, disable } = classifyResponse(posted(status), facts);
  expect([becomes, dueAtMs, disable]).toEqual(['pending', facts.nowMs + 5_000, undefined]);
});

test('410 fails the delivery and disables the endpoint', () => {
  expect(classifyResponse(posted(410), facts)).toMatchObject({ status: 'failed', disable: 'gone' });
});

test('the tenth failure is final', () => {
  expect(classifyResponse(posted(500), { ...facts, cycleAttempts: 10 })).toMatchObject({
    status: 'failed',
    dueAtMs: null,
  });
});

test('an endpoint is disabled after five days of failures, not before', () => {
  const since = (days: number) => ({ ...facts, failingSinceMs: facts.nowMs - days * DAY_MS });
  expect(classifyResponse(posted(500), since(5)).disable).toBe('failing');
  expect(classifyResponse(posted(500), since(4.99)).disable).toBeUndefined();
  expect(classifyResponse(posted(200), since(6)).disable).toBeUndefined();
});
