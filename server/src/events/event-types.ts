/**
 * The one closed list of what can be told. Rooms append events with these types; webhooks, the feed,
 * the OpenAPI document and the screens all read this list.
 */
export const EVENT_TYPES = [
  'message.accepted',
  'message.scheduled',
  'message.rescheduled',
  'message.cancelled',
  'message.suppressed',
  'message.deferred',
  'message.delivered',
  'message.bounced',
  'message.failed',
  'message.expired',
  'message.complained',
  'message.opened',
  'message.clicked',
  'domain.verified',
  'domain.degraded',
  'domain.claimed',
  'template.published',
  'suppression.created',
  'suppression.deleted',
  'api_key.created',
  'api_key.rotated',
  'api_key.expiring',
  'api_key.revoked',
  'webhook.disabled',
  'alarm.raised',
  'alarm.cleared',
] as const;

export type EventType = (typeof EVENT_TYPES)[number];

/** Why a receiver did not take a message. */
export const BOUNCE_REASONS = [
  'unknown_mailbox',
  'mailbox_full',
  'mailbox_disabled',
  'unknown_domain',
  'blocked_reputation',
  'blocked_policy',
  'authentication_failed',
  'content_rejected',
  'message_too_large',
  'rate_limited',
  'greylisted',
  'relaying_denied',
  'network_unreachable',
  'connection_lost',
  'timed_out',
  'tls_required',
  'tls_failed',
  'smtputf8_unsupported',
  'protocol_error',
  'unknown',
] as const;

export type BounceReason = (typeof BOUNCE_REASONS)[number];

export interface Bounce {
  class: 'hard' | 'soft' | 'block';
  reason: BounceReason;
  /** For the sender, in plain words. */
  explanation: string;
}

/** The receiver's last word and where it was said. */
export interface SmtpFacts {
  code: number | null;
  enhanced: string | null;
  text: string;
  mx: string | null;
  ip: string | null;
  tls: string | null;
}

/** The mail that told it, days later perhaps, where it was not said on the wire. */
export interface ReportFacts {
  /** The same for the same report, however often it arrives. */
  id: string;
  /** The server or program that wrote it. */
  reported_by: string | null;
  /** Of a bounce: the server that refused, when it was another one. */
  remote_mta?: string | null;
  /** Of a bounce: what the delivery was. Deferred is one whose final dot was never answered. */
  previous_status?: 'delivered' | 'deferred';
  /** Of a complaint: RFC 5965's word for it. */
  feedback_type?: string;
}

/** The data of every message.* event about one recipient. */
export interface DeliveryEventData {
  message_id: string;
  recipient: string;
  attempt: number;
  metadata: Record<string, string>;
  tags: string[];
  bounce?: Bounce;
  smtp?: SmtpFacts;
  next_attempt_at?: string;
  reason?: string;
  report?: ReportFacts;
}
