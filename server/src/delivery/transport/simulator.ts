import type { Clock } from '../../lib/time/clock.ts';
import type { SmtpReply } from '../../mail/smtp-client/reply-parser.ts';
import type { SmtpTranscript } from '../../mail/smtp-client/transcript.ts';
import {
  simulatedBehavior,
  simulatedDeferrals,
  simulatedReply,
} from '../../messages/simulator-address.ts';
import type { AttemptResult } from '../../messages/verdict/verdict.ts';
import { ConcurrencyLimit } from '../../queue/concurrency-limit.ts';
import type { AttemptReport, Delivery, Message, Transport } from '../delivery.ts';

/**
 * The transport of test mode. It simulates a receiver that responds as the address requests, with
 * the same facts and a transcript like that of a real conversation, so that everything downstream
 * runs as for live mail. Nothing is ever sent.
 */
export function simulatorTransport(clock: Clock): Transport {
  // There is no receiver to protect; the limit only bounds memory during a flood.
  const limit = new ConcurrencyLimit(1_000);
  return {
    needsContent: false,
    limitFor: () => limit,
    attempt: (message, deliveries) =>
      Promise.resolve(deliveries.map((delivery) => simulate(message, delivery, clock.now()))),
    abort: () => {},
    close: () => Promise.resolve(),
  };
}

function simulate(message: Message, delivery: Delivery, nowMs: number): AttemptReport {
  const part = simulatedBehavior(delivery.recipientKey) ?? 'delivered';
  const reply = replyOf(part, delivery.attempts, message.id);
  const end: AttemptResult =
    reply.code < 400
      ? { kind: 'accepted', reply }
      : { kind: 'refused', stage: 'rcpt', reply, afterFinalDot: false, staleConnection: false };
  const report: AttemptReport = {
    end,
    startedAtMs: nowMs,
    finishedAtMs: nowMs,
    smtp: { ...reply, mx: MX, ip: '192.0.2.25', tls: 'TLSv1.3' },
    transcript: transcriptOf(message, delivery, reply, nowMs),
  };
  if (part === 'complained') report.simulatesComplaint = true;
  return report;
}

const MX = 'mx.simulator.test';
const DEFERRED: SmtpReply = {
  code: 451,
  enhanced: '4.7.1',
  text: 'Greylisted, please try again later',
};

/** The replies of the simulator addresses. Any other local part is an ordinary mailbox. */
function replyOf(part: string, attempts: number, messageId: string): SmtpReply {
  switch (part) {
    case 'bounced':
      return { code: 550, enhanced: '5.1.1', text: 'The mailbox does not exist' };
    case 'mailbox-full':
      return { code: 552, enhanced: '5.2.2', text: 'The mailbox is full' };
    case 'blocked':
      return { code: 550, enhanced: '5.7.1', text: 'Message rejected by policy' };
    case 'deferred':
      return attempts < 2 ? DEFERRED : accepted(messageId);
    default:
      break;
  }
  const deferrals = simulatedDeferrals(part);
  if (deferrals !== undefined) return attempts < deferrals ? DEFERRED : accepted(messageId);
  const reply = simulatedReply(part);
  return reply ? { ...reply, text: 'Simulated reply' } : accepted(messageId);
}

function accepted(messageId: string): SmtpReply {
  return {
    code: 250,
    enhanced: '2.0.0',
    text: `OK, stored in the test inbox as ${messageId.slice(-12)}`,
  };
}

function transcriptOf(
  message: Message,
  delivery: Delivery,
  reply: SmtpReply,
  startedAt: number,
): SmtpTranscript {
  const replyLine = `${reply.code}${reply.enhanced ? ` ${reply.enhanced}` : ''} ${reply.text}`;
  const lines: SmtpTranscript['lines'] = [];
  const say = (by: 'client' | 'server' | 'note', text: string) => lines.push({ atMs: 0, by, text });
  say('note', 'Simulated: nothing was sent');
  say('server', `220 ${MX} ESMTP`);
  say('client', 'EHLO postrider');
  say('server', `250-${MX}`);
  say('server', '250 PIPELINING');
  say('client', `MAIL FROM:<${message.id.slice(-12)}@bounces.simulator.test>`);
  say('server', '250 2.1.0 OK');
  say('client', `RCPT TO:<${delivery.recipient}>`);
  if (reply.code >= 400) {
    say('server', replyLine);
    return { startedAt, lines };
  }
  say('server', '250 2.1.5 OK');
  say('client', 'DATA');
  say('server', '354 Go ahead');
  say('note', 'The message');
  say('server', replyLine);
  return { startedAt, lines };
}
