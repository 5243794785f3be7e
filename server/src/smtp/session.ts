import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { SMTPServer } from 'smtp-server';
import { SMTPConnection } from 'smtp-server/lib/smtp-connection.js';
import type { SMTPStream } from 'smtp-server/lib/smtp-stream.js';
import type { Clock, Timer } from '../lib/clock.ts';
import type { Origin } from './origin.ts';

/**
 * One connection of a client: the library's, with what every door of ours needs besides. Our replies
 * carry their own enhanced status codes, nobody stays for ever, and a session that must go goes
 * between two messages, never inside one.
 */

export interface SessionRules {
  clock: Clock;
  times: SessionTimes;
  disabledCommands: readonly string[];
  offersTls: boolean;
  /** Why this connection cannot be served, or undefined. Every one that is served leaves once. */
  enter(session: DoorSession): string | undefined;
  left(session: DoorSession): void;
}

export interface SessionTimes {
  /** For one message, from 354 to the final dot. */
  dataMs: number;
  /** For all of it. */
  lifeMs: number;
}

/** RFC 3463: a reply that brings its own status needs none of the library's. */
const OWN_STATUS = /^[245]\.\d{1,3}\.\d{1,3} /;

/** Below it a client has no more to say for the moment, and rests by itself. */
const PIECE_BYTES_MIN = 16 * 1024;

export class DoorSession extends SMTPConnection {
  readonly #rules: SessionRules;
  readonly #timers = new Set<Timer>();
  #dataTimer: Timer | undefined;
  #working = false;
  #leaving: string | undefined;
  #counted = false;

  constructor(server: SMTPServer, socket: Socket, rules: SessionRules, { ip, encrypted }: Origin) {
    super(server, socket, { remoteAddress: ip });
    this.#rules = rules;
    // The library believes its server in this, but ours has ports of both kinds, and TLS may end at a
    // proxy: then there is no second handshake to offer (RFC 3207 4.2).
    this.secure = encrypted || socket instanceof TLSSocket;
    this.session.secure = this.secure;
  }

  /** Whether a message is being taken: it is finished before the session goes. */
  get isWorking(): boolean {
    return this.#working;
  }

  /** The library waits a tenth of a second for clients that talk too soon; we do not. */
  override init(): void {
    this.#mayHalfClose(true);
    this._setListeners(() => {
      const refusal = this.#rules.enter(this);
      if (refusal !== undefined) return this.send(421, refusal);
      this.#counted = true;
      this.entered();
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
      feed(chunk, chunk.length < PIECE_BYTES_MIN ? done : (error) => setImmediate(done, error));
    return parser;
  }

  override send(code: number, data?: string | string[] | null, context?: string | false): void {
    const own = typeof data === 'string' && OWN_STATUS.test(data);
    super.send(code, data, own ? false : context);
  }

  handler_EXPN(_command: Buffer, callback: () => void): void {
    this.send(502, '5.5.1 There are no lists here.');
    callback();
  }

  /** A client that closes its side during the handshake is gone, and there is nobody to tell. */
  override upgrade(callback: () => void, secureCallback?: () => void): void {
    this.#mayHalfClose(false);
    super.upgrade(callback, secureCallback);
  }

  workBegins(): void {
    this.#mayHalfClose(true);
    this.#working = true;
    this.#dataTimer = this.#rules.clock.after(this.#rules.times.dataMs, () => {
      this.send(421, '4.4.2 The message did not arrive in time.');
      this.cutOff();
    });
  }

  dataEnded(): void {
    this.#dataTimer?.cancel();
  }

  /** After the reply to the final dot. */
  workEnded(): void {
    this.#working = false;
    this.dataEnded();
    if (this.#leaving !== undefined) this.leave(this.#leaving);
  }

  /** Says goodbye now, or after the message in hand. */
  leave(text: string): void {
    if (this.#working) this.#leaving = text;
    else this.send(421, text);
  }

  /** Without a word more. */
  cutOff(): void {
    this._socket.destroy();
  }

  override _onClose(): void {
    super._onClose();
    this.#dataTimer?.cancel();
    for (const timer of this.#timers) timer.cancel();
    if (!this.#counted) return;
    this.#counted = false;
    this.#rules.left(this);
  }

  /**
   * Exim closes its side right behind its final dot and QUIT, and waits for our reply: a server that
   * does the same at once would take the message and never say so, and get it again and again.
   */
  #mayHalfClose(may: boolean): void {
    const socket = this._socket;
    socket.allowHalfOpen = may;
    // The library answers only on sockets that are open in both directions.
    const readyState = { configurable: true, get: () => (socket.writable ? 'open' : 'closed') };
    if (may) Object.defineProperty(socket, 'readyState', readyState);
  }

  /** Before the greeting. */
  protected entered(): void {
    const { lifeMs } = this.#rules.times;
    this.after(lifeMs, () => this.leave('4.4.2 This connection has lasted long enough.'));
  }

  /** Not any more once the connection is closed. */
  protected after(delayMs: number, task: () => void): void {
    const timer = this.#rules.clock.after(delayMs, () => {
      this.#timers.delete(timer);
      task();
    });
    this.#timers.add(timer);
  }
}
