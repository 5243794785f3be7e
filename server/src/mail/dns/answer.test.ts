import { expect, test } from 'vitest';
import { toDnsAnswer } from './answer.ts';
import type { DnsResponse } from './dns-message.ts';

const reply: DnsResponse = {
  id: 1,
  rcode: 0,
  truncated: false,
  authenticated: true,
  question: { name: 'example.test', type: 1 },
  answers: [{ type: 'A', name: 'example.test', ttlSeconds: 9, data: '192.0.2.1' }],
  negativeTtlSeconds: undefined,
};

test('the AD bit counts only from a server with a trusted path', () => {
  expect(toDnsAnswer(reply, 'A', 'example.test', true)?.answer).toMatchObject({
    authenticated: true,
  });
  expect(toDnsAnswer(reply, 'A', 'example.test', false)?.answer).toMatchObject({
    authenticated: false,
  });
});

test('a CNAME loop ends without an answer', () => {
  const circle: DnsResponse = {
    ...reply,
    answers: [
      { type: 'CNAME', name: 'a.test', ttlSeconds: 9, data: 'b.test' },
      { type: 'CNAME', name: 'b.test', ttlSeconds: 9, data: 'a.test' },
    ],
  };
  expect(toDnsAnswer(circle, 'A', 'a.test', true)?.answer).toMatchObject({ kind: 'nodata' });
});
