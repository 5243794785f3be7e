import { encodeId } from '../../lib/ids.ts';
import { parseTranscript } from '../../mail/smtp-client/transcript.ts';
import { generatedMessageId } from '../content/message-content.ts';
import { isPending, messageStatus } from '../message-status.ts';
import { addressDomain } from '../queue-shard.ts';
import { explain, isFailureReason } from '../verdict/bounce-explanations.ts';
import type { StoredAttempt, StoredDelivery, StoredMessage } from './message-store.ts';

/** The public form of a message: the same in lists, lookups and the dashboard. */
export function publicMessage(message: StoredMessage) {
  const { deliveries } = message;
  return {
    id: encodeId('msg', message.id),
    status: messageStatus(deliveries.map((one) => one.status)),
    mode: message.mode,
    created_at: new Date(message.createdAtMs).toISOString(),
    scheduled_at:
      message.scheduledAtMs === null ? null : new Date(message.scheduledAtMs).toISOString(),
    template:
      message.templateKey === null
        ? null
        : { key: message.templateKey, version: message.templateVersion || ('draft' as const) },
    from: { email: message.sender, name: message.senderName },
    subject: message.subject,
    stream: message.stream,
    tags: message.tags,
    metadata: message.metadata,
    ttl_seconds: message.ttlSeconds,
    header_message_id: messageIdOf(message),
    recipients: deliveries.map(publicRecipient),
  };
}

/** The Message-ID header of the mail. */
function messageIdOf({ id, sender, headerMessageId }: StoredMessage): string {
  return `<${headerMessageId ?? generatedMessageId(id, addressDomain(sender))}>`;
}

function publicRecipient(delivery: StoredDelivery) {
  const waiting = isPending(delivery.status) && !delivery.leased;
  return {
    email: delivery.recipient,
    name: delivery.name,
    kind: delivery.kind,
    status: delivery.status,
    reason: delivery.reason,
    explanation: explanationOf(delivery),
    attempts: delivery.attempts,
    next_attempt_at: waiting ? isoTime(delivery.due_at) : null,
    finished_at: isoTime(delivery.finished_at),
    complained_at: isoTime(delivery.complained_at),
    smtp: delivery.smtp,
    bounce: delivery.bounce,
  };
}

/** Why the recipient did not get the message, as far as the verdict knows. */
function explanationOf({ status, reason, bounce }: StoredDelivery): string | null {
  if (status === 'failed' && isFailureReason(reason)) return explain(reason, 'failed');
  return bounce?.explanation ?? null;
}

export function publicAttempt(attempt: StoredAttempt) {
  return {
    recipient: attempt.recipient,
    number: attempt.number,
    started_at: new Date(attempt.startedAtMs).toISOString(),
    finished_at: new Date(attempt.finishedAtMs).toISOString(),
    outcome: attempt.outcome,
    smtp: attempt.smtp,
    bounce: attempt.bounce,
    transcript: publicTranscript(attempt),
  };
}

const SIDES = { client: 'us', server: 'them', note: 'note' } as const;

/**
 * Transcript times count from the start of the connection; the API counts from the start of the
 * attempt.
 */
function publicTranscript({ transcript, startedAtMs }: StoredAttempt) {
  if (transcript === null) return [];
  const { startedAt, lines } = parseTranscript(transcript);
  const offsetMs = Math.max(0, startedAt - startedAtMs);
  return lines.map(({ atMs, by, text }) => ({
    at_ms: Math.round(offsetMs + atMs),
    side: SIDES[by],
    text,
  }));
}

/** Times inside JSON are in PostgreSQL's format. */
function isoTime(text: string | null): string | null {
  return text === null ? null : new Date(text).toISOString();
}
