import type { SecureContextOptions } from 'node:tls';
import type { ReceiverSession } from './smtp-receiver-session.ts';

/** Closes the connection immediately without a reply. */
export const HANG_UP = Symbol('hang up');
/** Never replies. */
export const SILENCE = Symbol('silence');

/**
 * A reply without its line end (`\n` separates lines), raw bytes as a Buffer, HANG_UP, SILENCE, or
 * undefined for the default reply. A promise delays it: tests delay replies with their own promises,
 * never by sleeping.
 */
export type ScriptedReply = PlainReply | Promise<PlainReply>;
export type PlainReply = string | Buffer | typeof HANG_UP | typeof SILENCE | undefined;

export interface ReceiverScript {
  host?: string;
  port?: number;
  /** EHLO keywords; STARTTLS is added if `tls` is given and not yet in use. */
  keywords?: readonly string[];
  /** Key and certificate for STARTTLS, or for implicit TLS with `implicitTls`. */
  tls?: SecureContextOptions;
  implicitTls?: boolean;
  /** Replies 220 to STARTTLS, then breaks the handshake like this. */
  brokenTls?: 'nonsense' | 'silence' | 'hang_up';
  /** Writes each reply byte by byte. */
  oneByteAtATime?: boolean;
  /** Awaited before each of these bytes, so that a test can slow the receiver down on its own clock. */
  beforeEachByte?: () => Promise<void>;
  onConnect?: (session: ReceiverSession) => ScriptedReply;
  onEhlo?: (name: string, session: ReceiverSession) => ScriptedReply;
  onHelo?: (name: string, session: ReceiverSession) => ScriptedReply;
  onStartTls?: (session: ReceiverSession) => ScriptedReply;
  onAuth?: (user: string, password: string, session: ReceiverSession) => ScriptedReply;
  onMail?: (from: string, session: ReceiverSession) => ScriptedReply;
  onRcpt?: (to: string, session: ReceiverSession) => ScriptedReply;
  onData?: (session: ReceiverSession) => ScriptedReply;
  /** Called while a message arrives, with the byte count so far; a reply interrupts it. */
  onDataBytes?: (bytes: number, session: ReceiverSession) => PlainReply;
  /** The reply to the final dot. */
  onMessage?: (message: ReceivedMessage, session: ReceiverSession) => ScriptedReply;
  onRset?: (session: ReceiverSession) => ScriptedReply;
  onQuit?: (session: ReceiverSession) => ScriptedReply;
}

export interface ReceivedMessage {
  mailFrom: string;
  /** ESMTP parameters: `SIZE=…`, `BODY=8BITMIME`, `SMTPUTF8`. */
  mailParameters: readonly string[];
  /** Recipients with a 2xx reply. */
  recipients: readonly string[];
  /** The message without dot-stuffing. */
  raw: Buffer;
  /** Whether the reply to the final dot was 2xx. */
  accepted: boolean;
  tls: ReceiverTls | null;
  session: ReceiverSession;
}

export interface ReceiverTls {
  version: string;
  servername: string | null;
}
