import { expect, test } from 'vitest';
import { classifyReport } from '../../messages/verdict/verdict.ts';
import { readBounceReport } from './bounce-report.ts';
import { parseMailStructure } from './mime-structure.ts';

/**
 * Goal: a failure in free text is recognized, with its reason; warnings, challenges and automatic
 * replies are not failures. Method: short mails in the structure that each server uses, with our own
 * text. `scripts/bounce-corpus.ts` measures the same on a public corpus.
 */

const RETURNED = `Received: from mail.sender.example by mx.example.net; Thu, 5 Nov 2026 10:00:00 +0000
Return-Path: <b-x@bounces.sender.example>
Subject: Your invoice

The user is unknown, the mailbox is full and the message will be retried.
`;

function mailFrom(from: string, subject: string, text: string, fields = ''): Buffer {
  return Buffer.from(
    `From: ${from}\nTo: <b-x@bounces.sender.example>\nSubject: ${subject}\n${fields}\n${text}`,
    'utf8',
  );
}

function outcome(mail: Buffer, from = ''): string {
  const report = readBounceReport(parseMailStructure(mail), from);
  const failed = report?.recipients.filter(({ action }) => action === 'failed') ?? [];
  if (!report) return 'not a bounce';
  if (!failed[0]) return report.recipients.map(({ action }) => action).join();
  const { class: class_, reason } = classifyReport(failed[0]);
  return `${failed.map((one) => one.finalRecipient).join()}: ${class_} ${reason}`;
}

