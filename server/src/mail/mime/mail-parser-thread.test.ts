import { afterAll, expect, test } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import { ReadingThread } from './mail-parser-thread.ts';

/** Whose mail is read when, by a real thread. */

const thread = new ReadingThread(systemClock, 256);
afterAll(() => thread.stop());

function mail(subject: string): { data: Buffer; recipients: string[] } {
  const text = `From: hello@example.org\r\nSubject: ${subject}\r\n\r\nHello`;
  return { data: Buffer.from(text), recipients: ['a@example.com'] };
}

test('workspaces take turns, and each keeps its own order', async () => {
  const read: string[] = [];
  const hand = async (workspaceId: string, subject: string) => {
    const { request } = await thread.read(workspaceId, mail(subject));
    expect(request.subject).toBe(subject);
    read.push(subject);
  };
  await Promise.all([
    ...['a1', 'a2', 'a3', 'a4'].map((subject) => hand('a', subject)),
    ...['b1', 'b2'].map((subject) => hand('b', subject)),
    hand('c', 'c1'),
  ]);
  // The first is taken at once, before anybody else is there.
  expect(read).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'a4']);
});

test('a mail that is refused holds up nobody', async () => {
  const bad = { data: Buffer.from('no header at all'), recipients: [] };
  const ends = await Promise.allSettled([
    thread.read('a', bad),
    thread.read('a', mail('after')),
    thread.read('b', mail('beside')),
  ]);
  expect(ends.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled']);
  expect(ends[0]).toMatchObject({ reason: { code: 'malformed_request' } });
});
