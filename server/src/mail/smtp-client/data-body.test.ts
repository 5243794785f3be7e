import fc from 'fast-check';
import { expect, test } from 'vitest';
import { prepareBody } from './data-body.ts';

/** Goal: the receiver recovers exactly what was given, and a bare CR or LF is never sent. */

function travelled(data: Buffer | Buffer[]): string | undefined {
  const body = prepareBody(data);
  if (!body) return undefined;
  const bytes = Buffer.concat(body.blocks);
  expect(body.blocksBytes).toBe(bytes.length);
  return bytes.toString('latin1');
}

test.each([
  ['a\r\n.b\r\n', 'a\r\n..b\r\n'],
  ['.a\r\n', '..a\r\n'],
  ['..\r\n', '...\r\n'],
  ['.\r\n', '..\r\n'],
  ['a\r\n.\r\n.\r\nb\r\n', 'a\r\n..\r\n..\r\nb\r\n'],
  ['a.b\r\n', 'a.b\r\n'],
])('%j is sent as %j', (data, expected) => {
  expect(travelled(Buffer.from(data))).toBe(expected);
});

test('a missing final line ending is added and counted', () => {
  const body = prepareBody(Buffer.from('a\r\nb'));
  expect(Buffer.concat(body?.blocks ?? []).toString()).toBe('a\r\nb\r\n');
  expect(body?.sizeBytes).toBe(6);
});

test('stuffed dots do not count for SIZE', () => {
  expect(prepareBody(Buffer.from('.a\r\n.b\r\n'))?.sizeBytes).toBe(8);
});

test.each(['a\nb\r\n', 'a\rb\r\n', '\n', '\r', 'a\r\n\n', 'a\r\r\n', 'a\r\n.\n', '\n.\r\n', 'a\r'])(
  '%j is rejected',
  (data) => {
    expect(prepareBody(Buffer.from(data))).toBeUndefined();
    for (let cut = 0; cut <= data.length; cut++) {
      const parts = [Buffer.from(data.slice(0, cut)), Buffer.from(data.slice(cut))];
      expect(prepareBody(parts)).toBeUndefined();
    }
  },
);

test('bytes above 127 are detected in any block', () => {
  expect(prepareBody(Buffer.from('abc\r\n'))?.eightBit).toBe(false);
  expect(prepareBody([Buffer.from('abc\r\n'), Buffer.from('ü\r\n')])?.eightBit).toBe(true);
});

test('removing the stuffed dots restores any lines, however they are split into blocks', () => {
  const line = fc.stringMatching(/^[.a]{0,4}$/);
  fc.assert(
    fc.property(fc.array(line), fc.array(fc.nat(60)), (lines, cuts) => {
      const text = lines.map((content) => `${content}\r\n`).join('');
      const ends = [0, ...cuts.sort((a, b) => a - b), text.length];
      const blocks = ends.slice(1).map((end, i) => Buffer.from(text.slice(ends[i], end)));
      const stuffed = travelled(blocks) as string;
      expect(stuffed.replace(/(^|\n)\./g, '$1')).toBe(text);
      expect(`\r\n${stuffed}`).not.toContain('\r\n.\r\n');
      expect(travelled(Buffer.from(text))).toBe(stuffed);
    }),
  );
});
