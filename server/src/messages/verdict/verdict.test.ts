import { describe, expect, test } from 'vitest';
import { BOUNCE_REASONS } from '../../events/event-types.ts';
import { ReplyParser } from '../../mail/smtp-client/reply-parser.ts';
import { type SmtpStage, smtpError } from '../../mail/smtp-client/smtp-results.ts';
import { type AttemptResult, classifyAttempt, classifyReport, type Verdict } from './verdict.ts';

/**
 * Checks that every receiver reply gets the classification that a postmaster would give it, with
 * replies seen in production, parsed by the reader that is used on real connections.
 */

type Row = [stage: SmtpStage, answer: string, verdict: string];

function judged(stage: SmtpStage, answer: string, relay = false, cycleAgeMs = 0): Verdict {
  const reader = new ReplyParser();
  reader.push(Buffer.from(`${answer.replaceAll('\n', '\r\n')}\r\n`));
  const received = reader.next();
  if (!received) throw new Error(`not a reply: ${answer}`);
  const { reply } = received;
  if (reply.code < 400) return classifyAttempt({ kind: 'accepted', reply });
  return classifyAttempt(
    { kind: 'refused', stage, reply, afterFinalDot: false, staleConnection: false },
    { relay, cycleAgeMs },
  );
}

function inShort(verdict: Verdict): string {
  if (verdict.kind === 'delivered') return 'delivered';
  if (verdict.kind === 'failed') return `failed ${verdict.reason}`;
  return `${verdict.kind} ${verdict.bounce.class} ${verdict.bounce.reason}`;
}

