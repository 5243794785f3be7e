import type { SmtpReply } from './reply-parser.ts';
import type { SmtpTranscript } from './transcript.ts';

/**
 * What leaves the SMTP client: facts, never a judgement. Whether a fact means delivered, deferred
 * or bounced is decided elsewhere, in one place.
 */

/** Where the conversation stood. `body` is the message itself up to the answer to its final dot. */
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

/** The receiver said no: a 4xx or 5xx reply. */
export interface SmtpRejection {
  kind: 'refused';
  stage: SmtpStage;
  reply: SmtpReply;
  afterFinalDot: false;
  staleConnection: boolean;
}

/** The receiver said nothing that counts, or we must not go on. */
export interface SmtpError {
  kind: SmtpErrorKind;
  stage: SmtpStage;
  /** For people and logs: what exactly happened. */
  detail: string;
  /** The whole message had left when this happened: it may have been accepted all the same. */
  afterFinalDot: boolean;
  /**
   * A reused connection ended before the receiver had said anything about this message (or it
   * answered 421). The message was not tried in earnest: a fresh connection may do so at once.
   */
  staleConnection: boolean;
}

export type SmtpErrorKind =
  // The network and the receiver's manners.
  | 'connection_refused'
  | 'network_unreachable'
  | 'connection_lost'
  | 'timed_out'
  | 'protocol_error'
  // Our policy forbids going on with this receiver.
  | 'tls_not_offered'
  | 'tls_failed'
  | 'certificate_rejected'
  | 'auth_not_offered'
  | 'auth_needs_tls'
  // This receiver cannot take this message; nothing of it was sent.
  | 'smtputf8_unsupported'
  | 'eightbit_unsupported'
  | 'message_too_large'
  // The message is not fit for any receiver; nothing of it was sent.
  | 'malformed_message'
  // We ended it ourselves.
  | 'aborted';

export interface SmtpSessionInfo {
  host: string;
  ip: string;
  port: number;
  tls: TlsInfo | null;
  /** The name the receiver gives itself, lower case: to notice that we talk to ourselves. */
  receiverName: string;
}

export interface TlsInfo {
  /** `TLSv1.2` or `TLSv1.3`. */
  version: string;
  cipher: string;
  /** How the certificate was checked. */
  verified: 'no' | 'pkix' | 'dane_ta' | 'dane_ee';
}

export interface SmtpSendResult {
  /** One per recipient, in the order they were given. */
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

export function smtpRejection(stage: SmtpStage, reply: SmtpReply, staleConnection = false): SmtpRejection {
  return { kind: 'refused', stage, reply, afterFinalDot: false, staleConnection };
}
