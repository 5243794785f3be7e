import type { DeliveryStatus, MessageStatus } from '../message-status.ts';

export type RecipientKind = 'to' | 'cc' | 'bcc';

/** An accepted send, in its public form. */
export interface AcceptedMessage {
  id: string;
  status: MessageStatus;
  mode: 'live' | 'test';
  created_at: string;
  scheduled_at: string | null;
  template: { key: string; version: number | 'draft' } | null;
  stream: string;
  recipients: AcceptedRecipient[];
}

export interface AcceptedRecipient {
  email: string;
  kind: RecipientKind;
  status: DeliveryStatus;
  reason?: string;
}
