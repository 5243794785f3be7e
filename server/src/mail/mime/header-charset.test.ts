import { expect, test } from 'vitest';
import { withUtf8Headers } from './header-charset.ts';
import { parseMail } from './parse-mail.ts';

/** Headers of old software that are neither ASCII nor UTF-8 are read as mail programs read them. */

const GRUESSE = Buffer.from('Gr\xfc\xdfe \x80', 'latin1');
/** "Привет" in KOI8-R. */
const PRIVET = Buffer.from('f0d2c9d7c5d4', 'hex');

test.each([
  ['no charset', GRUESSE, '', 'Grüße €'],
  ['another charset', GRUESSE, 'Content-Type: text/plain; charset=utf-8\r\n', 'Grüße €'],
  ['a multibyte charset', GRUESSE, 'Content-Type: text/plain; charset=iso-2022-jp\r\n', 'Grüße €'],
  ['ISO-8859-1', GRUESSE, 'Content-Type: text/plain; charset="ISO-8859-1"\r\n', 'Grüße €'],
  ['KOI8-R', PRIVET, 'content-type: text/html;\r\n\tcharset=koi8-r; x=y\r\n', 'Привет'],
])('a subject in the charset of a text with %s', async (_what, subject, header, expected) => {
  const mail = Buffer.concat([
    Buffer.from('From: "'),
    subject,
    Buffer.from('" <hello@example.org>\r\nSubject: '),
    subject,
    Buffer.from(`\r\n${header}\r\nHello`),
  ]);
  const parsed = await parseMail(mail);
  expect(parsed.subject).toBe(expected);
  expect(parsed.from).toEqual([[{ address: 'hello@example.org', name: expected }]]);
});

test('a body in another charset is not touched, and UTF-8 is not copied', () => {
  const body = Buffer.concat([Buffer.from('\r\n\r\n'), GRUESSE]);
  const legacy = Buffer.concat([Buffer.from('Subject: '), GRUESSE, body]);
  expect(withUtf8Headers(legacy)).toEqual(Buffer.concat([Buffer.from('Subject: Grüße €'), body]));
  const modern = Buffer.concat([Buffer.from('Subject: Grüße'), body]);
  expect(withUtf8Headers(modern)).toBe(modern);
});
