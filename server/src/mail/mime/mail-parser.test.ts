import { afterAll, expect, test } from 'vitest';
import { systemClock } from '../../lib/time/clock.ts';
import { MailParser } from './mail-parser.ts';

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
