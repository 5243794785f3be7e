// Goal: a file keeps its name in every mail client, and no name, type or id can inject a header.
// Method: examples, and a property that reads the name back with postal-mime.
import fc from 'fast-check';
import PostalMime from 'postal-mime';
import { describe, expect, it } from 'vitest';
import { attachmentHeader, isContentId, isContentType } from './attachment.ts';

function headerOf(filename: string): string {
  return attachmentHeader({ filename, content: Buffer.alloc(0), contentType: 'image/png' }, false);
}

async function filenameShown(filename: string): Promise<string | null | undefined> {
  const raw = `MIME-Version: 1.0\r\n${headerOf(filename)}\r\nAAAA`;
  const email = await PostalMime.parse(raw);
  expect(email.headers).toHaveLength(4);
  return email.attachments[0]?.filename;
}

describe('an attachment header', () => {
  it('writes an ASCII name for both kinds of clients', () => {
    expect(headerOf('logo.png')).toBe(
      'Content-Type: image/png;\r\n name="logo.png"\r\nContent-Transfer-Encoding: base64\r\n' +
        'Content-Disposition: attachment;\r\n filename="logo.png"\r\n',
    );
  });

  it('adds an ASCII fallback to a non-ASCII name', () => {
    expect(headerOf('Rechnung März №5.pdf')).toContain('name="Rechnung Marz No5.pdf"');
    expect(headerOf('Rechnung März.pdf')).toContain("filename*=utf-8''Rechnung%20M%C3%A4rz.pdf");
  });

  it('keeps the fallback inside its quotes', () => {
    expect(headerOf('a＂ü＝？＼')).toContain('name="a_u__"');
  });

  it.each([
    ['a "b".txt', 'a "b".txt'],
    ["it's (1)*.txt", "it's (1)*.txt"],
    ['=?utf-8?q?x?=.txt', '=_utf-8?q?x?=.txt'],
    ['../../etc/passwd', '.._.._etc_passwd'],
    ['a\r\nX-Evil: 1.txt', 'a__X-Evil: 1.txt'],
    ['C:\\a;b.txt', 'C:_a;b.txt'],
    ['a＂＼', 'a＂＼'],
    ['', 'attachment'],
    [`${'日'.repeat(200)}.pdf`, `${'日'.repeat(83)}.pdf`],
  ])('shows %j as %j', async (filename, shown) => {
    expect(await filenameShown(filename)).toBe(shown);
  });

  it('keeps every name on its own line', async () => {
    const name = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 300 }),
      fc.string({ unit: 'binary', maxLength: 300 }),
      fc
        .array(fc.constantFrom('\r\n', '"', '\\', ';', '=', "'", '%', '*', 'é', 'a'))
        .map((a) => a.join('')),
    );
    await fc.assert(
      fc.asyncProperty(name, async (filename) => {
        for (const line of headerOf(filename).split('\r\n')) {
          expect(line).toMatch(/^[\x20-\x7e]*$/);
          expect(line.length).toBeLessThanOrEqual(998);
        }
        await filenameShown(filename);
      }),
      { numRuns: 500 },
    );
  });
});

describe('content types and ids', () => {
  it.each([
    'image/png',
    'application/vnd.ms-excel',
    'text/plain; charset="utf-8"',
    'text/calendar;method=REQUEST',
  ])('%s is a content type', (type) => expect(isContentType(type)).toBe(true));
  it.each([
    '',
    'png',
    'image/',
    'image/png\r\nX: 1',
    'text/plain; a="b\r\n"',
    'text/plain; ;',
    'a/b c',
  ])('%j is not a content type', (type) => expect(isContentType(type)).toBe(false));
  it('checks long types in linear time', () => {
    expect(isContentType(`a/b${'; a=b'.repeat(50)}${' '.repeat(100)}!`)).toBe(false);
  });
  it.each(['logo', 'logo@example.com', 'a.b-c+1', 'logo@[IPv6:::1]', 'i'.repeat(256)])(
    '%s is a content id',
    (id) => expect(isContentId(id)).toBe(true),
  );
  it.each(['', '<a>', 'a b', 'a\r\nb', 'ü', 'a(b', 'i'.repeat(257)])(
    '%j is not a content id',
    (id) => expect(isContentId(id)).toBe(false),
  );
});
