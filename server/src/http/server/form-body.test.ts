import { describe, expect, test } from 'vitest';
import { parseFormBody } from './form-body.ts';

const multipart = (text: string, boundary = 'b') =>
  parseFormBody(Buffer.from(text), `multipart/form-data; boundary=${boundary}`).value;
const part = (disposition: string, content: string, more = '') =>
  `--b\r\nContent-Disposition: form-data; ${disposition}\r\n${more}\r\n${content}\r\n`;

describe('multipart', () => {
  test('fields, repeated fields, empty fields and files', () => {
    const text =
      part('name="to"', 'a@x.com') +
      part('name="to"', 'b@x.com') +
      part('name=subject', 'Größe') +
      part('name="empty"', '') +
      part(
        'name="attachment"; filename="a \\"b\\".txt"',
        'x\r\n--bc\r\n',
        'Content-Type: text/plain\r\n',
      );
    expect(multipart(`preamble\r\n${text}--b--\r\nepilogue`)).toEqual({
      to: ['a@x.com', 'b@x.com'],
      subject: 'Größe',
      empty: '',
      attachment: {
        filename: 'a "b".txt',
        content_type: 'text/plain',
        content: Buffer.from('x\r\n--bc\r\n').toString('base64'),
      },
    });
  });

  test('a form written by Node.js is read back, byte for byte', async () => {
    const form = new FormData();
    const bytes = Buffer.from(Array.from({ length: 512 }, (_, index) => index % 256));
    form.append('text', 'line\r\nbreak "quoted"');
    form.append('file', new Blob([bytes], { type: 'image/png' }), 'naïve "x".png');
    const response = new Response(form);
    const body = Buffer.from(await response.arrayBuffer());
    const { value } = parseFormBody(body, response.headers.get('content-type') ?? '');
    expect(value).toMatchObject({
      text: 'line\r\nbreak "quoted"',
      file: { content_type: 'image/png', content: bytes.toString('base64') },
    });
  });

  test('the entries of a list as PHP names them', () => {
    const text = part('name="a[0]"', 'x') + part('name="a[1]"', 'y') + part('name="b[]"', 'z');
    expect(multipart(`${text}${part('name="v:c[0]"', '1')}--b--`)).toEqual({
      a: ['x', 'y'],
      b: 'z',
      'v:c[0]': '1',
    });
  });

  test('a name in the form of RFC 8187 is decoded', () => {
    const text = `${part("name=a; filename*=utf-8''na%C3%AFve.txt", 'x')}--b--`;
    expect(multipart(text)).toMatchObject({ a: { filename: 'naïve.txt' } });
  });

  test.each([
    ['no closing boundary', part('name="a"', 'x'), /incomplete/],
    ['nothing but text', 'hello', /incomplete/],
    ['no header', '--b\r\n\r\nx\r\n--b--', /incomplete|name/],
    ['no name', `${part('filename="a"', 'x')}--b--`, /no name/],
    [
      'an encoded part',
      `${part('name="a"', 'x', 'Content-Transfer-Encoding: base64\r\n')}--b--`,
      /base64/,
    ],
  ])('%s is refused', (_name, text, message) => {
    expect(() => multipart(text)).toThrow(message);
  });

  test('names and values are UTF-8, in any part', () => {
    expect(multipart(`${part('name="größe"', 'ä')}${part('name="b"', 'c')}--b--`)).toEqual({
      größe: 'ä',
      b: 'c',
    });
    const latin1 = (text: string) => () =>
      parseFormBody(Buffer.from(text, 'latin1'), 'multipart/form-data; boundary=b');
    expect(latin1(`${part('name="a"', 'ä')}--b--`)).toThrow('The field a is not valid UTF-8');
    expect(latin1(`${part('name="ä"', 'a')}--b--`)).toThrow('The name of a field is not');
    expect(latin1(`${part('name=ä', 'a')}--b--`)).toThrow('The header of a part is not');
  });

  test('a long header is refused', () => {
    for (const name of [`"${'a'.repeat(17_000)}"`, 'a'.repeat(17_000)]) {
      expect(() => multipart(`${part(`name=${name}`, 'x')}--b--`)).toThrow('too long');
    }
  });

  test('line breaks and dashes in content do not end it', () => {
    const content = '\r\n--\r\n--a\r\n--bc\r\n\r\n--';
    expect(multipart(`${part('name="a"', content)}${part('name="b"', '')}--b--`)).toEqual({
      a: content,
      b: '',
    });
  });

  test('a boundary is required', () => {
    expect(() => parseFormBody(Buffer.from('x'), 'multipart/form-data')).toThrow('boundary');
  });

  test('the number of parts is limited', () => {
    expect(() => multipart(`${part('name="a"', '').repeat(10_001)}--b--`)).toThrow('at most');
  });

  test('hostile bodies take linear time', () => {
    const near = '\r\n--bx'.repeat(100_000);
    expect(() => multipart(part('name="a"', near))).toThrow('incomplete');
    expect(
      multipart(`${part(`name="${'\\'.repeat(15_000)}`, 'x')}${part('name=b', near)}--b--`, 'b'),
    ).toBeDefined();
  });
});

test('url-encoded fields, and names that would change the prototype', () => {
  const parse = (text: string) =>
    parseFormBody(Buffer.from(text), 'application/x-www-form-urlencoded');
  expect(parse('a=1&b=x+%C3%A4&a=2').value).toEqual({ a: ['1', '2'], b: 'x ä' });
  expect(Object.keys(parse('__proto__=1').value as object)).toEqual(['__proto__']);
  expect(parse('a=%EF%BF%BD%c3%A4').value).toEqual({ a: '\ufffdä' });
  expect(parse('a=%&b=%zz%').value).toEqual({ a: '%', b: '%zz%' });
  for (const text of ['a=caf%E9', 'a%e9=1', 'a=%C3&b=%A4', 'a=%&b=%FF%f']) {
    expect(() => parse(text), text).toThrow('not valid UTF-8');
  }
  expect(parse('a=%00').textErrors).toMatchObject([{ pointer: '/a', code: 'invalid_text' }]);
});
