import fc from 'fast-check';
import { expect, it } from 'vitest';
import { readCsv } from './csv-read.ts';
import { csvLine, withoutGuard } from './csv-write.ts';

/**
 * Goal: what goes out is safe in a spreadsheet and comes back as it was.
 * Method: a table of dangerous cells; random cells written, read and unguarded.
 */

it.each([
  ['=1+1', `"'=1+1"`],
  ['+43 1 234', `"'+43 1 234"`],
  ['-2', `"'-2"`],
  ['@SUM(A1)', `"'@SUM(A1)"`],
  ['\tx', `"'\tx"`],
  ['＝1', `"'＝1"`],
  ["'=1", `"''=1"`],
  ["it's", `"it's"`],
  ['a,b', '"a,b"'],
  ['say "hi"', '"say ""hi"""'],
  ['plain', 'plain'],
  [-2, '-2'],
  [true, 'true'],
  [null, ''],
  [{ city: 'Vienna' }, '"{""city"":""Vienna""}"'],
])('writes %j as %s', (value, cell) => {
  expect(csvLine([value, 'x'])).toBe(`${cell},x\r\n`);
});

it('every text comes back, and no cell begins like a formula', () => {
  const text = fc.string({ unit: fc.constantFrom("'", '=', '+', '-', '@', '\t', 'a', '"', '\n') });
  fc.assert(
    fc.property(fc.array(text, { minLength: 2, maxLength: 5 }), (cells) => {
      const line = Buffer.from(csvLine(cells));
      const { records } = readCsv(line, {
        delimiter: 0x2c,
        atEnd: true,
        recordsMax: 2,
        recordBytesMax: 1_000,
      });
      expect(records).toHaveLength(1);
      const read = records[0]?.fields?.map(String) ?? [];
      for (const cell of read) expect(cell).not.toMatch(/^[=+\-@\t\r\n]/);
      expect(read.map(withoutGuard)).toEqual(cells);
    }),
  );
});
