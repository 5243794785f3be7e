import type { AuthenticationResults } from '../mail/authentication/authentication-results.ts';

/**
 * The closed list of event types. Modules append events of these types; webhooks, the feed, the
 * OpenAPI document and the dashboard use this list.
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
  'message.unsubscribed',
  'message.opened',
  'message.clicked',
  'inbound_message.received',
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
  'workspace.slowed',
  'workspace.paused',
  'workspace.released',
  'quota.warning',
  'quota.exceeded',
  'alarm.raised',
  'alarm.cleared',
  'audit.recorded',
] as const;

export type EventType = (typeof EVENT_TYPES)[number];

/**
 * Whether a type, or a family, contains what not every reader of events may see. Audit events are sent
 * only to readers that select them by name, which requires the right to read the audit log: `*` and an
 * unfiltered feed leave them out.
 */
export function isAuditType(type: string): boolean {
  return type.startsWith('audit.');
}

/** Why a receiver rejected a message. */
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
  /** An explanation for the sender. */
  explanation: string;
}

/** The receiver's last reply and where it came from. */
export interface SmtpFacts {
  code: number | null;
  enhanced: string | null;
  text: string;
  mx: string | null;
  ip: string | null;
  tls: string | null;
}

/** The report, possibly days later, when the result did not come over SMTP. */
export interface ReportFacts {
  /** Identifies the report, however often it arrives. */
  id: string;
  /** The server or program that wrote it. */
  reported_by: string | null;
  /** For a bounce: the server that rejected the message, when it was another one. */
  remote_mta?: string | null;
  /** For a bounce: the earlier status. Deferred means that the final dot was never confirmed. */
  previous_status?: 'delivered' | 'deferred';
  /** For a complaint: the feedback type of RFC 5965. */
  feedback_type?: string;
}

/** The data of every message.* event about one recipient. */
export interface DeliveryEventData {
  message_id: string;
  recipient: string;
  attempt: number;
  stream: string;
  metadata: Record<string, string>;
  tags: string[];
  bounce?: Bounce;
  smtp?: SmtpFacts;
  next_attempt_at?: string;
  reason?: string;
  report?: ReportFacts;
}

/** The data of `inbound_message.received`: the summary of the message, without its content. */
export interface InboundMessageEventData {
  id: string;
  mode: 'live' | 'test';
  received_at: string;
  /** The receiving domain. */
  domain: string;
  /** The sender is empty for bounces and automatic replies. */
  envelope: { from: string; to: string[] };
  /** Null if the mail has no address in From. */
  from: InboundMailbox | null;
  to: InboundMailbox[];
  cc: InboundMailbox[];
  reply_to: InboundMailbox[];
  subject: string;
  /** Without angle brackets, as all Message-IDs here. */
  message_id: string | null;
  in_reply_to: string | null;
  /** The message of the workspace that it answers. */
  in_reply_to_message_id: string | null;
  /** As the sender wrote it. */
  date: string | null;
  size_bytes: number;
  attachments: InboundAttachment[];
  /** Null in test mode, in which no server has delivered the mail. */
  authentication: AuthenticationResults | null;
}

export interface InboundMailbox {
  email: string;
  name: string | null;
}

export interface InboundAttachment {
  index: number;
  filename: string | null;
  content_type: string;
  size_bytes: number;
  content_id: string | null;
}
