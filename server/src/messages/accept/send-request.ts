import type { Bounce, SmtpFacts } from '../../events/event-types.ts';
import type { DeliveryStatus, MessageStatus } from '../message-status.ts';

/**
 * A send as the HTTP and SMTP listeners pass it on: its shape is valid, its values are not checked
 * yet.
 */
export interface SendRequest {
  /**
   * The API takes one recipient. Mail received over SMTP may name several, or none when all are
   * `bcc`.
   */
  to: AddressInput | AddressInput[];
  from?: AddressInput;
  cc?: AddressInput[];
  bcc?: AddressInput[];
  reply_to?: AddressInput | AddressInput[];
  subject?: string;
  html?: string;
  text?: string;
  variables?: Record<string, unknown>;
  template_key?: string;
  template_variables?: Record<string, unknown>;
  template_version?: number | 'draft';
  locale?: string;
  time_zone?: string;
  attachments?: AttachmentInput[];
  /** The API takes each name once. Mail received over SMTP may repeat one, so it passes a list. */
  headers?: Record<string, string> | [string, string][];
  metadata?: Record<string, string>;
  tags?: string[];
  tracking?: { opens?: boolean; clicks?: boolean };
  scheduled_at?: string;
  ttl_seconds?: number;
  /**
   * Names of `variables` that contain secrets. This is not a field of the API: it is for system
   * emails, whose links would let anyone who sees them sign in as the recipient.
   */
  secret_variables?: readonly string[];
}

export interface AddressInput {
  email: string;
  name?: string;
}

export interface AttachmentInput {
  filename: string;
  content: string;
  content_type?: string;
  content_id?: string;
}

export type RecipientKind = 'to' | 'cc' | 'bcc';

/** The response to an accepted send. */
export interface AcceptedMessage {
  id: string;
  status: MessageStatus;
  mode: 'live' | 'test';
  created_at: string;
  scheduled_at: string | null;
  template: { key: string; version: number | 'draft' } | null;
  recipients: AcceptedRecipient[];
}

export interface AcceptedRecipient {
  email: string;
  kind: RecipientKind;
  status: DeliveryStatus;
  reason?: string;
}

export interface RecipientState extends AcceptedRecipient {
  attempts: number;
  next_attempt_at: string | null;
  finished_at: string | null;
  smtp: SmtpFacts | null;
  bounce: Bounce | null;
}
