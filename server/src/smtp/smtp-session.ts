import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { SMTPServer } from 'smtp-server';
import { SMTPConnection } from 'smtp-server/lib/smtp-connection.js';
import type { SMTPStream } from 'smtp-server/lib/smtp-stream.js';
import type { Clock, Timer } from '../lib/clock.ts';
import type { ClientOrigin } from './client-origin.ts';

/**
 * One connection of a client: the library's, with what every door of ours needs besides. Our replies
 * carry their own enhanced status codes, nobody stays for ever, and a session that must go goes
 * between two messages, never inside one.
 */

export interface SessionRules {
  clock: Clock;
  timeouts: SessionTimeouts;
  disabledCommands: readonly string[];
  offersTls: boolean;
  /** Why this connection cannot be served, or undefined. Every one that is served leaves once. */
  onReady(session: SmtpSession): string | undefined;
  onClosed(session: SmtpSession): void;
}

export interface SessionTimeouts {
  /** For one message, from 354 to the final dot. */
  dataMs: number;
  /** For all of it. */
  sessionMs: number;
}

/** RFC 3463: a reply that brings its own status needs none of the library's. */
const ENHANCED_STATUS = /^[245]\.\d{1,3}\.\d{1,3} /;

/** Below it a client has no more to say for the moment, and rests by itself. */
const YIELD_CHUNK_BYTES_MIN = 16 * 1024;

export class SmtpSession extends SMTPConnection {
  readonly #rules: SessionRules;
  readonly #timers = new Set<Timer>();
  #dataTimer: Timer | undefined;
  #processing = false;
  #disconnectReply: string | undefined;
  #admitted = false;

  constructor(
    server: SMTPServer,
    socket: Socket,
    rules: SessionRules,
    { ip, encrypted }: ClientOrigin,
  ) {
    super(server, socket, { remoteAddress: ip });
    this.#rules = rules;
    // The library believes its server in this, but ours has ports of both kinds, and TLS may end at a
    // proxy: then there is no second handshake to offer (RFC 3207 4.2).
    this.secure = encrypted || socket instanceof TLSSocket;
    this.session.secure = this.secure;
  }

  /** Whether a message is being taken: it is finished before the session goes. */
  get isProcessing(): boolean {
    return this.#processing;
  }

  /** The library waits a tenth of a second for clients that talk too soon; we do not. */
  override init(): void {
    this.#allowHalfClose(true);
    this._setListeners(() => {
      const refusal = this.#rules.onReady(this);
      if (refusal !== undefined) return this.send(421, refusal);
      this.#admitted = true;
      this.onAdmitted();
      this.connectionReady();
    });
  }

  /**
   * A client that sends as fast as it can is read two megabytes at a time, and everybody else waits
   * meanwhile. With a rest after each piece they take turns.
   */
  override _createParser(): SMTPStream {
    const parser = super._createParser();
    // Whatever a client said before it closed its side is answered by now.
    parser.once('finish', () => this.close());
    const feed = parser._feedDataStream.bind(parser);
    parser._feedDataStream = (chunk, done) =>
      feed(
        chunk,
        chunk.length < YIELD_CHUNK_BYTES_MIN ? done : (error) => setImmediate(done, error),
      );
    return parser;
  }

  override send(code: number, data?: string | string[] | null, context?: string | false): void {
    const own = typeof data === 'string' && ENHANCED_STATUS.test(data);
    super.send(code, data, own ? false : context);
  }

  handler_EXPN(_command: Buffer, callback: () => void): void {
    this.send(502, '5.5.1 There are no lists here.');
    callback();
  }

  /** A client that closes its side during the handshake is gone, and there is nobody to tell. */
  override upgrade(callback: () => void, secureCallback?: () => void): void {
    this.#allowHalfClose(false);
    super.upgrade(callback, secureCallback);
  }

  messageStarted(): void {
    this.#allowHalfClose(true);
    this.#processing = true;
    this.#dataTimer = this.#rules.clock.after(this.#rules.timeouts.dataMs, () => {
      this.send(421, '4.4.2 The message did not arrive in time.');
      this.destroySocket();
    });
  }

  messageReceived(): void {
    this.#dataTimer?.cancel();
  }

  /** After the reply to the final dot. */
  messageFinished(): void {
    this.#processing = false;
    this.messageReceived();
    if (this.#disconnectReply !== undefined) this.disconnect(this.#disconnectReply);
  }

  /** Says goodbye now, or after the message in hand. */
  disconnect(text: string): void {
    if (this.#processing) this.#disconnectReply = text;
    else this.send(421, text);
  }

  /** Without a word more. */
  destroySocket(): void {
    this._socket.destroy();
  }

  override _onClose(): void {
    super._onClose();
    this.#dataTimer?.cancel();
    for (const timer of this.#timers) timer.cancel();
    if (!this.#admitted) return;
    this.#admitted = false;
    this.#rules.onClosed(this);
  }

  /**
   * Exim closes its side right behind its final dot and QUIT, and waits for our reply: a server that
   * does the same at once would take the message and never say so, and get it again and again.
   */
  #allowHalfClose(allowed: boolean): void {
    const socket = this._socket;
    socket.allowHalfOpen = allowed;
    // The library answers only on sockets that are open in both directions.
    const readyState = { configurable: true, get: () => (socket.writable ? 'open' : 'closed') };
    if (allowed) Object.defineProperty(socket, 'readyState', readyState);
  }

  /** Before the greeting. */
  protected onAdmitted(): void {
    const { sessionMs: lifeMs } = this.#rules.timeouts;
    this.schedule(lifeMs, () => this.disconnect('4.4.2 This connection has lasted long enough.'));
  }

  /** Not any more once the connection is closed. */
  protected schedule(delayMs: number, task: () => void): void {
    const timer = this.#rules.clock.after(delayMs, () => {
      this.#timers.delete(timer);
      task();
    });
    this.#timers.add(timer);
  }
}
