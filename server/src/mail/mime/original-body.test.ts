import { describe, expect, test } from 'vitest';
import { parseMail } from './parse-mail.ts';

/** Only mail that would change its meaning keeps its original body. */

async function keeps(type: string, body: string, more = ''): Promise<boolean> {
  const mail = `From: a@example.org\r\nContent-Type: ${type}\r\n${more}\r\n${body}`;
  return (await parseMail(Buffer.from(mail, 'latin1'))).original !== undefined;
}

const part = (type: string, body = 'x') => `--b\r\nContent-Type: ${type}\r\n\r\n${body}\r\n`;
const parts = (...all: string[]) => `${all.join('')}--b--\r\n`;

describe('composed again', () => {
  test.each([
    ['text', 'text/plain', 'x'],
    ['HTML', 'text/html', '<p>x</p>'],
    ['both', 'multipart/alternative; boundary=b', parts(part('text/plain'), part('text/html'))],
    [
      'a flowed text as a file',
      'multipart/mixed; boundary=b',
      parts(
        part('text/plain'),
        part('text/plain; format=flowed\r\nContent-Disposition: attachment; filename=a.txt'),
      ),
    ],
    [
      'an attached invitation',
      'multipart/mixed; boundary=b',
      parts(part('text/plain'), part('text/calendar')),
    ],
    [
      'an attached message that is signed',
      'multipart/mixed; boundary=b',
      parts(
        part('text/plain'),
        part('message/rfc822', 'Content-Type: multipart/signed; boundary=c\r\n\r\n--c--'),
      ),
    ],
    [
      'an invitation with a line that is too long',
      'multipart/alternative; boundary=b',
      parts(part('text/plain', 'x'.repeat(1000)), part('text/calendar')),
    ],
  ])('%s', async (_name, type, body) => {
    expect(await keeps(type, body)).toBe(false);
  });
});

describe('kept', () => {
  test.each([
    ['flowed text', 'text/plain; format=Flowed', 'x'],
    [
      'an alternative that we do not know',
      'multipart/alternative; boundary=b',
      parts(part('text/plain'), part('text/x-amp-html')),
    ],
    ['a signature', 'Multipart/Signed; boundary=b', parts(part('text/plain'), part('a/b'))],
    [
      'a signed part',
      'multipart/mixed; boundary=b',
      parts(part('multipart/signed; boundary=c', '--c\r\n\r\nx\r\n--c--'), part('text/plain')),
    ],
    ['lines of the maximum length', 'text/plain; format=flowed', `${'x'.repeat(998)}\r\nx`],
  ])('%s', async (_name, type, body) => {
    expect(await keeps(type, body)).toBe(true);
  });
});

test('a body has one type, in ASCII', async () => {
  const flowed = 'text/plain; format=flowed';
  expect(await keeps(flowed, 'x', 'Content-Type: text/html\r\n')).toBe(false);
  expect(await keeps(flowed, 'x', 'Content-Description: \xfc\r\n')).toBe(false);
});

test('the header fields of the body are kept as written', async () => {
  const mail =
    'From: a@example.org\r\ncontent-type: text/plain;\r\n\tformat=flowed\r\nX-Content-A: b\r\nContent-Language: en\r\n\r\nBody\r\n';
  const { original } = await parseMail(Buffer.from(mail));
  expect(original?.header).toBe(
    'content-type: text/plain;\r\n\tformat=flowed\r\nContent-Language: en\r\n',
  );
  expect(mail.slice(original?.bodyStart)).toBe('Body\r\n');
});
