import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readBounceReport } from './bounce-report.ts';
import { parseMailStructure } from './mime-structure.ts';

/**
 * Goal: reports are understood as servers mean them, in the forms seen in practice, and no input
 * breaks the parser. Method: shortened reports of large servers, and arbitrary input.
 */

function read(text: string) {
  const mail = parseMailStructure(Buffer.from(text.replaceAll('\n', '\r\n')));
  return readBounceReport(mail, '');
}

/** A report whose status part has these lines. */
function report(status: string, type = 'message/delivery-status', more = ''): string {
  return `From: MAILER-DAEMON@mx.example.com
To: b-x@bounce.example.org
Subject: Undelivered Mail Returned to Sender
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status;
	boundary="=_b 1"

This is a MIME-encapsulated message.

--=_b 1
Content-Type: text/plain

I'm sorry. Action: delivered Status: 2.0.0

--=_b 1
Content-Type: ${type}
${more}
${status}
--=_b 1
Content-Type: message/rfc822

From: hello@example.org
Content-Type: message/delivery-status

Final-Recipient: rfc822; other@example.com
Action: failed

--=_b 1--
`;
}

describe('reports of common servers', () => {
  test('Postfix', () => {
    const text = report(`Reporting-MTA: dns; mx.example.com
X-Postfix-Queue-ID: 4B2
Arrival-Date: Sun, 15 Nov 2026 10:00:00 +0000 (UTC)

Final-Recipient: rfc822; Jane@Example.com
Original-Recipient: rfc822;jane+2Bnews@example.com
Action: failed
Status: 5.1.1
Remote-MTA: dns; inner.example.com
Diagnostic-Code: smtp; 550 5.1.1 <jane@example.com>: Recipient address
    rejected: User unknown in local recipient table
`);
    expect(read(text)).toEqual({
      reportingMta: 'mx.example.com',
      recipients: [
        {
          action: 'failed',
          status: '5.1.1',
          finalRecipient: 'jane@example.com',
          originalRecipient: 'jane+2bnews@example.com',
          remoteMta: 'inner.example.com',
          code: 550,
          text: '<jane@example.com>: Recipient address rejected: User unknown in local recipient table',
          stage: null,
        },
      ],
    });
  });

  test.each([
    [
      'Postfix',
      '<jane@example.com>: host mx.example.com[192.0.2.1] said: 553 5.1.0\n    <b@example.org> does not exist (in reply to MAIL FROM command)',
      'mail',
    ],
    [
      'Exim',
      '  jane@example.com\n    host mx.example.com [192.0.2.1]\n    SMTP error from remote mail server after MAIL FROM:<b@example.org> SIZE=4711:\n    553 5.1.0 <b@example.org> does not exist',
      'mail',
    ],
    [
      'Exim with pipelining',
      '  jane@example.com\n    host mx.example.com [192.0.2.1]\n    SMTP error from remote mail server after pipelined MAIL FROM:<b@example.org>:\n    553 5.1.0 <b@example.org> does not exist',
      'mail',
    ],
    [
      'Exim after the message',
      '  jane@example.com\n    host mx.example.com [192.0.2.1]\n    SMTP error from remote mail server after end of data:\n    550 spam',
      'body',
    ],
  ])('%s names the rejected command in the notice', (_, notice, stage) => {
    const text = report(`Reporting-MTA: dns; mx.example.org

Final-Recipient: rfc822; jane@example.com
Action: failed
Status: 5.1.0
Diagnostic-Code: smtp; 553 5.1.0 <b@example.org> does not exist
`).replace("I'm sorry. Action: delivered Status: 2.0.0", notice);
    expect(read(text)?.recipients[0]).toMatchObject({ code: 553, stage });
  });

  test('Google, when the reason is only in the headline of the notice', () => {
    const text = report(`Reporting-MTA: dns; googlemail.com

Final-Recipient: rfc822; gone@gmail.com
Action: failed
Status: 5.0.0
`).replace(
      "I'm sorry. Action: delivered Status: 2.0.0",
      '** Address not found **\n\nYour message was not delivered.',
    );
    expect(read(text)?.recipients[0]).toMatchObject({
      status: '5.0.0',
      text: 'Address not found',
    });
  });

  test('Gmail, which folds a reply of several lines', () => {
    const text = report(`Reporting-MTA: dns; googlemail.com
Arrival-Date: Sun, 15 Nov 2026 02:00:00 -0800 (PST)

Final-Recipient: rfc822; gone@gmail.com
Action: failed
Status: 5.1.1
Diagnostic-Code: smtp; 550-5.1.1 The email account that you tried to reach does not exist. Please try
 550-5.1.1 double-checking the recipient's email address for typos or
 550 5.1.1 unnecessary spaces.
Last-Attempt-Date: Sun, 15 Nov 2026 02:00:00 -0800 (PST)
`);
    expect(read(text)?.recipients[0]).toMatchObject({
      status: '5.1.1',
      code: 550,
      text: "The email account that you tried to reach does not exist. Please try double-checking the recipient's email address for typos or unnecessary spaces.",
    });
  });

  test('Exchange: Edge has its own field, mailbox servers put the type first', () => {
    const edge = report(`Reporting-MTA: dns; EDGE02.test.local

Final-recipient: RFC822;
 nobody@example.com
Action: failed
Status: 5.1.1
Remote-MTA: dns; mx.example.com
X-Supplementary-Info: <mx.example.com #5.1.1 smtp;550-5.1.1 The email account
 that you tried to reach does not exist. 550 5.1.1 Learn more>
`);
    expect(read(edge)?.recipients[0]).toMatchObject({
      finalRecipient: 'nobody@example.com',
      code: 550,
      status: '5.1.1',
      text: 'The email account that you tried to reach does not exist. Learn more>',
    });
    const office = report(`Reporting-MTA: dns;DB9PR01.eurprd01.prod.exchangelabs.com
Received-From-MTA: dns;mail.example.org

Final-Recipient: rfc822;<full@example.com>
Action: Failed
Status: 5.2.2
Diagnostic-Code: smtp;554 5.2.2 mailbox full; STOREDRV.Deliver.Exception:QuotaExceededException
`);
    expect(read(office)?.recipients[0]).toMatchObject({
      action: 'failed',
      finalRecipient: 'full@example.com',
      status: '5.2.2',
      code: 554,
    });
  });

  test('Exim without Status, and without Diagnostic-Code', () => {
    const text = report(`Reporting-MTA: dns; exim.example.com

Action: failed
Final-Recipient: rfc822;a@example.com
Diagnostic-Code: smtp; 552 5.2.2 over quota

Action: failed
Final-Recipient: rfc822;b@example.com
Status: 5.0.0
`);
    expect(read(text)?.recipients).toMatchObject([
      { finalRecipient: 'a@example.com', status: '5.2.2', code: 552 },
      { finalRecipient: 'b@example.com', status: '5.0.0', code: null, text: '' },
    ]);
  });

  test('the code in the text replaces a vague status', () => {
    const text = report(`Final-Recipient: rfc822; a@example.com
Action: failed
Status: 5.0.0 (undefined status)
Diagnostic-Code: X-Postfix; host mx[192.0.2.1] said: 550 5.7.1 Blocked
`);
    expect(read(text)?.recipients[0]).toMatchObject({ status: '5.7.1', code: 550 });
  });

  test('delayed, relayed, delivered and expanded are not failures', () => {
    for (const action of ['delayed', 'relayed', 'delivered', 'expanded'] as const) {
      const text = report(`Reporting-MTA: dns; mx

Final-Recipient: rfc822; a@example.com
Action: ${action} (for now)
Status: ${action === 'delayed' ? '4.4.1' : '2.0.0'}
`);
      expect(read(text)?.recipients[0]?.action).toBe(action);
    }
    const missing = (status: string) =>
      read(report(`Reporting-MTA: dns; mx\n\nFinal-Recipient: rfc822; a@b.example\n${status}\n`));
    expect(missing('Status: 4.4.7')?.recipients[0]?.action).toBe('delayed');
    expect(missing('Status: 5.4.4')?.recipients[0]?.action).toBe('failed');
    expect(missing('X: y')).toBeUndefined();
  });

  test('as UTF-8 (RFC 6533), in base64 and in quoted-printable', () => {
    const status = `Reporting-MTA: dns; mx

Final-Recipient: utf-8; jürgen@example.com
Action: failed
Status: 5.1.1
Diagnostic-Code: smtp; 550 5.1.1 Kein Postfach für =Jürgen
`;
    const plain = read(report(status, 'message/global-delivery-status'));
    expect(plain?.recipients[0]).toMatchObject({
      finalRecipient: 'jürgen@example.com',
      text: 'Kein Postfach für =Jürgen',
    });
    const base64 = Buffer.from(status).toString('base64');
    const encoded = report(`\n${base64}`, undefined, 'Content-Transfer-Encoding: base64');
    expect(read(encoded)?.recipients).toEqual(plain?.recipients);
    const quoted = status
      .replaceAll('=', '=3D')
      .replaceAll('ü', '=C3=BC')
      .replace('Kein', 'Ke=\nin');
    const printable = report(
      `\n${quoted}`,
      'message/delivery-status',
      'Content-Transfer-Encoding: Quoted-Printable',
    );
    expect(read(printable)?.recipients).toEqual(plain?.recipients);
  });

  test('qmail (QSBMF)', () => {
    const text = `From: MAILER-DAEMON@qmail.example.com
To: b-x@bounce.example.org
Subject: failure notice

Hi. This is the qmail-send program at qmail.example.com.
I'm afraid I wasn't able to deliver your message to the following addresses.
This is a permanent error; I've given up. Sorry it didn't work out.

<gone@example.com>:
192.0.2.7 does not like recipient.
Remote host said: 550 5.1.1 <gone@example.com> User unknown
Giving up on 192.0.2.7.

<local@example.com>:
Sorry, no mailbox here by that name. (#5.1.1)

--- Below this line is a copy of the message.

Return-Path: <b-x@bounce.example.org>

<trick@example.com>:
550 5.1.1 not said by the server
`;
    expect(read(text)).toMatchObject({
      reportingMta: 'qmail.example.com',
      recipients: [
        { action: 'failed', finalRecipient: 'gone@example.com', status: '5.1.1', code: 550 },
        {
          finalRecipient: 'local@example.com',
          status: '5.1.1',
          code: null,
          text: 'Sorry, no mailbox here by that name. (#5.1.1)',
        },
      ],
    });
    expect(read(text)?.recipients).toHaveLength(2);
  });

  test('Exim and Google, which list recipients in the header', () => {
    const exim = `From: Mail Delivery System <Mailer-Daemon@exim.example.com>
X-Failed-Recipients: gone@example.com,
  other@example.com

This message was created automatically by mail delivery software.

A message that you sent could not be delivered to one or more of its
recipients. This is a permanent error. The following address(es) failed:

  gone@example.com
    SMTP error from remote mail server after RCPT TO:<gone@example.com>:
    host mx.example.com [192.0.2.9]: 
    550 5.1.1 <gone@example.com>: Recipient address rejected: User unknown
`;
    expect(read(exim)?.recipients).toMatchObject([
      {
        action: 'failed',
        finalRecipient: 'gone@example.com',
        status: '5.1.1',
        code: 550,
        text: '<gone@example.com>: Recipient address rejected: User unknown',
      },
      { finalRecipient: 'other@example.com' },
    ]);
    const google = report('').replace(
      'MIME-Version: 1.0',
      'X-Failed-Recipients: gone@example.com\nMIME-Version: 1.0',
    );
    const words = google.replace(
      "I'm sorry. Action: delivered Status: 2.0.0",
      '** Message not delivered **\n\nThe response was:\n\nUnspecified Error: no route',
    );
    expect(read(words)?.recipients).toMatchObject([
      { finalRecipient: 'gone@example.com', code: null, text: 'Unspecified Error: no route' },
    ]);
  });

  test('truncated, because only the beginning is read', () => {
    const whole = report(`Reporting-MTA: dns; mx

Final-Recipient: rfc822; a@example.com
Action: failed
Status: 5.1.1
`);
    expect(read(whole.slice(0, whole.indexOf('Content-Type: message/rfc822')))).toEqual(
      read(whole),
    );
  });
});

