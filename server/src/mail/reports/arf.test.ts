import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readFeedbackReport } from './arf.ts';
import { parseMailStructure } from './mime-structure.ts';

/**
 * Goal: complaints are read as providers write them, and no input breaks the parser. Method:
 * reports in the forms of RFC 5965 and of the large providers, and arbitrary input.
 */

function read(text: string) {
  return readFeedbackReport(parseMailStructure(Buffer.from(text.replaceAll('\n', '\r\n'))));
}

function report(fields: string, original = 'Content-Type: message/rfc822'): string {
  return `From: feedback@provider.example
Content-Type: multipart/report; report-type=feedback-report; boundary=b

--b
Content-Type: text/plain

This is a report.
--b
Content-Type: message/feedback-report

${fields}
--b
${original}

Return-Path: <b-token@bounce.example.org>
X-HmXmrOriginalRecipient: <jane@hotmail.example>
Subject: Hello

Feedback-Type: not-spam
Return-Path: <b-inbody@bounce.example.org>
--b--
`;
}

test('RFC 5965, with all that may be there', () => {
  const found = read(
    report(`Feedback-Type: abuse
User-Agent: SomeGenerator/1.0
Version: 1
Original-Mail-From: <b-stated@bounce.example.org>
Original-Rcpt-To: <Jane@Example.com>
Original-Rcpt-To: joe@example.com
Source-IP: 192.0.2.1
`),
  );
  expect(found).toMatchObject({
    type: 'abuse',
    reporter: 'SomeGenerator/1.0',
    recipients: ['jane@example.com', 'joe@example.com', 'jane@hotmail.example'],
  });
  expect(found?.returned).toContain('b-stated@');
  expect(found?.returned).toContain('b-token@');
  expect(found?.returned).not.toContain('b-inbody@');
});

test('only the header was returned, and the type is not spam', () => {
  const found = read(report('Feedback-Type: Not-Spam\n', 'Content-Type: text/rfc822-headers'));
  expect(found).toMatchObject({ type: 'not-spam', reporter: null });
  expect(found?.returned).toContain('b-token@');
});

test('Outlook.com, which returns the mail without a report', () => {
  const found = read(`From: staff@provider.example
Subject: complaint about message from 192.0.2.1
Content-Type: multipart/mixed; boundary="b"

--b
Content-Type: message/rfc822
Content-Disposition: inline

X-HmXmrOriginalRecipient: jane@hotmail.example
Authentication-Results: hotmail.example; spf=pass (sender IP is 192.0.2.1)
 smtp.mailfrom=b-token@bounce.example.org; dkim=pass header.d=example.org
From: hello@example.org

Hello
--b--
`);
  expect(found).toMatchObject({ type: 'abuse', recipients: ['jane@hotmail.example'] });
  expect(found?.returned).toContain('smtp.mailfrom=b-token@');
});

test('a mail that is not a report, and an empty report', () => {
  expect(read('Subject: spam!\n\nStop this.')).toBeUndefined();
  expect(read(report(''))).toMatchObject({ type: '', recipients: ['jane@hotmail.example'] });
  expect(read('Content-Type: message/feedback-report\n\nFeedback-Type: abuse\n')).toMatchObject({
    type: 'abuse',
    returned: '\n',
  });
});

test('text that is cut inside a character is still valid', () => {
  const long = `${'x'.repeat(254)}\u{1f600}`;
  expect(read(report(`Feedback-Type: abuse\nUser-Agent: ${long}`))).toMatchObject({
    reporter: `${'x'.repeat(254)}\ufffd`,
  });
});

test('no input throws', () => {
  const piece = fc.oneof(
    fc.constantFrom(
      '\n',
      '--b',
      '\n--b\n',
      'Content-Type: multipart/report; boundary=b\n\n',
      'Content-Type: message/feedback-report\n\n',
      'Content-Type: message/rfc822\n\n',
      'Original-Rcpt-To: <',
      'Feedback-Type: ',
    ),
    fc.string({ unit: 'binary', maxLength: 20 }),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
      readFeedbackReport(parseMailStructure(Buffer.from(pieces.join(''))));
    }),
    { numRuns: 1000 },
  );
});
