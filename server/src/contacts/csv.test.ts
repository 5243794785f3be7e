import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { csvLine, stripFormulaGuard } from '../lib/csv-line.ts';
import { type CsvOptions, type CsvRecord, readCsv } from './csv.ts';

/**
 * RFC 4180 is implemented exactly, a file may be cut into windows anywhere, and a broken line
 * affects only itself: tables of small files, then random files cut at random places and compared
 * with what they were written from.
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
  return records.map(({ fields, error }) => fields?.map(String) ?? error);
}

describe('a complete file', () => {
  it.each<[string, string, unknown[]]>([
    [
      'plain fields',
      'a,b\r\nc,d\r\n',
      [
        ['a', 'b'],
        ['c', 'd'],
      ],
    ],
    ['LF only', 'a\nb\n', [['a'], ['b']]],
    ['CR only', 'a\rb\r', [['a'], ['b']]],
    ['no final line break', 'a,b', [['a', 'b']]],
    ['empty fields', ',a,,\n', [['', 'a', '', '']]],
    ['skips empty lines', 'a\n\n\r\nb\n', [['a'], ['b']]],
    [
      'a line of delimiters is a record',
      'a,b\n,\n',
      [
        ['a', 'b'],
        ['', ''],
      ],
    ],
    ['quoted fields', '"a","b ""x"" c"\n', [['a', 'b "x" c']]],
    ['delimiters and line breaks inside quotes', '"a,\r\nb",c\n', [['a,\r\nb', 'c']]],
    ['an empty quoted field', '"",a\n', [['', 'a']]],
    ['a quote inside an unquoted field is literal', 'a"b,c\n', [['a"b', 'c']]],
    ['spaces are part of the field', ' a , b \n', [[' a ', ' b ']]],
    ['text after a closing quote', '"a"b,c\nd,e\n', ['text_after_quote', ['d', 'e']]],
    ['an unclosed quote', 'a,"b\nc,d\ne,f\n', ['quote_not_closed', ['c', 'd'], ['e', 'f']]],
    ['nothing', '', []],
  ])('%s', (_, text, records) => {
    expect(shown(read(text).records)).toEqual(records);
  });

  it('counts lines, including those inside quotes', () => {
    const { records, lines } = read('a\n"b\r\nb\n"\n\n"c\nd\n');
    expect(records.map(({ linesBefore }) => linesBefore)).toEqual([0, 1, 5, 6]);
    expect(shown(records)).toEqual([['a'], ['b\r\nb\n'], 'quote_not_closed', ['d']]);
    expect(lines).toBe(7);
  });

  it('accepts another delimiter', () => {
    expect(shown(read('a;b,c\n', { delimiter: 0x3b }).records)).toEqual([['a', 'b,c']]);
  });
});

describe('a window', () => {
  it('leaves an incomplete record for the next window', () => {
    for (const text of ['a,b\nc', 'a,b\nc,', 'a,b\n"c', 'a,b\n"c"', 'a,b\nc\r']) {
      expect(read(text, { atEnd: false })).toMatchObject({ used: 4, lines: 1 });
    }
  });

  it('stops at the maximum number of records', () => {
    expect(read('a\nb\nc\n', { recordsMax: 2 })).toMatchObject({ used: 4, lines: 2 });
  });

  it('reports a line that is too long and that its rest must be skipped', () => {
    const long = read(`a\n${'x'.repeat(30)}`, { atEnd: false, recordBytesMax: 20 });
    expect(shown(long.records)).toEqual([['a'], 'too_long']);
    expect(long).toMatchObject({ used: 32, lines: 1, inSkippedLine: true });
    const ended = read(`${'x'.repeat(30)}\nb\n`, { recordBytesMax: 20 });
    expect(shown(ended.records)).toEqual(['too_long', ['b']]);
    expect(ended).toMatchObject({ lines: 2, inSkippedLine: false });
  });

  it('continues after the first line of a quote that is not closed in time', () => {
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
 * Exported cells are safe in a spreadsheet and can be imported unchanged: a table of dangerous
 * cells, then random cells written, read and unguarded.
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

it('round-trips every text, and no cell starts like a formula', () => {
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
