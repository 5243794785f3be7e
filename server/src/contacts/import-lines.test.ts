import { describe, expect, it } from 'vitest';
import { type ImportLine, readLines, readUploadHead } from './import-lines.ts';

/**
 * Each line of an upload becomes a contact or a failure with its line number, however the file is
 * cut into windows: small realistic files, read in one window and in many.
 */

function read(kind: 'csv' | 'ndjson', content: string | Buffer, step = 1_000_000): ImportLine[] {
  const file = Buffer.from(content as string);
  const { format, start } = readUploadHead(kind, file, true);
  const lines: ImportLine[] = [];
  let cursor = start;
  for (let to = cursor.bytes; cursor.bytes < file.length; ) {
    to = Math.min(to + step, file.length);
    const window = file.subarray(cursor.bytes, to);
    const part = readLines(format, window, cursor, { atEnd: to === file.length, linesMax: 7 });
    lines.push(...part.lines);
    cursor = part.next;
  }
  return lines;
}

function shown(lines: readonly ImportLine[]): unknown[] {
  return lines.map((line) =>
    'failure' in line
      ? [line.line, line.failure.code, line.failure.field]
      : [line.line, line.mailbox.key, line.change],
  );
}

describe('CSV', () => {
  it('turns unknown columns into attributes and skips empty cells', () => {
    const file =
      'Email,First Name,plan,Favorite color\r\nJane@x.test,Jane,pro,\r\njoe@x.test,,,red\r\n';
    expect(shown(read('csv', file))).toEqual([
      [2, 'jane@x.test', { firstName: 'Jane', attributes: { plan: 'pro' } }],
      [3, 'joe@x.test', { attributes: { 'Favorite color': 'red' } }],
    ]);
  });

  it('reads subscriptions by stream, with the columns of an export', () => {
    const file =
      'email,subscription:news,subscription:news:changed_at,Subscription:digest:source,subscription:digest\n' +
      'a@x.test,Subscribed,2026-01-01T00:00:00Z,page,unsubscribed\nb@x.test,,,,\nc@x.test,maybe,,,\n';
    expect(shown(read('csv', file))).toEqual([
      [
        2,
        'a@x.test',
        {
          subscriptions: [
            { stream: 'news', status: 'subscribed', changedAtMs: Date.UTC(2026, 0, 1) },
            { stream: 'digest', status: 'unsubscribed', changedAtMs: null },
          ],
        },
      ],
      [3, 'b@x.test', {}],
      [4, 'invalid_value', '/subscriptions/news/status'],
    ]);
    const twice = 'email,subscription:news,SUBSCRIPTION:news\na@x.test,,\n';
    expect(() => read('csv', twice)).toThrow('occurs twice');
  });

  it.each([1, 3, 10])('reads the same in windows of %d bytes', (step) => {
    const file =
      '\ufeffemail,last_name,note\n"a@x.test","O\'Hara, ""Jo""","two\r\nlines"\n\nb@x.test,B,\nbad,x,y\nc@x.test,"C,\nd@x.test,D,d\n';
    const wanted = [
      [2, 'a@x.test', { lastName: `O'Hara, "Jo"`, attributes: { note: 'two\r\nlines' } }],
      [5, 'b@x.test', { lastName: 'B' }],
      [6, 'invalid_email', '/email'],
      [7, 'quote_not_closed', null],
      [8, 'd@x.test', { lastName: 'D', attributes: { note: 'd' } }],
    ];
    expect(shown(read('csv', file))).toEqual(wanted);
    expect(shown(read('csv', file, step))).toEqual(wanted);
  });

  it.each([
    [
      'semicolons, as European spreadsheets write them',
      'email;first_name\na@x.test;A, B\n',
      'A, B',
    ],
    ['tabs', 'email\tfirst_name\na@x.test\tA;B\n', 'A;B'],
  ])('accepts %s', (_, file, firstName) => {
    expect(shown(read('csv', file))).toEqual([[2, 'a@x.test', { firstName }]]);
  });

  it('accepts JSON in an attributes column, and our own exports', () => {
    const file = `email,attributes,created_at,id,phone\na@x.test,"{""n"":{""m"":1}}",2020-01-01,7,'+43 1\n`;
    const attributes = { n: { m: 1 }, phone: '+43 1' };
    expect(shown(read('csv', file))).toEqual([[2, 'a@x.test', { attributes }]]);
  });

  it.each([
    ['too few fields', 'a@x.test', 'wrong_field_count', null],
    ['too many fields', 'a@x.test,A,B', 'wrong_field_count', null],
    ['no address', ',A', 'required', '/email'],
    ['bytes that are not UTF-8', Buffer.from([0x61, 0xff, 0x2c, 0x41]), 'invalid_text', null],
  ])('reports %s', (_, line, code, field) => {
    const file = Buffer.concat([Buffer.from('email,first_name\n'), Buffer.from(line as string)]);
    expect(shown(read('csv', file))).toEqual([[2, code, field]]);
  });

  it('reports attributes that are not a JSON object', () => {
    for (const cell of ['{', '[1]', 'null', '1']) {
      expect(shown(read('csv', `email,attributes\na@x.test,${cell}\n`))).toEqual([
        [2, 'invalid_json', '/attributes'],
      ]);
    }
  });

  it.each([
    ['nothing', '', 'empty'],
    ['only a byte order mark', '\ufeff', 'empty'],
    ['no header', 'a@x.test,A\n', 'missing_column'],
    ['a duplicate column', 'email,Plan,plan,Plan\n', 'duplicate_column'],
    ['a duplicate email column', 'email,E-Mail\n', 'duplicate_column'],
    ['a column that cannot be an attribute', `email,${'x'.repeat(200)}\n`, 'invalid_column'],
    ['UTF-16', Buffer.from('\ufeffemail\n', 'utf16le'), 'wrong_encoding'],
  ])('rejects %s at once', (_, file, code) => {
    expect(() => readUploadHead('csv', Buffer.from(file as string), true)).toThrowError(
      expect.objectContaining({ errors: [expect.objectContaining({ code })] }),
    );
  });
});

