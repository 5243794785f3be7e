// Goal: the exact encoded form in edge cases. Method: examples; that any text survives is tested
// with a parser in compose.test.ts.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GrowableBuffer } from './growable-buffer.ts';
import {
  decodeQuotedPrintable,
  writeBase64,
  writeQuotedPrintable,
  writeSevenBit,
} from './transfer-encoding.ts';

function written(write: (buffer: GrowableBuffer) => void): string {
  const buffer = new GrowableBuffer(16);
  write(buffer);
  return buffer.copyOut().toString('latin1');
}

const quotedPrintable = (text: string): string =>
  written((buffer) => writeQuotedPrintable(Buffer.from(text), buffer));

describe('quoted-printable', () => {
  it.each([
    ['a=b', 'a=3Db'],
    ['é', '=C3=A9'],
    ['a \r\nb\t', 'a=20\r\nb=09'],
    ['a\nb\rc\r\nd', 'a\r\nb\r\nc\r\nd'],
    ['.\n..a', '=2E\r\n=2E.a'],
    ['From me\nFrommage', '=46rom me\r\nFrommage'],
    ['\0\u001b\u007f', '=00=1B=7F'],
    [' ', '=20'],
    ['', ''],
    ['a'.repeat(75), 'a'.repeat(75)],
    ['a'.repeat(76), `${'a'.repeat(75)}=\r\na`],
    [`${'a'.repeat(74)} \n`, `${'a'.repeat(74)}=\r\n=20\r\n`],
    [`${'a'.repeat(73)}=`, `${'a'.repeat(73)}=\r\n=3D`],
    [`${'a'.repeat(75)}.`, `${'a'.repeat(75)}=\r\n=2E`],
  ])('%j is %j', (text, encoded) => {
    expect(quotedPrintable(text)).toBe(encoded);
  });

  it('never writes a line of more than 76 characters or with a trailing blank', () => {
    const piece = fc.constantFrom(
      'a',
      ' ',
      '\t',
      '=',
      'é',
      '.',
      '\n',
      'a'.repeat(37),
      ' '.repeat(74),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 200 }), (pieces) => {
        for (const line of quotedPrintable(pieces.join('')).split('\r\n')) {
          expect(line.length).toBeLessThanOrEqual(76);
          expect(line).toMatch(/^[\t\x20-\x7e]*$/);
          expect(line).not.toMatch(/[ \t]$/);
        }
      }),
    );
  });
});

describe('7bit', () => {
  it('writes plain text with CRLF', () => {
    const text = `a\nb\rc\r\n\r\n${'x'.repeat(78)}`;
    expect(written((buffer) => writeSevenBit(Buffer.from(text), buffer))).toBe(
      `a\r\nb\r\nc\r\n\r\n${'x'.repeat(78)}`,
    );
  });

  it.each(['é', '\0', 'x'.repeat(79), 'a ', 'a\t\nb', '.', 'a\n.b', 'From me', 'a\nFrom me'])(
    'rejects %j and leaves the buffer unchanged',
    (text) => {
      const buffer = new GrowableBuffer(16);
      buffer.writeText('before');
      expect(writeSevenBit(Buffer.from(text), buffer)).toBe(false);
      expect(buffer.copyOut().toString()).toBe('before');
    },
  );
});

describe('decoding quoted-printable', () => {
  const read = (text: string) =>
    decodeQuotedPrintable(Buffer.from(text, 'latin1')).toString('latin1');

  it.each([
    ['a=3Db=0d=0A=c3=A9', 'a=b\r\n\xc3\xa9'],
    ['one\r\ntwo\nthree', 'one\r\ntwo\nthree'],
    ['one =\r\ntwo=\nthree= \t\r\nfour=', 'one twothreefour'],
    ['=', ''],
    ['=\r=4', '=\r=4'],
    ['a=XY=3=G1=', 'a=XY=3=G1'],
    ['==41', '=A'],
    ['', ''],
  ])('%j is %j', (encoded, decoded) => {
    expect(read(encoded)).toBe(decoded);
  });

  it('returns what was encoded', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const canonical = text.replaceAll(/\r\n|\r|\n/g, '\r\n');
        expect(read(quotedPrintable(text))).toBe(Buffer.from(canonical).toString('latin1'));
      }),
    );
  });
});

describe('base64', () => {
  it.each([0, 1, 2, 3, 56, 57, 58, 114, 1000, 57 * 4096 - 1, 57 * 4096, 57 * 4096 + 58])(
    'writes %i octets in lines of 76 characters',
    (octets) => {
      const content = Buffer.alloc(octets, 'Postrider');
      const encoded = written((buffer) => writeBase64(content, buffer));
      const lines = encoded.split('\r\n');
      expect(lines.pop()).toBe('');
      expect(lines.slice(0, -1).every((line) => line.length === 76)).toBe(true);
      expect(Buffer.from(lines.join(''), 'base64').equals(content)).toBe(true);
      expect(lines.join('')).toBe(content.toString('base64'));
    },
  );
});
