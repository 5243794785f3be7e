import { afterAll, expect, test } from 'vitest';
import { systemClock } from '../../lib/time/clock.ts';
import { isSmall, MailParser } from './mail-parser.ts';

/** Mail that is small in bytes and still expensive does not hold the event loop. */

const parser = new MailParser(systemClock);
afterAll(() => parser.stop());

const HEADER = 'From: hello@example.org\r\nSubject: x\r\n';
const SMALL = `${HEADER}\r\nHello`;

test.each([
  ['blank lines', `${HEADER}\r\n${' \r\n'.repeat(15_000)}`],
  [
    'flowed lines',
    `${HEADER}Content-Type: text/plain; format=flowed\r\n\r\n${'a \r\n'.repeat(15_000)}`,
  ],
  [
    'parts',
    `${HEADER}Content-Type: multipart/mixed; boundary=b\r\n\r\n${'--b\r\n\r\n'.repeat(100)}`,
  ],
  ['nested groups in an address', `${HEADER}To: ${'g:'.repeat(10_000)}\r\n\r\nHello`],
  ['a header without an end', `${HEADER}${'X: y\r\n'.repeat(900)}X: ${'y'.repeat(9_000)}`],
])('%s are parsed in a thread, and small mail is not', async (_, expensive) => {
  const order: string[] = [];
  const parse = async (name: string, mail: string) => {
    await parser.parse('a', Buffer.from(mail)).catch(() => {});
    order.push(name);
  };
  await Promise.all([parse('expensive', expensive), parse('small', SMALL)]);
  expect(order).toEqual(['small', 'expensive']);
});

test('a short header is small unless it has many groups', () => {
  const received =
    'Received: from a (a [192.0.2.1]) by b with ESMTPS;\r\n\tSun, 15 Nov 2026 10:00:00 +0000\r\n';
  const signature = `DKIM-Signature: v=1; h=${'from:to:subject:date:'.repeat(8)}; b=x\r\n`;
  const usual = received.repeat(20) + signature.repeat(3) + HEADER;
  expect(isSmall(Buffer.from(`${usual}\r\nHello`))).toBe(true);
  expect(isSmall(Buffer.from(`${HEADER}To: ${'g:'.repeat(1_000)}\r\n\r\nHello`))).toBe(false);
});