const REPLIES: Row[] = [
  ['body', '250 2.0.0 OK', 'delivered'],
  ['body', '251 User not local; will forward', 'delivered'],

  // Google
  [
    'rcpt',
    "550-5.1.1 The email account that you tried to reach does not exist. Please try\n550-5.1.1 double-checking the recipient's email address for typos or\n550 5.1.1 unnecessary spaces. - gsmtp",
    'bounced hard unknown_mailbox',
  ],
  [
    'rcpt',
    '550 5.2.1 The email account that you tried to reach is inactive. - gsmtp',
    'bounced hard mailbox_disabled',
  ],
  [
    'rcpt',
    '550-5.2.1 The email account that you tried to reach is disabled. Learn more - gsmtp\n550 5.2.1 x',
    'bounced hard mailbox_disabled',
  ],
  [
    'rcpt',
    '450-4.2.1 The user you are trying to contact is receiving mail at a rate that\n450 4.2.1 prevents additional messages from being delivered. - gsmtp',
    'deferred block rate_limited',
  ],
  [
    'rcpt',
    "452-4.2.2 The recipient's inbox is out of storage space. Please direct the\n452 4.2.2 recipient to support",
    'deferred soft mailbox_full',
  ],
  [
    'rcpt',
    '552-5.2.2 The email account that you tried to reach is over quota.\n552 5.2.2 x',
    'bounced soft mailbox_full',
  ],
  [
    'body',
    '550-5.7.26 This mail has been blocked because the sender is unauthenticated.\n550 5.7.26 Gmail requires all senders to authenticate with either SPF or DKIM.',
    'bounced block authentication_failed',
  ],
  [
    'body',
    '550-5.7.1 [192.0.2.1] Our system has detected that this message is likely\n550 5.7.1 unsolicited mail. - gsmtp',
    'bounced block content_rejected',
  ],
  [
    'body',
    '550-5.7.1 [192.0.2.1 18] Our system has detected that this message is likely suspicious due to the very low reputation of the sending domain.\n550 5.7.1 x',
    'bounced block blocked_reputation',
  ],
  [
    'body',
    '421-4.7.0 [192.0.2.1 15] Our system has detected an unusual rate of unsolicited mail originating from your IP address.\n421 4.7.0 x',
    'deferred block rate_limited',
  ],
  [
    'body',
    '421 4.7.28 Gmail has detected an unusual rate of mail originating from your DKIM domain',
    'deferred block rate_limited',
  ],
  [
    'body',
    '552-5.7.0 This message was blocked because its content presents a potential\n552 5.7.0 security issue.',
    'bounced block content_rejected',
  ],
  [
    'body',
    "552 5.3.4 Your message exceeded Google's message size limits.",
    'bounced soft message_too_large',
  ],
  [
    'body',
    '550 5.7.25 The IP address sending this message does not have a PTR record setup',
    'bounced block authentication_failed',
  ],
  [
    'body',
    '421 4.7.29 This message was not sent over a TLS connection',
    'deferred soft tls_required',
  ],
  ['body', '550 5.7.27 sender address SPF did not pass', 'bounced block authentication_failed'],
  ['body', '550 5.7.30 DKIM did not pass', 'bounced block authentication_failed'],

  // Microsoft
  [
    'rcpt',
    '550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient jane@contoso.com not found by SMTP address lookup',
    'bounced hard unknown_mailbox',
  ],
  [
    'rcpt',
    '550 5.4.1 Recipient address rejected: Access denied. AS(201806281) [DB1.eurprd.prod.outlook.com]',
    'bounced hard unknown_mailbox',
  ],
  [
    'rcpt',
    '550 5.5.0 Requested action not taken: mailbox unavailable (S2017062302)',
    'bounced hard unknown_mailbox',
  ],
  [
    'mail',
    "550 5.7.1 Unfortunately, messages from [192.0.2.1] weren't sent. Please contact your Internet service provider since part of their network is on our block list (S3150).",
    'bounced block blocked_reputation',
  ],
  [
    'mail',
    '550 5.7.606 Access denied, banned sending IP [192.0.2.1]',
    'bounced block blocked_reputation',
  ],
  [
    'body',
    '550 5.7.509 Access denied, sending domain example.com does not pass DMARC verification',
    'bounced block authentication_failed',
  ],
  [
    'body',
    "550 5.7.515 Access denied, sending domain example.com doesn't meet the required authentication level",
    'bounced block authentication_failed',
  ],
  [
    'mail',
    '451 4.7.500 Server busy. Please try again later from [192.0.2.1]. (AS77713)',
    'deferred block rate_limited',
  ],
  [
    'mail',
    '451 4.7.650 The mail server [192.0.2.1] has been temporarily rate limited due to IP reputation',
    'deferred block rate_limited',
  ],
  ['rcpt', '550 5.7.64 TenantAttribution; Relay Access Denied', 'bounced soft relaying_denied'],
  [
    'rcpt',
    '550 5.7.133 RESOLVER.RST.SenderNotAuthenticatedForGroup; authentication required',
    'bounced block blocked_policy',
  ],
  [
    'rcpt',
    '554 5.2.2 mailbox full; STOREDRV.Deliver.Exception:QuotaExceededException',
    'bounced soft mailbox_full',
  ],
  ['rcpt', '550 5.4.310 DNS domain contoso.example does not exist', 'bounced hard unknown_domain'],
  [
    'rcpt',
    '554 5.4.14 Hop count exceeded - possible mail loop',
    'bounced soft network_unreachable',
  ],

  // Yahoo and AOL
  [
    'body',
    "554 delivery error: dd This user doesn't have a yahoo.com account (jane@yahoo.com) [0]",
    'bounced hard unknown_mailbox',
  ],
  [
    'mail',
    '421 4.7.0 [TSS04] Messages from 192.0.2.1 temporarily deferred due to unexpected volume or user complaints',
    'deferred block rate_limited',
  ],
  [
    'mail',
    "553 5.7.1 [BL21] Connections will not be accepted from 192.0.2.1, because the ip is in Spamhaus's list",
    'bounced block blocked_reputation',
  ],
  [
    'body',
    '554 5.7.9 Message not accepted for policy reasons. See https://postmaster.yahooinc.com/error-codes',
    'bounced block authentication_failed',
  ],
  [
    'rcpt',
    '552 1 Requested mail action aborted, mailbox not found',
    'bounced hard unknown_mailbox',
  ],

  // Apple
  [
    'rcpt',
    '550 5.1.1 <jane@icloud.com>: user lookup success but no user record found.',
    'bounced hard unknown_mailbox',
  ],
  [
    'body',
    '554 5.7.1 [CS01] Message rejected due to local policy. Please visit https://support.apple.com/en-us/HT204137',
    'bounced block blocked_policy',
  ],
  ['rcpt', '552 5.2.2 <jane@icloud.com>: user is over quota', 'bounced soft mailbox_full'],

  // Postfix, Exim, Sendmail, qmail and others
  [
    'rcpt',
    '550 5.1.1 <x@example.org>: Recipient address rejected: User unknown in local recipient table',
    'bounced hard unknown_mailbox',
  ],
  [
    'rcpt',
    '450 4.1.1 <x@example.org>: Recipient address rejected: unverified address',
    'deferred soft unknown_mailbox',
  ],
  ['rcpt', '554 5.7.1 <x@example.org>: Relay access denied', 'bounced soft relaying_denied'],
  [
    'rcpt',
    '450 4.7.1 <x@example.org>: Recipient address rejected: Greylisted, see http://postgrey',
    'deferred soft greylisted',
  ],
  ['rcpt', '451 4.7.1 Greylisting in action, please come back later', 'deferred soft greylisted'],
  ['rcpt', '450 4.3.2 Service currently unavailable', 'deferred soft greylisted'],
  ['rcpt', '451 Temporary local problem - please try later', 'deferred soft unknown'],
  [
    'rcpt',
    '554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using zen.spamhaus.org',
    'bounced block blocked_reputation',
  ],
  [
    'greeting',
    '554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using b.barracudacentral.org',
    'deferred block blocked_reputation',
  ],
  ['greeting', '554 No SMTP service here', 'deferred block blocked_policy'],
  ['greeting', '421 4.3.2 Too many connections, try again later', 'deferred block rate_limited'],
  ['rcpt', '550 No such user here', 'bounced hard unknown_mailbox'],
  ['rcpt', '550 Unrouteable address', 'bounced hard unknown_mailbox'],
  [
    'rcpt',
    "553 sorry, that domain isn't in my list of allowed rcpthosts (#5.7.1)",
    'bounced soft relaying_denied',
  ],
  ['rcpt', '550 I cannot deliver mail for <x@example.org>', 'bounced soft relaying_denied'],
  ['rcpt', '550 Administrative prohibition', 'bounced block blocked_policy'],
  ['rcpt', '550 Callout verification failed', 'bounced soft unknown'],
  ['rcpt', '550 rejected', 'bounced soft unknown'],
  ['rcpt', '551 User not local', 'bounced hard unknown_mailbox'],
  ['rcpt', '552 5.2.2 User has exceeded storage limit', 'bounced soft mailbox_full'],
  ['mail', '450 4.7.1 Sender exceeded hourly limit', 'deferred block rate_limited'],
  ['rcpt', '450 4.2.0 Mailbox is locked, try again', 'deferred soft mailbox_disabled'],
  ['rcpt', '552 Mailbox full', 'bounced soft mailbox_full'],
  ['rcpt', '452 4.5.3 Too many recipients', 'deferred block rate_limited'],
  ['rcpt', '452 4.3.1 Insufficient system storage', 'deferred soft mailbox_full'],
  ['mail', '552 5.3.4 Message size exceeds fixed limit', 'bounced soft message_too_large'],
  ['mail', '552 Message size exceeds maximum permitted', 'bounced soft message_too_large'],
  ['mail', '553 5.1.8 Domain of sender address does not exist', 'bounced block blocked_policy'],
  [
    'mail',
    '450 4.1.8 <a@b.example>: Sender address rejected: Domain not found',
    'deferred block blocked_policy',
  ],
  ['mail', '530 5.7.0 Must issue a STARTTLS command first', 'bounced soft tls_required'],
  ['rcpt', '550 5.7.1 SPF check failed', 'bounced block authentication_failed'],
  [
    'body',
    '550 5.7.1 Email rejected per DMARC policy for example.com',
    'bounced block authentication_failed',
  ],
  ['body', '554 5.7.1 This message has been identified as SPAM', 'bounced block content_rejected'],
  ['body', '554 5.6.0 Message contains a virus', 'bounced block content_rejected'],
  ['body', '554 Transaction failed', 'bounced block content_rejected'],
  [
    'rcpt',
    '553 5.6.7 Address is internationalized and the server cannot take it',
    'bounced soft smtputf8_unsupported',
  ],
  ['rcpt', '550 5.1.2 Bad destination host', 'bounced hard unknown_domain'],
  ['greeting', '521 5.3.2 mx.example.org does not accept mail', 'bounced block blocked_policy'],
  ['rcpt', '521 5.3.2 mx.example.org does not accept mail', 'bounced hard unknown_domain'],
  ['rcpt', '556 5.1.10 Recipient address has null MX', 'bounced hard unknown_domain'],
  ['data', '503 5.5.1 Bad sequence of commands', 'bounced soft protocol_error'],
  ['ehlo', '421 4.3.0 closing', 'deferred block rate_limited'],
  [
    'greeting',
    '450 4.7.25 Client host rejected: cannot find your reverse hostname',
    'deferred block authentication_failed',
  ],
  // Issues with the HELO name, the return path or the client, reported after RCPT.
  [
    'rcpt',
    '550 5.7.1 <mail.example.org>: Helo command rejected: Host not found',
    'bounced block authentication_failed',
  ],
  ['rcpt', '550 Your HELO name is not acceptable', 'bounced block authentication_failed'],
  [
    'rcpt',
    '550 5.1.0 <b@example.org>: Sender address rejected: User unknown in virtual mailbox table',
    'bounced block blocked_policy',
  ],
  [
    'rcpt',
    '550 5.1.8 <b@example.org>: Sender address rejected: Domain not found',
    'bounced block blocked_policy',
  ],
  [
    'rcpt',
    '554 5.7.1 <b@example.org>: Sender address rejected: Access denied',
    'bounced block blocked_policy',
  ],
  [
    'rcpt',
    '550-Verification failed for <b@example.org>\n550-Unrouteable address\n550 Sender verify failed',
    'bounced block blocked_policy',
  ],
  [
    'rcpt',
    '550-Verification failed for <b@example.org>\n550-Called:   192.0.2.1\n550-Sent:     RCPT TO:<b@example.org>\n550-Response: 550 5.1.1 No such user\n550 Sender verify failed',
    'bounced block blocked_policy',
  ],
  [
    'rcpt',
    '553 Domain of sender address b@example.org does not exist',
    'bounced block blocked_policy',
  ],
  [
    'rcpt',
    '554 5.7.1 <mail.example.org[192.0.2.1]>: Client host rejected: Access denied',
    'bounced block blocked_reputation',
  ],
  [
    'rcpt',
    '554 5.7.1 <x@example.org>: Recipient address rejected: Access denied',
    'bounced block blocked_policy',
  ],
  [
    'rcpt',
    '450 4.7.1 <x@example.org>: Recipient address rejected: Service temporarily unavailable',
    'deferred soft unknown',
  ],
  ['mail', '450 4.7.1 Error: too much mail from 192.0.2.1', 'deferred block rate_limited'],
  [
    'greeting',
    '421 4.7.0 mx.example.org Error: too many new TLS sessions from 192.0.2.1',
    'deferred block rate_limited',
  ],
  ['rcpt', '451 Sender rate overlimit - 12.0 / 1h', 'deferred block rate_limited'],

  // Quoted names are no evidence.
  ['rcpt', '550 Invalid recipient: <disabled@example.org>', 'bounced hard unknown_mailbox'],
  ['rcpt', '550 5.1.1 virus@spamhaus.example... User unknown', 'bounced hard unknown_mailbox'],
  [
    'mail',
    '550 5.7.1 Access denied. To be removed write to delist@messaging.example.com',
    'bounced block blocked_reputation',
  ],
  ['rcpt', '550 5.1.6 Mailbox has moved', 'bounced hard unknown_mailbox'],
  ['rcpt', '550 5.7.13 The account is disabled', 'bounced hard mailbox_disabled'],
];

