import type { SecureContextOptions } from 'node:tls';
import type { ReceiverSession } from './smtp-receiver-session.ts';

/** Says nothing more and closes the connection at once. */
export const HANG_UP = Symbol('hang up');
/** Never answers. */
export const SILENCE = Symbol('silence');

/**
 * A reply without its line end (`\n` separates lines), raw bytes as a Buffer, HANG_UP, SILENCE, or
 * undefined for the usual answer. A promise delays it: tests hold replies back by promises of their
 * own, never by sleeping.
 */
export type ScriptedReply = PlainReply | Promise<PlainReply>;
export type PlainReply = string | Buffer | typeof HANG_UP | typeof SILENCE | undefined;

export interface ReceiverScript {
  host?: string;
  port?: number;
  /** EHLO keywords; STARTTLS is added while `tls` is given and not yet in use. */
  keywords?: readonly string[];
  /** Key and certificate for STARTTLS, or from the first byte with `implicitTls`. */
  tls?: SecureContextOptions;
  implicitTls?: boolean;
  /** Answers 220 to STARTTLS, and the first bytes of the handshake with this. */
  brokenTls?: 'nonsense' | 'silence' | 'hang_up';
  /** Each reply goes out in writes of one byte. */
  oneByteAtATime?: boolean;
  /** Awaited before each of these bytes: how a test makes the receiver slow on its own clock. */
  beforeEachByte?: () => Promise<void>;
  onConnect?: (session: ReceiverSession) => ScriptedReply;
  onEhlo?: (name: string, session: ReceiverSession) => ScriptedReply;
  onHelo?: (name: string, session: ReceiverSession) => ScriptedReply;
  onStartTls?: (session: ReceiverSession) => ScriptedReply;
  onAuth?: (user: string, password: string, session: ReceiverSession) => ScriptedReply;
  onMail?: (from: string, session: ReceiverSession) => ScriptedReply;
  onRcpt?: (to: string, session: ReceiverSession) => ScriptedReply;
  onData?: (session: ReceiverSession) => ScriptedReply;
  /** While a message arrives, with the bytes so far; an answer here interrupts it. */
  onDataBytes?: (bytes: number, session: ReceiverSession) => PlainReply;
  /** The answer to the final dot. */
  onMessage?: (message: ReceivedMessage, session: ReceiverSession) => ScriptedReply;
  onRset?: (session: ReceiverSession) => ScriptedReply;
  onQuit?: (session: ReceiverSession) => ScriptedReply;
}

export interface ReceivedMessage {
  mailFrom: string;
  /** What followed the path: `SIZE=…`, `BODY=8BITMIME`, `SMTPUTF8`. */
  mailParameters: readonly string[];
  /** Those that were answered 2xx. */
  recipients: readonly string[];
  /** The message with its dots undone. */
  raw: Buffer;
  /** The reply to the final dot began with 2. */
  accepted: boolean;
  tls: ReceiverTls | null;
  session: ReceiverSession;
}

export interface ReceiverTls {
  version: string;
  servername: string | null;
}
