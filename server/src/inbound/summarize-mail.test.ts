import { expect, test } from 'vitest';
import { parseMail } from '../mail/mime/parse-mail.ts';
import { addressesOf, summarizeMail } from './summarize-mail.ts';

/** What is stored about a mail is bounded and can be stored, whatever its sender wrote. */

const summarize = async (header: string, body = 'Hi') =>
  summarizeMail(
    await parseMail(Buffer.from(`${header}\n\n${body}`.replaceAll('\n', '\r\n')), {
      forSending: false,
    }),
  );

test('addresses are in one spelling, names are decoded, groups are flat', async () => {
  const { sender, senderName, details } = await summarize(
    'From: =?utf-8?q?Jan=C3=A9?= <Jane@EXAMPLE.net>\nTo: team: a@X.example, "B, C" <b@bücher.example>;',
  );
  expect([sender, senderName]).toEqual(['Jane@example.net', 'Jané']);
  expect(details.to).toEqual([
    { email: 'a@x.example', name: null },
    { email: 'b@xn--bcher-kva.example', name: 'B, C' },
  ]);
});

test('mail without any header has an empty summary', async () => {
  expect(await summarize('')).toEqual({
    sender: null,
    senderName: null,
    subject: '',
    headerMessageId: null,
    details: {
      to: [],
      cc: [],
      replyTo: [],
      date: null,
      inReplyTo: null,
      references: [],
      attachments: [],
    },
  });
});

test.each([
  ['Sun, 15 Nov 2026 10:00:00 +0100', '2026-11-15T09:00:00.000Z'],
  ['15 Nov 2026 10:00 GMT (winter)', '2026-11-15T10:00:00.000Z'],
  ['Sun, 15 Nov 2026 10:00:00', '2026-11-15T10:00:00.000Z'],
  ['Sun, 15 Nov 20260 10:00:00 +0000', null],
  ['yesterday', null],
])('the date %s is %s', async (given, expected) => {
  expect((await summarize(`Date: ${given}`)).details.date).toBe(expected);
});

test('Message-IDs have angle brackets, and the last references are kept', async () => {
  const many = Array.from({ length: 80 }, (_, n) => `<${n}@x.example>`).join('\n ');
  const { headerMessageId, details } = await summarize(
    `Message-ID: <a@b.example>\nIn-Reply-To: your mail of <c@d.example> (Monday)\nReferences: ${many}`,
  );
  expect([headerMessageId, details.inReplyTo]).toEqual(['a@b.example', 'c@d.example']);
  expect(details.references).toHaveLength(50);
  expect(details.references.at(-1)).toBe('79@x.example');
  expect((await summarize('Message-ID: bare@b.example')).headerMessageId).toBeNull();
});

test('every text is bounded, on one line, and without NUL', async () => {
  const { subject, senderName, details } = await summarize(
    `From: "${'n'.repeat(900)}" <a@b.example>\nSubject: =?utf-8?b?${Buffer.from('a\0\r\nb\ud83d'.padEnd(2_000, 'é')).toString('base64')}?=\n` +
      `To: ${'x@y.example, '.repeat(300)}z@y.example`,
  );
  expect(subject.length).toBeLessThanOrEqual(1_000);
  expect(subject.startsWith('a\ufffd b')).toBe(true);
  expect(senderName).toHaveLength(300);
  expect(details.to).toHaveLength(100);
});

test('each address has one key, with all of its roles', async () => {
  const summary = await summarize(
    'From: Jane@b.example\nTo: a@R.example\nCc: JANE@b.example, c@d.example',
  );
  const keys = addressesOf(summary, { from: 'jane@B.example', to: ['A@r.example'] });
  expect(keys).toEqual([
    { key: 'jane@b.example', isSender: true, isRecipient: false },
    { key: 'a@r.example', isSender: false, isRecipient: true },
    { key: 'c@d.example', isSender: false, isRecipient: false },
  ]);
  expect(addressesOf(summary, { from: '', to: [] })[0]?.key).toBe('jane@b.example');
});