const FAILURES: [string, string, Buffer][] = [
  [
    'Yahoo',
    'jane@example.org: hard unknown_mailbox',
    mailFrom(
      'MAILER-DAEMON@mail.example',
      'Failure Notice',
      `Sorry, we were unable to deliver your message to the following address.

<jane@example.org>:
550: 5.1.1 <jane@example.org>... No such user

--- Below this line is a copy of the message.

${RETURNED}`,
    ),
  ],
  [
    'Yahoo, with the command',
    'jane@example.org: block blocked_policy',
    mailFrom(
      'MAILER-DAEMON@mail.example',
      'Failure Notice',
      `Sorry, we were unable to deliver your message to the following address.

<jane@example.org>:
Remote host said: 550 5.7.1 Unknown user or host [MAIL_FROM]

--- Below this line is a copy of the message.

${RETURNED}`,
    ),
  ],
  [
    'Zoho',
    'jane@example.org,joe@example.org: soft mailbox_full',
    mailFrom(
      'mailer-daemon@mail.example',
      'Undelivered Mail Returned to Sender',
      `This message was created automatically by mail delivery software.
 A message that you sent could not be delivered to one or more of its recipients.

jane@example.org Invalid Address, ERROR_CODE :550, ERROR_CODE :5.2.2 <jane@example.org> Mailbox full

joe@example.org Invalid Address, ERROR_CODE :550, ERROR_CODE :5.1.1 No such user

${RETURNED}`,
    ),
  ],
  [
    'GMX',
    'jane@example.org: hard unknown_mailbox',
    mailFrom(
      'MAILER-DAEMON@mail.example',
      'Mail delivery failed: returning message to sender',
      `This message was created automatically by mail delivery software.

A message that you sent could not be delivered. This is a permanent error.
The following address failed:

"jane@example.org":
SMTP error from remote server after RCPT command:
host: mx.example.org
5.1.1 <jane@example.org>... User unknown

--- The header of the original message is following. ---

${RETURNED}`,
    ),
  ],
  [
    'IONOS, marked as an automatic reply',
    'jane@example.org: soft message_too_large',
    mailFrom(
      '"Mail Delivery System" <mailer-daemon@mail.example>',
      'Mail delivery failed: returning message to sender',
      `A message that you sent could not be delivered to one or more of its recipients.

The following address failed:

jane@example.org

For the following reason:

Mail size limit exceeded. The message is too large.

--- The header of the original message is following. ---

${RETURNED}`,
      'Auto-Submitted: auto-replied\nPrecedence: bulk\n',
    ),
  ],
  [
    'WorkMail, with DSN fields in the text',
    'jane@example.org: hard unknown_mailbox',
    mailFrom(
      'MAILER-DAEMON@mail.example',
      '=?iso-8859-15?Q?Delivery_Status_Notification_=28Failure=29?=',
      `An error occurred while trying to deliver the mail to the following recipients:
jane@example.org

Technical report:

Reporting-MTA: dsn; a1.mail.example

Action: failed
Final-Recipient: rfc822; jane@example.org
Diagnostic-Code: smtp; 550 5.1.1 User unknown
Status: 5.1.1
`,
    ),
  ],
  [
    'dma',
    'jane@example.org: soft mailbox_full',
    mailFrom(
      'MAILER-DAEMON <>',
      'Mail delivery failed',
      `This is the DragonFly Mail Agent at host.example.

There was an error delivering your mail to <jane@example.org>.

mx.example.org [192.0.2.1] did not like our RCPT TO:
552 5.2.2 Mailbox full

Message headers follow.

${RETURNED}`,
    ),
  ],
  [
    'Exchange 2003',
    'jane@example.org: hard unknown_mailbox',
    mailFrom(
      'System Administrator <postmaster@example.org>',
      'Undeliverable: Your invoice',
      `Your message

  To:      team@sender.example
  Subject: Your invoice

did not reach the following recipient(s):

jane@example.org on Thu, 5 Nov 2026 10:00:00 -0000
    The recipient name is not recognized
    MSEXCH:IMS:X:Y:Z 0 (000C05A6) Unknown Recipient
`,
    ),
  ],
  [
    'Domino and Notes',
    'jane@example.org: hard unknown_mailbox',
    mailFrom(
      'postmaster@example.org',
      'Undeliverable message',
      `------- Failure Reasons  --------

User not listed in public Name & Address Book
jane@example.org

------- Returned Message --------

${RETURNED}`,
    ),
  ],
  [
    'OpenSMTPD 5',
    'jane@example.org: hard unknown_domain',
    mailFrom(
      'Mailer Daemon <MAILER-DAEMON@mx.example>',
      'Delivery status notification: error',
      `    Hi!

    This is the MAILER-DAEMON, please do not reply.

    An error has occurred while attempting to deliver a message for
    the following list of recipients:

jane@example.org: Domain does not exist

    Below is a copy of the original message:

${RETURNED}`,
    ),
  ],
  [
    'qmail derivative',
    'jane@example.org: soft mailbox_full',
    mailFrom(
      'MAILER-DAEMON@mx.example',
      'failure notice',
      `Your mail message to the following address could not be delivered. This
is a permanent error.

<jane@example.org>:
The user's mailbox is full.

--- Below this line is a copy of the message.

${RETURNED}`,
    ),
  ],
  [
    'Sendmail 5, a transcript only',
    'jane@example.org: hard unknown_mailbox',
    mailFrom(
      'Mail Delivery Subsystem <MAILER-DAEMON@mx.example>',
      'Returned mail: User unknown',
      `   ----- Transcript of session follows -----
While talking to mx.example.org:
>>> RCPT To:<jane@example.org>
<<< 550 <jane@example.org>, User unknown

   ----- Unsent message follows -----
${RETURNED}`,
    ),
  ],
  [
    'a filter that gives the reply before the address',
    'jane@example.org: hard unknown_mailbox',
    mailFrom(
      'postmaster@mx.example',
      'Undeliverable Mail: "Your invoice"',
      `Your message:
   From:    team@sender.example
Could not be delivered because of

550 5.1.1 User unknown

The following recipients were affected:

    jane@example.org
`,
    ),
  ],
  [
    'Office 365 without a DSN part',
    'jane@example.org: hard unknown_mailbox',
    mailFrom(
      '<postmaster@example.org>',
      'Undeliverable: Your invoice',
      `<html><body><p>Delivery has failed to these recipients:</p><p>jane@example.org</p>
<p>Remote server returned '550 5.1.10 RESOLVER.ADR.RecipientNotFound; not found'</p></body></html>`,
      'Content-Type: text/html\n',
    ),
  ],
  [
    'a report whose MIME boundaries were lost',
    'jane@example.org: hard unknown_mailbox',
    mailFrom(
      'Mail Delivery Subsystem <MAILER-DAEMON@mx.example>',
      'Returned mail: see transcript for details',
      `   ----- The following addresses had permanent fatal errors -----
<jane@example.org>

Reporting-MTA: dns; mx.example

Final-Recipient: RFC822; jane@example.org
Action: failed
Status: 5.1.1
Diagnostic-Code: SMTP; 550 5.1.1 No such user

${RETURNED}`,
      'Content-Type: multipart/report; boundary="gone"\n',
    ),
  ],
  [
    'a mobile operator, from an ordinary address',
    ': soft unknown',
    mailFrom(
      'MMS <admin@mms.example>',
      'Undeliverable Message',
      'Message could not be delivered to mobile.\n',
    ),
  ],
];

