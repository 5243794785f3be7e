import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type CsvOptions, type CsvRecord, csvLine, readCsv, stripFormulaGuard } from './csv.ts';

/**
 * Goal: RFC 4180 is read to the letter, a file may be cut into windows anywhere, and a broken line
 * costs that line alone.
 * Method: tables of small files; then random files cut at random places, compared with what they
 * were made from.
 */

const OPTIONS: CsvOptions = {
  delimiter: 0x2c,
  atEnd: true,
  recordsMax: 1_000,
  recordBytesMax: 1_000,
};

function read(text: string, changes: Partial<CsvOptions> = {}) {
  return readCsv(Buffer.from(text), { ...OPTIONS, ...changes });
}

function shown(records: readonly CsvRecord[]): unknown[] {
  return records.map(({ fields, error: fault }) => fields?.map(String) ?? fault);
}

describe('a whole file', () => {
  it.each<[string, string, unknown[]]>([
    [
      'plain fields',
      'a,b\r\nc,d\r\n',
      [
        ['a', 'b'],
        ['c', 'd'],
      ],
    ],
    ['LF alone', 'a\nb\n', [['a'], ['b']]],
    ['CR alone', 'a\rb\r', [['a'], ['b']]],
    ['no line break at the end', 'a,b', [['a', 'b']]],
    ['empty fields', ',a,,\n', [['', 'a', '', '']]],
    ['empty lines are no records', 'a\n\n\r\nb\n', [['a'], ['b']]],
    [
      'a line of delimiters is one',
      'a,b\n,\n',
      [
        ['a', 'b'],
        ['', ''],
      ],
    ],
    ['quoted fields', '"a","b ""x"" c"\n', [['a', 'b "x" c']]],
    ['delimiters and line breaks within quotes', '"a,\r\nb",c\n', [['a,\r\nb', 'c']]],
    ['an empty quoted field', '"",a\n', [['', 'a']]],
    ['a quote within a bare field is a character', 'a"b,c\n', [['a"b', 'c']]],
    ['spaces belong to the field', ' a , b \n', [[' a ', ' b ']]],
    ['text behind a closing quote', '"a"b,c\nd,e\n', ['text_after_quote', ['d', 'e']]],
    [
      'a quote that is never closed',
      'a,"b\nc,d\ne,f\n',
      ['quote_not_closed', ['c', 'd'], ['e', 'f']],
    ],
    ['nothing', '', []],
  ])('%s', (_, text, records) => {
    expect(shown(read(text).records)).toEqual(records);
  });

  it('counts lines, those within quotes too', () => {
    const { records, lines } = read('a\n"b\r\nb\n"\n\n"c\nd\n');
    expect(records.map(({ linesBefore }) => linesBefore)).toEqual([0, 1, 5, 6]);
    expect(shown(records)).toEqual([['a'], ['b\r\nb\n'], 'quote_not_closed', ['d']]);
    expect(lines).toBe(7);
  });

  it('takes another delimiter', () => {
    expect(shown(read('a;b,c\n', { delimiter: 0x3b }).records)).toEqual([['a', 'b,c']]);
  });
});

describe('a window', () => {
  it('leaves a record that may go on', () => {
    for (const text of ['a,b\nc', 'a,b\nc,', 'a,b\n"c', 'a,b\n"c"', 'a,b\nc\r']) {
      expect(read(text, { atEnd: false })).toMatchObject({ used: 4, lines: 1 });
    }
  });

  it('ends after as many records as are wanted', () => {
    expect(read('a\nb\nc\n', { recordsMax: 2 })).toMatchObject({ used: 4, lines: 2 });
  });

  it('tells a line that is too long, and that its rest is to be dropped', () => {
    const long = read(`a\n${'x'.repeat(30)}`, { atEnd: false, recordBytesMax: 20 });
    expect(shown(long.records)).toEqual([['a'], 'too_long']);
    expect(long).toMatchObject({ used: 32, lines: 1, inBrokenLine: true });
    const ended = read(`${'x'.repeat(30)}\nb\n`, { recordBytesMax: 20 });
    expect(shown(ended.records)).toEqual(['too_long', ['b']]);
    expect(ended).toMatchObject({ lines: 2, inBrokenLine: false });
  });

  it('goes on behind the first line of a quote that does not close in time', () => {
    const text = `"a\nb\nc\n${'d\n'.repeat(20)}`;
    const { records } = read(text, { atEnd: false, recordBytesMax: 20 });
    expect(shown(records).slice(0, 3)).toEqual(['quote_not_closed', ['b'], ['c']]);
  });
});

const field = fc.string({ unit: fc.constantFrom('a', 'é', ',', '"', '\r', '\n', ' ', ';') });
const file = fc.array(fc.array(field, { minLength: 1, maxLength: 4 }), { maxLength: 8 });

it('reads back what was written, wherever it is cut', () => {
  fc.assert(
    fc.property(file, fc.constantFrom('\r\n', '\n', '\r'), fc.nat(40), (rows, end, step) => {
      const text = rows.map((row) => row.map(quoted).join(',') + end).join('');
      const wanted = rows.filter((row) => row.length > 1 || row[0] !== '');
      const whole = Buffer.from(text);
      const records: unknown[] = [];
      let from = 0;
      for (let to = 0; from < whole.length; to = Math.min(to + 1 + step, whole.length)) {
        const window = whole.subarray(from, to);
        const part = readCsv(window, { ...OPTIONS, atEnd: to === whole.length });
        records.push(...shown(part.records));
        from += part.used;
      }
      expect(records).toEqual(wanted);
    }),
    { numRuns: 500 },
  );
});

function quoted(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

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
      expect(read.map(stripFormulaGuard)).toEqual(cells);
    }),
  );
});