describe('receiver replies', () => {
  test.each(REPLIES)('%s: %s', (stage, answer, verdict) => {
    expect(inShort(judged(stage, answer))).toBe(verdict);
  });

  test('a 4xx is never final and never hard, and a 5xx is final in the end, whatever the text', () => {
    for (const [stage, answer] of REPLIES) {
      const other = (digit: string) =>
        answer.replaceAll(/^\d/gm, digit).replaceAll(/^(\d\d\d[ -])[245]\./gm, `$1${digit}.`);
      const passing = judged(stage, other('4'));
      expect.soft(passing.kind, answer).toBe('deferred');
      if (passing.kind === 'deferred') expect.soft(passing.bounce.class, answer).not.toBe('hard');
      const late = judged(stage, other('5'), false, 4 * 3_600_000);
      expect.soft(late.kind, answer).toBe('bounced');
      // A greeting is about us, and may change.
      if (stage === 'greeting') continue;
      expect.soft(judged(stage, other('5')).kind, answer).toBe('bounced');
    }
  });

  test('an unreachable relay says nothing about the receiving domain', () => {
    const end = smtpError('connection_refused', 'connect', '');
    const explanations = [true, false].map((relay) => {
      const verdict = classifyAttempt(end, { relay });
      return verdict.kind === 'deferred' && verdict.bounce.explanation;
    });
    expect(explanations).toEqual([
      'No relay could be reached. The operator should check DELIVERY_ROUTE. We will retry automatically.',
      "No mail server of the recipient's domain could be reached. We will retry automatically.",
    ]);
  });

  test('a relay that rejects us says nothing about the recipient', () => {
    expect(inShort(judged('auth', '535 5.7.8 Authentication credentials invalid'))).toBe(
      'deferred soft relaying_denied',
    );
    expect(inShort(judged('mail', '530 5.7.0 Authentication required', true))).toBe(
      'deferred soft relaying_denied',
    );
    expect(inShort(judged('rcpt', '554 5.7.1 Relay access denied', true))).toBe(
      'deferred soft relaying_denied',
    );
    expect(inShort(judged('rcpt', '550 Invalid recipient: <x@example.org>', true))).toBe(
      'deferred soft relaying_denied',
    );
    expect(inShort(judged('rcpt', '550 5.1.1 User unknown', true))).toBe(
      'bounced hard unknown_mailbox',
    );
  });
});

