import type { SmtpReply } from './reply-parser.ts';
import type { SmtpTranscript } from './transcript.ts';

/**
 * The results of the SMTP client: facts without interpretation. Whether a result means delivered,
 * deferred or bounced is decided elsewhere, in one place.
 */

/** The stage of the session. `body` is the message itself up to the reply to its final dot. */
export type SmtpStage =
  | 'connect'
  | 'greeting'
  | 'ehlo'
  | 'starttls'
  | 'auth'
  | 'mail'
  | 'rcpt'
  | 'data'
  | 'body';

export type SmtpFailure = SmtpRejection | SmtpError;

/** The receiver rejected something with a 4xx or 5xx reply. */
export interface SmtpRejection {
  kind: 'refused';
  stage: SmtpStage;
  reply: SmtpReply;
  afterFinalDot: false;
  staleConnection: boolean;
}

/** There was no valid reply, or our own policy forbids continuing. */
export interface SmtpError {
  kind: SmtpErrorKind;
  stage: SmtpStage;
  /** What happened, for people and logs. */
  detail: string;
  /** The whole message had been sent, so the receiver may have accepted it anyway. */
  afterFinalDot: boolean;
  /**
   * A reused connection closed, or the receiver sent 421, before it said anything about this
   * message. The message was not really tried, so a new connection may be used at once.
   */
  staleConnection: boolean;
}

export type SmtpErrorKind =
  // Network errors and protocol violations.
  | 'connection_refused'
  | 'network_unreachable'
  | 'connection_lost'
  | 'timed_out'
  | 'protocol_error'
  // Our policy forbids continuing with this receiver.
  | 'tls_not_offered'
  | 'tls_failed'
  | 'certificate_rejected'
  | 'auth_not_offered'
  | 'auth_needs_tls'
  // This receiver cannot accept this message; nothing of it was sent.
  | 'smtputf8_unsupported'
  | 'eightbit_unsupported'
  | 'message_too_large'
  // The message is not valid for any receiver; nothing of it was sent.
  | 'malformed_message'
  // We closed the connection ourselves.
  | 'aborted';

export interface SmtpSessionInfo {
  host: string;
  ip: string;
  port: number;
  tls: TlsInfo | null;
  /** The receiver's own name, in lower case, used to detect connections to ourselves. */
  receiverName: string;
}

export interface TlsInfo {
  /** `TLSv1.2` or `TLSv1.3`. */
  version: string;
  cipher: string;
  /** How the certificate was verified. */
  verified: 'no' | 'pkix' | 'dane_ta' | 'dane_ee';
}

export interface SmtpSendResult {
  /** One per recipient, in the given order. */
  recipients: readonly SmtpRecipientResult[];
  transcript: SmtpTranscript;
  session: SmtpSessionInfo;
  /** Counts from 1 on each connection. */
  messageNumber: number;
}

export type SmtpRecipientResult =
  | { recipient: string; accepted: true; reply: SmtpReply }
  | { recipient: string; accepted: false; failure: SmtpFailure };

export function smtpError(
  kind: SmtpErrorKind,
  stage: SmtpStage,
  detail: string,
  more: { afterFinalDot?: boolean; staleConnection?: boolean } = {},
): SmtpError {
  const { afterFinalDot = false, staleConnection = false } = more;
  return { kind, stage, detail, afterFinalDot, staleConnection };
}

export function smtpRejection(
  stage: SmtpStage,
  reply: SmtpReply,
  staleConnection = false,
): SmtpRejection {
  return { kind: 'refused', stage, reply, afterFinalDot: false, staleConnection };
}

/**
 * RFC 3463 code 4.3.2. Postscreen sends it to new clients until they reconnect, so a connection
 * that is kept open would never get through.
 */
export function isTemporarilyUnavailable(recipient: SmtpRecipientResult): boolean {
  if (recipient.accepted || recipient.failure.kind !== 'refused') return false;
  return recipient.failure.reply.enhanced === '4.3.2';
}
