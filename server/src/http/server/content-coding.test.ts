import { expect, test } from 'vitest';
import { acceptedCoding } from './content-coding.ts';

test.each([
  [undefined, undefined],
  ['', undefined],
  ['identity', undefined],
  ['gzip', 'gzip'],
  ['gzip, deflate, br, zstd', 'br'],
  [' br ; q=0.5 ,gzip;q=1', 'br'],
  ['br;q=0, gzip', 'gzip'],
  ['br ; q=0.000 , gzip ;q=0', undefined],
])('%j selects %s', (header, coding) => expect(acceptedCoding(header)).toBe(coding));

test('a header of blanks is read in linear time', () => {
  // With a quadratic algorithm, this test would time out.
  expect(acceptedCoding(`a${' '.repeat(1_000_000)}b`)).toBeUndefined();
});