const CONNECTION_RESULTS: [AttemptResult, string][] = [
  [{ kind: 'domain_not_found', detail: '' }, 'bounced hard unknown_domain'],
  [{ kind: 'domain_takes_no_mail', detail: '' }, 'bounced hard unknown_domain'],
  [{ kind: 'domain_without_address', detail: '' }, 'bounced soft unknown_domain'],
  [{ kind: 'out_of_reach', detail: '' }, 'deferred soft network_unreachable'],
  [{ kind: 'name_server_failed', detail: '' }, 'deferred soft network_unreachable'],
  [{ kind: 'loop', detail: '' }, 'bounced soft protocol_error'],
  [{ kind: 'no_relay', detail: '' }, 'deferred soft network_unreachable'],
  [{ kind: 'suspended', detail: '' }, 'deferred block blocked_policy'],
  [{ kind: 'unsigned', detail: '' }, 'deferred block authentication_failed'],
  [{ kind: 'unsendable', reason: 'content_gone', detail: '' }, 'failed content_gone'],
  [smtpError('connection_refused', 'connect', ''), 'deferred soft network_unreachable'],
  [smtpError('network_unreachable', 'connect', ''), 'deferred soft network_unreachable'],
  [smtpError('connection_lost', 'data', ''), 'deferred soft connection_lost'],
  [smtpError('timed_out', 'greeting', ''), 'deferred soft timed_out'],
  [smtpError('protocol_error', 'ehlo', ''), 'deferred soft protocol_error'],
  [smtpError('tls_not_offered', 'starttls', ''), 'deferred soft tls_required'],
  [smtpError('tls_failed', 'starttls', ''), 'deferred soft tls_failed'],
  [smtpError('certificate_rejected', 'starttls', ''), 'deferred soft tls_failed'],
  [smtpError('auth_not_offered', 'auth', ''), 'deferred soft relaying_denied'],
  [smtpError('auth_needs_tls', 'auth', ''), 'deferred soft relaying_denied'],
  [smtpError('smtputf8_unsupported', 'mail', ''), 'bounced soft smtputf8_unsupported'],
  [smtpError('eightbit_unsupported', 'mail', ''), 'bounced soft protocol_error'],
  [smtpError('message_too_large', 'mail', ''), 'bounced soft message_too_large'],
  [smtpError('malformed_message', 'mail', ''), 'failed malformed_message'],
  [smtpError('aborted', 'body', '', { afterFinalDot: true }), 'deferred soft connection_lost'],
];

