import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FieldErrors } from './field-errors.ts';
import { parseAttachments } from './parse-options.ts';

/** Valid and invalid base64, for a check that does not inspect every character. */

function read(content: string): { bytes: Buffer | undefined; codes: string[] } {
  const errors = new FieldErrors();
  const [file] = parseAttachments({ attachments: [{ filename: 'a', content }] }, errors);
  return { bytes: file?.content, codes: errors.all.map(({ code }) => code) };
}

test('accepts any bytes', () => {
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      const { bytes: content, codes } = read(Buffer.from(bytes).toString('base64'));
      expect([content?.equals(bytes), codes]).toEqual([true, []]);
    }),
  );
});

test('finds any other character', () => {
  const character = fc.constantFrom(...'ABab01+/==-_*.\u00e9\u{1f642}\0');
  fc.assert(
    fc.property(fc.array(character, { maxLength: 14 }), (characters) => {
      const text = characters.join('');
      const isRight = text.length % 4 !== 1 && /^[A-Za-z0-9+/]*={0,2}$/.test(text);
      expect(read(text).codes).toEqual(isRight ? [] : ['invalid_base64']);
    }),
    { numRuns: 3_000 },
  );
});

test.each([
  ['invoice.PDF', undefined, 'application/pdf'],
  ['logo.2x.png', undefined, 'image/png'],
  ['README', undefined, 'application/octet-stream'],
  ['constructor', undefined, 'application/octet-stream'],
  ['setup.exe', undefined, 'application/octet-stream'],
  ['data.csv', 'application/octet-stream', 'application/octet-stream'],
])('the type of %s, given as %s, is %s', (filename, given, type) => {
  const file = { filename, content: '', ...(given === undefined ? {} : { content_type: given }) };
  const [parsed] = parseAttachments({ attachments: [file] }, new FieldErrors());
  expect(parsed?.contentType).toBe(type);
});
