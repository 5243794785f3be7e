import type { Mode } from '../accounts/tenant-scope.ts';
import type { InboundAttachment, InboundMailbox } from '../events/event-types.ts';
import type { AuthenticationResults } from '../mail/authentication/authentication-results.ts';

/** An inbound message as it is stored, without its content. */
export interface InboundMessage {
  id: string;
  mode: Mode;
  receivedAtMs: number;
  /** The receiving domain of the first recipient. */
  domain: string;
  /** The envelope sender; empty for bounces and automatic replies. */
  mailFrom: string;
  /** The envelope recipients, as the client spelled them. */
  recipients: string[];
  /** The address in From; null if there is none. */
  sender: string | null;
  senderName: string | null;
  subject: string;
  /** Without angle brackets. */
  headerMessageId: string | null;
  /** The message of the workspace that it answers. */
  inReplyToMessageId: string | null;
  sizeBytes: number;
  details: InboundDetails;
}

/** What is stored as one value, because no statement needs its parts. */
export interface InboundDetails {
  to: InboundMailbox[];
  cc: InboundMailbox[];
  replyTo: InboundMailbox[];
  /** The Date header in RFC 3339; null if it has none that can be read. */
  date: string | null;
  /** Message-IDs without angle brackets. */
  inReplyTo: string | null;
  references: string[];
  attachments: InboundAttachment[];
  /** Null in test mode. */
  authentication: AuthenticationResults | null;
}

/** How a message is found by one of its addresses, whatever its case and spelling. */
export interface AddressKey {
  key: string;
  isSender: boolean;
  isRecipient: boolean;
}

export interface NewInboundMessage extends InboundMessage {
  workspaceId: string;
  addresses: AddressKey[];
  fingerprint: Buffer;
  raw: Buffer;
}