test.each(CONNECTION_RESULTS)('connection and routing errors: %o', (end, verdict) => {
  expect(inShort(classifyAttempt(end))).toBe(verdict);
});

test('an error after the final dot says that the message may have arrived, and is retried', () => {
  for (const kind of ['connection_lost', 'timed_out', 'protocol_error'] as const) {
    const verdict = classifyAttempt(smtpError(kind, 'body', '', { afterFinalDot: true }));
    expect(verdict).toMatchObject({ kind: 'deferred', bounce: { reason: kind } });
    expect(verdict.kind === 'deferred' && verdict.bounce.explanation).toContain('may have arrived');
  }
});

test('every reason is in the closed list and explained in full sentences', () => {
  for (const [stage, answer] of REPLIES) {
    const verdict = judged(stage, answer);
    if (verdict.kind !== 'bounced' && verdict.kind !== 'deferred') continue;
    expect(BOUNCE_REASONS).toContain(verdict.bounce.reason);
    expect(verdict.bounce.explanation).toMatch(/^[A-Z].*\.$/);
  }
});

test('a report is classified at the command that it names', () => {
  const failure = { code: 553, status: '5.1.0', text: '<b@example.org> does not exist' };
  const reasonAt = (stage: SmtpStage | null) => classifyReport({ ...failure, stage }).reason;
  expect(reasonAt('mail')).toBe('blocked_policy');
  const unknown = { code: 550, status: '5.1.1', text: 'User unknown' };
  expect(classifyReport({ ...unknown, stage: 'mail' }).class).toBe('block');
  expect(classifyReport({ ...unknown, stage: 'body' }).class).toBe('hard');
});

