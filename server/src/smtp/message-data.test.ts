import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  ClientDisconnected,
  DataDecoder,
  type DataViolation,
  MessageData,
} from './message-data.ts';

/** Message data ends at CRLF.CRLF only, wherever the network splits it, and violations are noticed. */

function decode(chunks: readonly string[]) {
  const decoder = new DataDecoder();
  let text = '';
  for (const [index, chunk] of chunks.entries()) {
    const { data, rest } = decoder.decode(Buffer.from(chunk, 'latin1'));
    text += data.toString('latin1');
    if (rest === undefined) continue;
    const after = rest.toString('latin1') + chunks.slice(index + 1).join('');
    return { text, after, violation: decoder.violation, hasAmbiguousEnd: decoder.hasAmbiguousEnd };
  }
  const { violation, hasAmbiguousEnd } = decoder;
  return { text, after: undefined, violation, hasAmbiguousEnd };
}

test.each([
  ['a line', 'Hi\r\n.\r\n', 'Hi\r\n', ''],
  ['nothing', '.\r\nQUIT\r\n', '', 'QUIT\r\n'],
  ['stuffed dots', '..\r\n...\r\na..b\r\n.\r\n', '.\r\n..\r\na..b\r\n', ''],
  ['a dot that a client did not double', '.a\r\n.\r\n', 'a\r\n', ''],
  ['what follows the end', 'a\r\n.\r\nNOOP\r\n.\r\n', 'a\r\n', 'NOOP\r\n.\r\n'],
])('decodes %s', (_name, sent, text, after) => {
  expect(decode([sent])).toEqual({ text, after, violation: undefined, hasAmbiguousEnd: false });
});

test.each<[string, DataViolation, boolean]>([
  ['a\nb', 'bare_lf', false],
  ['a\rb', 'bare_cr', false],
  ['a\r\r\n', 'bare_cr', false],
  ['a\0', 'nul', false],
  ['\n', 'bare_lf', false],
  ['\n.b\n', 'bare_lf', false],
  ['.\n', 'bare_lf', true],
  ['a\n.\r\nb', 'bare_lf', true],
  ['a\n.\nb', 'bare_lf', true],
  ['a\r.\r\n', 'bare_cr', true],
  ['a\r.\r', 'bare_cr', true],
  ['a\r\n.\rb', 'bare_cr', true],
  ['a\r\n.\nb', 'bare_lf', true],
])('%j is a violation', (text, violation, hasAmbiguousEnd) => {
  expect(decode([text, '\r\n.\r\n'])).toMatchObject({ violation, hasAmbiguousEnd, after: '' });
});

test('any split gives the same result, and every text arrives as it was sent', () => {
  const piece = fc.constantFrom('a', '.', '..', '\r\n', '\r\n', '\r', '\n', '\0', '\xff');
  fc.assert(
    fc.property(fc.array(piece), fc.array(fc.nat(40)), (pieces, cuts) => {
      const sent = `${pieces.join('')}\r\n.\r\n`;
      const whole = decode([sent]);
      const chunks: string[] = [];
      let rest = sent;
      for (const cut of cuts) {
        chunks.push(rest.slice(0, cut));
        rest = rest.slice(cut);
      }
      expect(decode([...chunks, rest])).toEqual(whole);
    }),
  );
  const line = fc.string({ unit: fc.constantFrom('a', '.', ' ', '\xff') });
  fc.assert(
    fc.property(fc.array(line, { minLength: 1 }), (lines) => {
      const text = `${lines.join('\r\n')}\r\n`;
      const stuffed = text.replaceAll(/(^|\r\n)\./g, '$1..');
      expect(decode([`${stuffed}.\r\n`])).toEqual({
        text,
        after: '',
        violation: undefined,
        hasAmbiguousEnd: false,
      });
    }),
  );
});

test('a message that breaks off is an error, and what follows a message is not part of it', async () => {
  const chunks = [Buffer.from('one\r\n'), Buffer.from('.\r'), Buffer.from('\nQUIT\r\n')];
  let unread = '';
  const source = {
    readChunk: async () => chunks.shift(),
    unread: (bytes: Buffer) => {
      unread = bytes.toString();
    },
  };
  const options = { bytesMax: 4, nextTurn: async () => {}, onEnd: () => {} };
  const data = new MessageData(source, options);
  const received: string[] = [];
  for await (const chunk of data) received.push(chunk.toString());
  expect([received.join(''), unread, data.ended, data.sizeExceeded]).toEqual([
    'one\r\n',
    'QUIT\r\n',
    true,
    true,
  ]);
  const broken = new MessageData(source, options);
  await expect(broken.discard()).rejects.toThrow(ClientDisconnected);
});

test('the rest of a large message is received in turns', async () => {
  const chunks = Array.from({ length: 8 }, () => Buffer.alloc(64 * 1024, 'x'));
  chunks.push(Buffer.from('\r\n.\r\n'));
  const source = { readChunk: async () => chunks.shift(), unread: () => {} };
  let turns = 0;
  const granted: (() => void)[] = [];
  const nextTurn = (): Promise<void> => {
    turns += 1;
    return new Promise((resolve) => granted.push(resolve));
  };
  const data = new MessageData(source, { bytesMax: 2 ** 20, nextTurn, onEnd: () => {} });
  let received = 0;
  for await (const chunk of data) {
    received += chunk.length;
    // Every further chunk waits until its turn is granted.
    setImmediate(() => granted.shift()?.());
  }
  expect([received, turns]).toEqual([8 * 64 * 1024 + 2, 4]);
});
