import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { readDeliveryReport } from './dsn.ts';
import { readFailedRecipients } from './failed-recipients.ts';
import { parseMailStructure } from './mime-structure.ts';

/**
 * Goal: bounces of common servers are understood, also when only the human-readable part has the
 * reason. Method: complete bounces of Postfix 3.7, Exim 4.96, OpenSMTPD 6.8 and Sendmail 8.17, with
 * other names.
 */

function bytesOf(file: string): Buffer {
  const url = new URL(`../../../test/fixtures/reports/${file}.eml`, import.meta.url);
  return Buffer.from(readFileSync(url, 'utf8').replaceAll('\n', '\r\n'));
}

const failed = (finalRecipient: string, more: object) => ({
  action: 'failed',
  finalRecipient,
  originalRecipient: null,
  remoteMta: null,
  code: null,
  stage: null,
  ...more,
});

test.each([
  [
    'exim-unknown',
    'mx.exim.example',
    failed('late-unknown@exim.example', {
      status: '5.0.0',
      text: 'No such person at this address',
    }),
  ],
  [
    'exim-full',
    'mx.exim.example',
    failed('late-full@exim.example', {
      status: '5.2.2',
      code: 552,
      text: 'Mailbox full, quota exceeded',
    }),
  ],
  [
    'exim-remote',
    'mx.exim.example',
    failed('late-smtp@exim.example', {
      status: '5.7.1',
      code: 554,
      remoteMta: '192.0.2.11',
      stage: 'rcpt',
      text: '<late-smtp@exim.example>: Relay access denied',
    }),
  ],
  [
    'exim-expired',
    'mx.exim.example',
    failed('late-down@exim.example', { status: '5.0.0', text: 'retry timeout exceeded' }),
  ],
  [
    'opensmtpd-expired',
    'mx.opensmtpd.example',
    failed('late-down@opensmtpd.example', { status: '4.4.7', text: 'Envelope expired' }),
  ],
  [
    'opensmtpd-program',
    'mx.opensmtpd.example',
    failed('late-pipe@opensmtpd.example', { status: '5.3.0', text: 'no such mailbox' }),
  ],
  [
    'opensmtpd-remote',
    'mx.opensmtpd.example',
    failed('late-smtp@opensmtpd.example', {
      status: '5.7.1',
      code: 554,
      text: '<late-smtp@opensmtpd.example>: Relay access denied',
    }),
  ],
  [
    'sendmail-unknown',
    'mx.sendmail.example',
    failed('late-unknown@sendmail.example', { status: '5.1.1', text: 'User unknown' }),
  ],
  [
    'sendmail-forward',
    'mx.sendmail.example',
    failed('someone@postfix.example', {
      status: '5.1.1',
      code: 550,
      remoteMta: '[192.0.2.11]',
      text: '<someone@postfix.example>: Recipient address rejected: User unknown in virtual mailbox table',
    }),
  ],
  [
    'postfix-alias',
    'mx.postfix.example',
    failed('late-pipe@postfix.example', {
      status: '5.3.0',
      originalRecipient: 'fwd@postfix.example',
      text: 'the delivery program said no',
    }),
  ],
  [
    'postfix-utf8',
    'mx.postfix.example',
    failed('late-nosuchü@exim.example', {
      status: '5.0.0',
      code: 550,
      originalRecipient: 'müller@postfix.example',
      remoteMta: '192.0.2.12',
      stage: 'rcpt',
      text: 'Unknown user',
    }),
  ],
])('%s', (file, reportingMta, recipient) => {
  expect(readDeliveryReport(parseMailStructure(bytesOf(file)))).toEqual({
    reportingMta,
    recipients: [recipient],
  });
});

test('each of several recipients has its own text', () => {
  const text = `X-Failed-Recipients: a@example.com, b@example.com, c@example.com

  a@example.com
    (generated from team@example.com)
    host mx.example.com [192.0.2.1]
    SMTP error from remote mail server after RCPT TO:<a@example.com>:
    552 5.2.2 over quota
  b@example.com
    Unrouteable address

------ This is a copy of the message ------

  c@example.com
`;
  const report = readFailedRecipients(parseMailStructure(Buffer.from(text)));
  expect(report?.recipients).toMatchObject([
    { finalRecipient: 'a@example.com', status: '5.2.2', code: 552, text: 'over quota' },
    { finalRecipient: 'b@example.com', status: null, code: null, text: 'Unrouteable address' },
    { finalRecipient: 'c@example.com' },
  ]);
});
