import type { KeyObject } from 'node:crypto';
import type { Mode } from '../../accounts/tenant-scope.ts';
import type {
  Bounce,
  EventType,
  InboundMessageEventData,
  ReportFacts,
  SmtpFacts,
} from '../../events/event-types.ts';
import type { Hmac } from '../../lib/crypto/hmac.ts';
import type { CustomHeader, MessageHeader } from '../../messages/lookup/message-header-store.ts';

/**
 * What a format of webhook requests is. Each format is two pure functions: `render` turns an event
 * into the content, always the same for the same event, and `sign` turns the content into the
 * request of one attempt.
 */

export const WEBHOOK_FORMATS = [
  'postrider',
  'resend',
  'postmark',
  'sendgrid',
  'mailgun',
  'ses-sns',
] as const;

export type WebhookFormatName = (typeof WEBHOOK_FORMATS)[number];

export interface WebhookFormat {
  /** The event types that have an equivalent. Endpoints cannot subscribe to others. */
  types: readonly EventType[];
  keys: KeyKind;
  /**
   * Undefined if this event has no equivalent, although others of its type have. Without this
   * function, events are sent as they are stored.
   */
  render?(event: SourceEvent): object | undefined;
  /** Whether `render` uses the headers that the caller added, which take another lookup. */
  needsCustomHeaders?: true;
  /** For events about inbound messages, where they have an equivalent. */
  renderInbound?(event: InboundEvent): object;
  /** Whether `renderInbound` uses the content. */
  needsInboundContent?: true;
  sign(content: Buffer, signing: Signing): SignedRequest | Promise<SignedRequest>;
}

/**
 * `secret`: a Standard Webhooks secret. `text`: a secret whose characters are the key. `ec` and
 * `rsa`: a key pair, P-256 or 2048 bits with a certificate.
 */
export type KeyKind = 'secret' | 'text' | 'ec' | 'rsa';

export interface SigningKey {
  id: string;
  /** Under the shared secret; key pairs have one as well. */
  hmac: Hmac;
  /** Of key pairs. */
  privateKey?: KeyObject;
}

/** An event as formats see it. */
export interface SourceEvent {
  /** A UUID. */
  id: string;
  type: EventType;
  mode: Mode;
  createdAtMs: number;
  data: SourceData;
  /** Undefined for events without a message, and once the message has been deleted. */
  message: SourceMessage | undefined;
}

export type SourceMessage = MessageHeader & { custom?: readonly CustomHeader[] };

/** An event about an inbound message as formats see it. */
export interface InboundEvent {
  createdAtMs: number;
  data: InboundMessageEventData;
  /** Undefined if the format needs none, and once the content has been deleted. */
  content: InboundContent | undefined;
}

export interface InboundContent {
  /** The mail as it arrived. */
  raw: Buffer;
  text: string | null;
  html: string | null;
  headers: readonly { name: string; value: string }[];
  attachments: readonly { content: Uint8Array }[];
}

/** The data of events that have an equivalent somewhere; which fields are present depends on the type. */
export interface SourceData {
  message_id: string;
  recipient: string;
  attempt: number;
  stream: string;
  metadata: Record<string, string>;
  tags: string[];
  recipients?: { email: string; kind: 'to' | 'cc' | 'bcc'; status: string }[];
  scheduled_at?: string | null;
  bounce?: Bounce;
  smtp?: SmtpFacts | null;
  report?: ReportFacts;
  reason?: string;
  machine?: boolean;
  url?: string;
  suppression?: {
    id: string;
    email: string | null;
    domain: string | null;
    stream: string | null;
    reason: 'hard_bounce' | 'complaint' | 'manual' | 'unsubscribe';
    evidence: { message_id?: string } | null;
    created_at: string;
  };
}

/** What the signature of one attempt depends on. */
export interface Signing {
  /** Of the event, or of a subscription confirmation: a UUID. */
  eventId: string;
  createdAtMs: number;
  nowMs: number;
  endpointId: string;
  /** Newest first; two during the grace period of a rotation. */
  keys: readonly SigningKey[];
  /** Where this server is reachable. */
  baseUrl: string;
}

export interface SignedRequest {
  headers: Record<string, string>;
  body: Buffer;
}