describe('NDJSON', () => {
  it.each([1, 5, 1_000])('reads one contact per line, in windows of %d bytes', (step) => {
    const file =
      '{"email":"A@x.test","attributes":{"n":[1,{"m":null}]}}\r\n\n  \n{"email":"b@x.test","id":"ctc_1","mode":"live","created_at":"","updated_at":"","first_name":null}\n{"email":\n[]\n{"first_name":"C"}\n{"email":"d@x.test","phone":1}\n"x"';
    expect(shown(read('ndjson', file, step))).toEqual([
      [1, 'a@x.test', { attributes: { n: [1, { m: null }] } }],
      [4, 'b@x.test', { firstName: null }],
      [5, 'invalid_json', null],
      [6, 'invalid_json', null],
      [7, 'required', '/email'],
      [8, 'unknown_field', '/phone'],
      [9, 'invalid_json', null],
    ]);
  });

  it.each([1_000, 100_000, 1_000_000])(
    'skips a line that is too long, in windows of %d bytes',
    (step) => {
      const file = `{"email":"a@x.test"}\n{"email":"${'x'.repeat(300_000)}"}\n{"email":"b@x.test"}\n`;
      expect(shown(read('ndjson', file, step))).toEqual([
        [1, 'a@x.test', {}],
        [2, 'too_long', null],
        [3, 'b@x.test', {}],
      ]);
      const csv = `email\na@x.test\n${'x'.repeat(300_000)}\nb@x.test\n`;
      expect(shown(read('csv', csv, step))).toEqual([
        [2, 'a@x.test', {}],
        [3, 'too_long', null],
        [4, 'b@x.test', {}],
      ]);
    },
  );
});