test('text in the returned mail or in the human-readable part is not trusted', () => {
  expect(read(report('Reporting-MTA: dns; mx\n'))).toBeUndefined();
  expect(read('Subject: Out of office\n\nI am away until Monday.\n')).toBeUndefined();
  expect(read('Subject: x\n\n> Hi. This is the qmail-send program\n\n<a@b.c>:\n')).toBeUndefined();
});

test('text that is cut inside a character is still valid', () => {
  const status = `Reporting-MTA: dns; ${'x'.repeat(254)}\u{1f600}

Final-Recipient: rfc822; jane@example.com
Action: failed
Diagnostic-Code: smtp; 550 ${'y'.repeat(999)}\u{1f600}
`;
  const found = readBounceReport(parseMailStructure(Buffer.from(report(status))), '');
  expect(found?.reportingMta).toBe(`${'x'.repeat(254)}\ufffd`);
  expect(found?.recipients[0]?.text).toBe(`${'y'.repeat(999)}\ufffd`);
});

test('no input throws or takes long', () => {
  const token = fc.constantFrom(
    '\r\n',
    '\n',
    '\r',
    '\n\n',
    ': ',
    '--b',
    '--b--',
    ' ',
    '\t',
    '=?',
    '"',
    '\\',
    ';',
    '<',
    '>',
    '+2B',
    '\0',
    'Content-Type: multipart/report; boundary=b',
    'Content-Type: multipart/mixed; boundary="b"',
    'Content-Type: message/delivery-status',
    'Content-Transfer-Encoding: base64',
    'Content-Transfer-Encoding: quoted-printable',
    'Final-Recipient: rfc822; a@example.com',
    'Action: failed',
    'Status: 5.1.1',
    'Diagnostic-Code: smtp; 550 5.1.1 no',
    'Hi. This is the',
    'X-Failed-Recipients: a@example.com',
    'From: MAILER-DAEMON@example.com',
    'Subject: =?utf-8?q?Returned_mail?=',
    '<a@example.com>: 550 5.1.1 could not be delivered',
    '<<< 550 no',
    '----- Original message',
  );
  const piece = fc.oneof(token, fc.string({ unit: 'binary', maxLength: 20 }));
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
      const mail = parseMailStructure(Buffer.from(pieces.join('')));
      const report = readBounceReport(mail, '');
      for (const one of report?.recipients ?? []) {
        expect(one.text).not.toMatch(/\p{Cc}/u);
        expect(one.text.length).toBeLessThanOrEqual(1000);
      }
    }),
    { numRuns: 2000 },
  );
});

