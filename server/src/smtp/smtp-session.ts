import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { SMTPServer } from 'smtp-server';
import { SMTPConnection } from 'smtp-server/lib/smtp-connection.js';
import type { SMTPStream } from 'smtp-server/lib/smtp-stream.js';
import type { Clock, Timer } from '../lib/clock.ts';
import type { ClientOrigin } from './client-origin.ts';

/**
 * One client connection: the library's connection with the behavior that all our SMTP services
 * share. Replies carry their own enhanced status codes, every session has a maximum duration, and a
 * session is closed only between messages, never inside one.
 */

export interface SessionRules {
  clock: Clock;
  timeouts: SessionTimeouts;
  disabledCommands: readonly string[];
  offersTls: boolean;
  /**
   * Returns the reason to refuse the connection, or undefined. An admitted session calls onClosed
   * once.
   */
  onReady(session: SmtpSession): string | undefined;
  onClosed(session: SmtpSession): void;
}

export interface SessionTimeouts {
  /** For one message, from 354 to the final dot. */
  dataMs: number;
  /** For the whole session. */
  sessionMs: number;
}

/** RFC 3463. Replies with an enhanced status code of their own get none from the library. */
const ENHANCED_STATUS = /^[245]\.\d{1,3}\.\d{1,3} /;

/** Smaller chunks mean that the client has paused, so there is no need to yield. */
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
    // The library derives this from the server, but ours serves both kinds of ports, and TLS may
    // end at a proxy: then STARTTLS must not be offered (RFC 3207 section 4.2).
    this.secure = encrypted || socket instanceof TLSSocket;
    this.session.secure = this.secure;
  }

  /** Whether a message is in progress; it is completed before the session is closed. */
  get isProcessing(): boolean {
    return this.#processing;
  }

  /** Unlike the library, does not wait 100 ms for clients that send before the greeting. */
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
   * A client that sends at full speed is read two megabytes at a time while all others wait.
   * Yielding after each chunk lets sessions take turns.
   */
  override _createParser(): SMTPStream {
    const parser = super._createParser();
    // Every command sent before the client closed its side has been answered by now.
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
    this.send(502, '5.5.1 EXPN is not supported.');
    callback();
  }

  /** A client that closes its side during the handshake is gone; there is nothing to answer. */
  override upgrade(callback: () => void, secureCallback?: () => void): void {
    this.#allowHalfClose(false);
    super.upgrade(callback, secureCallback);
  }

  messageStarted(): void {
    this.#allowHalfClose(true);
    this.#processing = true;
    this.#dataTimer = this.#rules.clock.after(this.#rules.timeouts.dataMs, () => {
      this.send(421, '4.4.2 Timed out while receiving the message.');
      this.destroySocket();
    });
  }

  messageReceived(): void {
    this.#dataTimer?.cancel();
  }

  /** Called after the reply to the final dot. */
  messageFinished(): void {
    this.#processing = false;
    this.messageReceived();
    if (this.#disconnectReply !== undefined) this.disconnect(this.#disconnectReply);
  }

  /** Sends 421 and closes, now or after the message in progress. */
  disconnect(text: string): void {
    if (this.#processing) this.#disconnectReply = text;
    else this.send(421, text);
  }

  /** Closes without a reply. */
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
   * Exim half-closes the connection right after its final dot and QUIT, and still waits for our
   * reply. Closing in turn would accept the message without confirming it, and Exim would send it
   * again.
   */
  #allowHalfClose(allowed: boolean): void {
    const socket = this._socket;
    socket.allowHalfOpen = allowed;
    // The library replies only on sockets that are open in both directions.
    const readyState = { configurable: true, get: () => (socket.writable ? 'open' : 'closed') };
    if (allowed) Object.defineProperty(socket, 'readyState', readyState);
  }

  /** Called before the greeting. */
  protected onAdmitted(): void {
    const { sessionMs } = this.#rules.timeouts;
    this.schedule(sessionMs, () => this.disconnect('4.4.2 Maximum session duration reached.'));
  }

  /** Runs a task after a delay, unless the connection closes first. */
  protected schedule(delayMs: number, task: () => void): void {
    const timer = this.#rules.clock.after(delayMs, () => {
      this.#timers.delete(timer);
      task();
    });
    this.#timers.add(timer);
  }
}
