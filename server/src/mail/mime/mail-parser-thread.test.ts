import { afterAll, expect, test } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import { MailParserThread } from './mail-parser-thread.ts';

/** The order in which a real worker thread serves the queues, and its isolation from bad mail. */

const thread = new MailParserThread(systemClock, 256);
afterAll(() => thread.stop());

function mail(subject: string): Buffer {
  return Buffer.from(`From: hello@example.org\r\nSubject: ${subject}\r\n\r\nHello`);
}

test('queues are served round-robin, each in its own order', async () => {
  const parsed: string[] = [];
  const submit = async (queueKey: string, subject: string) => {
    const result = await thread.parse(queueKey, mail(subject));
    expect(result.subject).toBe(subject);
    parsed.push(subject);
  };
  await Promise.all([
    ...['a1', 'a2', 'a3', 'a4'].map((subject) => submit('a', subject)),
    ...['b1', 'b2'].map((subject) => submit('b', subject)),
    submit('c', 'c1'),
  ]);
  // a1 starts at once, before the other queues have entries.
  expect(parsed).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'a4']);
});

test('rejected mail does not affect other mail', async () => {
  const tooManyParts = Buffer.from(`Subject: x\r\n\r\n${'\n--'.repeat(6_000)}`);
  const results = await Promise.allSettled([
    thread.parse('a', tooManyParts),
    thread.parse('a', mail('next')),
    thread.parse('b', mail('other queue')),
  ]);
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled']);
  expect(results[0]).toMatchObject({ reason: { code: 'malformed_request' } });
});