test('expensive input takes linear time', () => {
  const size = 256 * 1024;
  const nested = Array.from(
    { length: 2000 },
    (_, n) => `Content-Type: multipart/mixed; boundary=b${n}\n\n--b${n}\n`,
  ).join('');
  const expensive = [
    '\n'.repeat(size),
    ' '.repeat(size),
    `A:${'\n b'.repeat(size / 3)}`,
    'a:\n'.repeat(size / 3),
    `Content-Type: multipart/mixed; boundary=b\n\n${'--b\n\n'.repeat(size / 5)}`,
    `Content-Type: multipart/mixed; boundary=b\n\n${'\n--bb'.repeat(size / 5)}`,
    `Content-Type: multipart/mixed;${';a="'.repeat(size / 4)}`,
    nested,
    report(`${'Status: 5.1.1\n\n'.repeat(size / 15)}`),
    report(`Action: failed\nDiagnostic-Code: smtp; ${'550-5.1.1 '.repeat(size / 10)}`),
    report(`Action: failed\nFinal-Recipient: rfc822; ${'<'.repeat(size)}`),
    report(`Action: failed\nStatus: ${'5.1.'.repeat(size / 4)}`),
    report(`${'\n \t'.repeat(size / 3)}`),
    `\n\nHi. This is ${' at'.repeat(size / 3)}`,
    `\n\nHi. This is the x at y.\n\n${'<'.repeat(size)}`,
    `Content-Transfer-Encoding: quoted-printable\n\n${'= '.repeat(size / 2)}`,
    `X-Failed-Recipients: ${'<,'.repeat(size / 2)}\n\n${'\n> '.repeat(size / 3)}`,
    `X-Failed-Recipients: a@b.example\n\n${'the response '.repeat(size / 13)}`,
    ...[
      'delivery '.repeat(size / 9),
      `${'a'.repeat(size / 2)}${'@'.repeat(size / 2)}`,
      `${'-'.repeat(100)}\n`.repeat(size / 100),
      'Action: failed\n\n'.repeat(size / 16),
      'click reply to this message was been '.repeat(size / 37),
    ].map((text) => `From: MAILER-DAEMON@x.example\nSubject: failure notice\n\n${text}`),
    `From: <>\nSubject: failure\nContent-Type: text/html\n\n${'<p '.repeat(size / 3)}`,
    `From: ${'mail '.repeat(10_000)}\nSubject: ${'=?utf-8?q?'.repeat(6000)}\n\nundeliverable`,
  ];
  // Each takes a few milliseconds; a quadratic algorithm would time out.
  for (const text of expensive) read(text);
});