test.each(FAILURES)('%s: %s', (_, expected, mail) => {
  expect(outcome(mail)).toBe(expected);
});

test('a failure is recognized with the envelope sender of a mail system', () => {
  const [[, expected, mail] = ['', '', Buffer.of()]] = FAILURES;
  expect(outcome(mail, 'MAILER-DAEMON@mail.example')).toBe(expected);
});

const DAEMON = 'Mail Delivery System <mailer-daemon@mx.example>';

test.each([
  [
    'Exim’s warning',
    DAEMON,
    'Warning: message delayed 24 hours',
    'A message that you sent has not yet been delivered to one or more of its recipients.\n',
  ],
  [
    'Google’s warning',
    DAEMON,
    'Delivery Status Notification (Delay)',
    'THIS IS A WARNING MESSAGE ONLY.\n\nDelivery to the following recipient has been delayed:\n\n     jane@example.org\n\nMessage will be retried for 2 more day(s)\n450 4.2.2 Mailbox full\n',
  ],
  [
    'OpenSMTPD’s warning',
    DAEMON,
    'Delivery status notification: warning',
    'A message is delayed for more than 10 minutes:\n\njane@example.org: Network error on destination MXs\n\nThis is only a temporary failure report.\n',
  ],
  [
    'Postfix’s warning',
    DAEMON,
    'Delayed Mail (still being retried)',
    'Your message could not be delivered for more than 2 hour(s).\nIt will be retried until it is 4 day(s) old.\n',
  ],
])('%s is a delay', (_, from, subject, text) => {
  expect(outcome(mailFrom(from, subject, text))).toBe('delayed');
});

test.each([
  [
    'a vacation notice that quotes our text',
    'Jane <jane@example.org>',
    'Automatic reply: Your parcel could not be delivered',
    'I am away.\n\n> Your parcel could not be delivered. Delivery failed.\n',
  ],
  [
    'a vacation notice with our subject',
    'Jane <jane@example.org>',
    'Re: Delivery failed: your parcel',
    'I am out of the office until Monday. 550 people may be waiting.\n',
  ],
  [
    'an encoded subject of an automatic reply',
    'Jane <postmaster@example.org>',
    '=?utf-8?Q?R=C3=A9ponse_automatique_:_Undelivered?=',
    'Je suis absente.\n',
  ],
  [
    'a challenge',
    'postmaster@example.org',
    'Undeliverable until confirmed',
    'Your message could not be delivered yet: it is being held. Please confirm your address.\n',
  ],
  [
    'a challenge with a link',
    DAEMON,
    'Failed delivery: action needed',
    'Your message was not delivered. Click the link below to verify: https://x.example/\n',
  ],
  [
    'a moderated list',
    'list-owner@example.org',
    'Your message to list awaits moderator approval',
    'Your mail is being held until the list moderator can review it.\n',
  ],
  [
    'a success notice',
    DAEMON,
    'Delivery Status Notification (Success)',
    'Your message was successfully delivered to jane@example.org.\n',
  ],
  ['a ticket system', 'postmaster@example.org', '[#42] We got your message', 'Thank you!\n'],
])('%s is not a bounce', (_, from, subject, text) => {
  expect(outcome(mailFrom(from, subject, text, 'Auto-Submitted: auto-replied\n'))).toBe(
    'not a bounce',
  );
});

test('a read receipt is not a bounce', () => {
  const receipt = mailFrom(
    'postmaster@example.org',
    'Undeliverable: read receipt',
    '--x\nContent-Type: text/plain\n\nNot delivered to a human.\n--x\nContent-Type: message/disposition-notification\n\nDisposition: automatic-action; deleted\n--x--\n',
    'Content-Type: multipart/report; boundary=x\n',
  );
  expect(outcome(receipt)).toBe('not a bounce');
});

test('a person who forwards a bounce does not report one', () => {
  const text = 'Look:\n> Undelivered Mail\n> 550 5.1.1 User unknown, could not be delivered\n';
  expect(outcome(mailFrom('jane@example.org', 'Fwd: Undelivered Mail', text), 'j@x.example')).toBe(
    'not a bounce',
  );
});

test('many addresses and long lines give at most a hundred recipients', () => {
  const addresses = Array.from({ length: 500 }, (_, index) => `u${index}@x.example`).join('\n');
  const many = mailFrom(DAEMON, 'Mail delivery failed', `${addresses}\n${'@'.repeat(100_000)}`);
  const report = readBounceReport(parseMailStructure(many), '');
  expect(report?.recipients).toHaveLength(100);
});
