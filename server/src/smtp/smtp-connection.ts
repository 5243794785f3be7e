import type { Socket } from 'node:net';
import { type SecureContext, TLSSocket } from 'node:tls';
import type { Clock, Timer } from '../lib/time/clock.ts';
import { SmtpInput } from './smtp-input.ts';

/**
 * The transport of a session: what the client sends, replies, the change to TLS, timers that end with
 * the connection, and how it is closed.
 */
export interface ConnectionParts {
  clock: Clock;
  /** Time without a byte from the client (RFC 5321 section 4.5.3.2.7). */
  idleMs: number;
  /** TLS may end at a proxy: then STARTTLS must not be offered (RFC 3207 section 4.2). */
  encrypted: boolean;
  /** Called once. */
  onClosed(): void;
}

/** Time for clients to close their side after we have closed ours. */
const CLOSE_MS = 5_000;

export class SmtpConnection {
  readonly input: SmtpInput;
  readonly #parts: ConnectionParts;
  readonly #timers = new Set<Timer>();
  #socket: Socket;
  #encrypted: boolean;
  /** `upgrading`: the TLS handshake is running and nothing may be written. */
  #state: 'open' | 'upgrading' | 'closing' | 'closed' = 'open';

  constructor(socket: Socket, parts: ConnectionParts) {
    this.#parts = parts;
    this.#socket = socket;
    this.#encrypted = parts.encrypted || socket instanceof TLSSocket;
    this.input = new SmtpInput({
      clock: parts.clock,
      idleMs: parts.idleMs,
      onIdle: () => this.closeWith('4.4.2 Timeout: closing the connection.'),
    });
    this.#prepare(socket);
  }

  get isOpen(): boolean {
    return this.#state === 'open';
  }

  get isEncrypted(): boolean {
    return this.#encrypted;
  }

  /** Starts to read what the client sends. */
  startReading(): void {
    this.input.attach(this.#socket);
  }

  /** The text starts with an enhanced status code (RFC 3463), except in 220, 334 and 354. */
  reply(code: number, ...lines: string[]): void {
    if (this.#state !== 'open' || !this.#socket.writable) return;
    const last = lines.length - 1;
    const text = lines.map((line, index) => `${code}${index < last ? '-' : ' '}${line}\r\n`);
    this.#socket.write(text.join(''));
  }

  /** Runs a task after a delay, unless the connection closes first. */
  schedule(delayMs: number, task: () => void): Timer {
    const timer = this.#parts.clock.after(delayMs, () => {
      this.#timers.delete(timer);
      task();
    });
    this.#timers.add(timer);
    return timer;
  }

  /** Replies to STARTTLS and changes to TLS. False if the connection ended instead. */
  async startTls(secureContext: SecureContext, handshakeMs: number): Promise<boolean> {
    // Commands pipelined after STARTTLS arrived in plaintext: anyone could have inserted them.
    this.input.detach();
    this.reply(220, '2.0.0 Ready to start TLS');
    const raw = this.#socket;
    // A client that closes its side during the handshake is gone; there is nothing to answer.
    raw.allowHalfOpen = false;
    this.#state = 'upgrading';
    const secure = new TLSSocket(raw, { isServer: true, secureContext });
    const timer = this.schedule(handshakeMs, () => secure.destroy());
    const completed = new Promise<boolean>((resolve) => {
      secure.once('secure', () => resolve(true)).once('close', () => resolve(false));
    });
    this.#socket = secure;
    this.#prepare(secure);
    if (!(await completed) || this.#state !== 'upgrading') {
      raw.destroy();
      return false;
    }
    timer.cancel();
    this.#state = 'open';
    this.#encrypted = true;
    this.input.attach(secure);
    return true;
  }

  closeWith(text: string): void {
    this.reply(421, text);
    this.close();
  }

  /**
   * Closes our side. What the client still sends is discarded, because it sees our close only after
   * its own bytes were read.
   */
  close(): void {
    if (this.#state === 'closing' || this.#state === 'closed') return;
    const socket = this.#socket;
    if (this.#state === 'upgrading') {
      socket.destroy();
      return;
    }
    this.#state = 'closing';
    this.input.detach();
    socket.end();
    socket.resume();
    this.schedule(CLOSE_MS, () => socket.destroy());
  }

  /** Closes without a reply. */
  destroy(): void {
    this.#socket.destroy();
  }

  /**
   * Exim half-closes the connection right after its final dot and QUIT, and still waits for our
   * reply. Closing in turn would accept the message without confirming it, and Exim would send it
   * again.
   */
  #prepare(socket: Socket): void {
    socket.allowHalfOpen = true;
    // Replies are written whole, so waiting for more to send only delays them.
    socket.setNoDelay(true);
    socket.on('error', () => {});
    socket.once('close', () => this.#onClosed());
  }

  #onClosed(): void {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    this.input.detach();
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
    this.#parts.onClosed();
  }
}