test.each([
  [550, '5.1.1', 'User unknown', 'hard unknown_mailbox'],
  [null, '5.1.1', '', 'hard unknown_mailbox'],
  [null, null, 'Sorry, no mailbox here by that name.', 'hard unknown_mailbox'],
  [554, '5.2.2', 'mailbox full; QuotaExceededException', 'soft mailbox_full'],
  [550, '5.7.1', 'Message blocked using zen.spamhaus.org', 'block blocked_reputation'],
  [null, '4.4.7', 'Delivery time expired', 'soft network_unreachable'],
  [null, '4.1.1', 'User unknown', 'soft unknown_mailbox'],
  [450, null, 'User unknown', 'soft unknown_mailbox'],
  [null, null, '', 'soft unknown'],
  [null, '5.5.0', 'Service unavailable', 'soft unknown'],
  [null, '5.0.0', 'retry timeout exceeded', 'soft network_unreachable'],
  [null, '4.4.7', 'Envelope expired', 'soft network_unreachable'],
  [null, '5.4.312', 'Message expired, DNS query failed', 'soft network_unreachable'],
  [null, '5.4.4', 'Invalid domain', 'hard unknown_domain'],
  [null, '5.0.0', 'Address not found', 'hard unknown_mailbox'],
])('a report with %s %s %s is final, and %s', (code, status, text, verdict) => {
  const bounce = classifyReport({ code, status, text, stage: null });
  expect(`${bounce.class} ${bounce.reason}`).toBe(verdict);
  expect(bounce.explanation).not.toContain('retry');
});
