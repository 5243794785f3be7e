import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type ReceivedReply, ReplyParser } from './reply-parser.ts';

/**
 * Goal: every well-formed reply is parsed however it is split into packets; any other input ends
 * parsing.
 */

function readAll(...chunks: (string | Buffer)[]): {
  replies: ReceivedReply[];
  reader: ReplyParser;
} {
  const reader = new ReplyParser();
  const replies: ReceivedReply[] = [];
  for (const chunk of chunks) {
    reader.push(Buffer.from(chunk));
    for (let next = reader.next(); next; next = reader.next()) replies.push(next);
  }
  return { replies, reader };
}

describe('a reply', () => {
  test('of one line has a code, an enhanced code and text', () => {
    const { replies } = readAll('550 5.1.1 No such user here\r\n');
    expect(replies).toEqual([
      {
        reply: { code: 550, enhanced: '5.1.1', text: 'No such user here' },
        lines: ['550 5.1.1 No such user here'],
      },
    ]);
  });

  test('of several lines has its text once, without the enhanced codes', () => {
    const { replies } = readAll(
      '550-5.7.26 This mail has been blocked\r\n550 5.7.26 Read more\r\n',
    );
    expect(replies[0]?.reply).toEqual({
      code: 550,
      enhanced: '5.7.26',
      text: 'This mail has been blocked Read more',
    });
    expect(replies[0]?.lines).toHaveLength(2);
  });

  test.each([
    ['250\r\n', { code: 250, enhanced: null, text: '' }],
    ['250 \r\n', { code: 250, enhanced: null, text: '' }],
    ['250 ok\n', { code: 250, enhanced: null, text: 'ok' }],
    ['250 2.0.0\r\n', { code: 250, enhanced: '2.0.0', text: '' }],
    ['450 4.2.0x odd\r\n', { code: 450, enhanced: null, text: '4.2.0x odd' }],
    // The class of the enhanced code must match the reply code (RFC 2034 section 4).
    ['550 4.2.2 full\r\n', { code: 550, enhanced: null, text: '4.2.2 full' }],
  ])('%j is parsed', (bytes, reply) => {
    expect(readAll(bytes).replies[0]?.reply).toEqual(reply);
  });

  test('is parsed the same however its bytes are split', () => {
    const bytes = Buffer.from(
      '250-mx Grüße\r\n250-PIPELINING\r\n250 SIZE 10\r\n354 go\r\n421 4.3.2 bye\r\n',
    );
    const whole = readAll(bytes).replies;
    fc.assert(
      fc.property(fc.array(fc.nat(bytes.length)), (cuts) => {
        const ends = [0, ...cuts.sort((a, b) => a - b), bytes.length];
        const chunks = ends.slice(1).map((end, i) => bytes.subarray(ends[i], end));
        expect(readAll(...chunks).replies).toEqual(whole);
      }),
    );
  });

  test('may contain UTF-8, but no control characters', () => {
    const { replies } = readAll(Buffer.from('550 Empfänger\0 \x1b[31munbekannt \xff\r\n', 'utf8'));
    expect(replies[0]?.reply.text).toBe('Empfänger   [31munbekannt ÿ');
    expect(replies[0]?.lines[0]).not.toMatch(/\p{Cc}/u);
    expect(readAll(Buffer.from([0x32, 0x35, 0x30, 0x20, 0xff, 0x0a])).replies[0]?.reply.text).toBe(
      '\ufffd',
    );
  });
});

describe('malformed input', () => {
  test.each([
    ['a line without a code', 'hello\r\n'],
    ['an empty line', '\r\n'],
    ['a code of two digits', '25 ok\r\n'],
    ['a code outside 2xx to 5xx', '150 ok\r\n'],
    ['a code with a suffix', '2500 ok\r\n'],
    ['one reply with two codes', '250-a\r\n550 b\r\n'],
    ['a line over the limit, terminated', `250 ${'x'.repeat(3000)}\r\n`],
    ['a line over the limit, not terminated', `250 ${'x'.repeat(3000)}`],
    ['an endless reply', '250-more\r\n'.repeat(10_000)],
  ])('%s', (_what, bytes) => {
    const { replies, reader } = readAll(bytes);
    expect(replies).toEqual([]);
    expect(reader.malformed).not.toBeNull();
  });

  test('is final: nothing after it is read', () => {
    expect(readAll('nonsense\r\n250 ok\r\n').replies).toEqual([]);
  });
});

test('unread bytes are detected, complete lines and partial ones', () => {
  expect(readAll('220 go\r\n').reader.hasUnread).toBe(false);
  expect(readAll('220 go\r\n2').reader.hasUnread).toBe(true);
  expect(readAll('220 go\r\n250-a\r\n').reader.hasUnread).toBe(true);
});

test('a long text is truncated', () => {
  const { replies } = readAll(`250-${'x'.repeat(900)}\r\n250 ${'y'.repeat(900)}\r\n`);
  expect(replies[0]?.reply.text).toHaveLength(1024);
});

test('text that is cut inside a character is still valid', () => {
  const { replies } = readAll(`250 ${'x'.repeat(1023)}\u{1f600}\r\n`);
  expect(replies[0]?.reply.text).toBe(`${'x'.repeat(1023)}\ufffd`);
});
