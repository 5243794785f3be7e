import type { Socket } from 'node:net';
import { assert } from '../../lib/assert.ts';
import type { Clock, Timer } from '../../lib/time/clock.ts';
import { type ReceivedReply, ReplyParser } from './reply-parser.ts';
import { type SmtpError, type SmtpStage, smtpError } from './smtp-results.ts';

/**
 * One socket to a receiver. Replies are passed to their handlers in the order of the commands,
 * which is how pipelining matches them. Each reply has a deadline as a whole, so a receiver that
 * sends byte by byte gains no time. The first error closes the channel: the socket is destroyed and
 * the owner is notified once.
 */
export class CommandChannel {
  readonly #clock: Clock;
  readonly #reader = new ReplyParser();
  #socket: Socket;
  #pending: PendingReply[] = [];
  #error: SmtpError | undefined;
  #attached = true;
  #closedListener: (error: SmtpError) => void = () => {};
  #deadlineAt = Number.POSITIVE_INFINITY;
  #timer: Timer | undefined;
  #timerAt = Number.POSITIVE_INFINITY;

  constructor(socket: Socket, clock: Clock) {
    this.#socket = socket;
    this.#clock = clock;
    this.attach(socket);
  }

  get open(): boolean {
    return this.#error === undefined && this.#attached;
  }

  get error(): SmtpError | undefined {
    return this.#error;
  }

  set onClosed(listener: (error: SmtpError) => void) {
    this.#closedListener = listener;
  }

  /** Registers a handler for the next reply that is not yet expected. */
  expectReply(stage: SmtpStage, timeoutMs: number, handler: ReplyHandler): void {
    this.#pending.push({ stage, timeoutMs, handler });
    if (this.#pending.length === 1) this.setDeadline(timeoutMs);
  }

  /** False when the socket's buffer is full: wait for `drained` before writing a large block. */
  write(bytes: Buffer | string): boolean {
    return this.open && this.#socket.write(bytes);
  }

  /** Resolves when the buffer is empty or the channel is closed. */
  drained(): Promise<void> {
    if (!this.open || !this.#socket.writableNeedDrain) return Promise.resolve();
    const socket = this.#socket;
    return new Promise((resolve) => {
      socket.once('drain', done).once('close', done);
      function done(): void {
        socket.off('drain', done).off('close', done);
        resolve();
      }
    });
  }

  /** Writes one command and waits for its reply or an error. */
  command(
    line: string | null,
    stage: SmtpStage,
    timeoutMs: number,
  ): Promise<ReceivedReply | SmtpError> {
    if (this.#error) return Promise.resolve(this.#error);
    return new Promise((resolve) => {
      this.expectReply(stage, timeoutMs, { onReply: resolve, onError: resolve });
      if (line !== null) this.write(`${line}\r\n`);
    });
  }

  /** Sets the deadline of the first pending reply. */
  setDeadline(timeoutMs: number, nowMs = this.#clock.now()): void {
    this.#deadlineAt = nowMs + timeoutMs;
    // The timer is moved only when it would fire too late. When it fires early, it is set again, so
    // a busy connection sets one timer every few minutes instead of several per message.
    if (this.#timerAt <= this.#deadlineAt) return;
    this.#timer?.cancel();
    this.#startTimer(timeoutMs);
  }

  /** Detaches the socket for STARTTLS, unless unprotected bytes have already arrived. */
  detach(): Socket | SmtpError {
    assert(this.#pending.length === 0, 'no reply is pending when the socket is detached');
    // Plaintext injected after the 220 must never be read as if it had been protected by TLS.
    if (this.#reader.hasUnread)
      this.close('protocol_error', 'The receiver sent data before the TLS handshake.');
    if (this.#error) return this.#error;
    const socket = this.#socket;
    this.#attached = false;
    socket.off('data', this.#onData).off('end', this.#onEnd).off('close', this.#onEnd);
    return socket;
  }

  attach(socket: Socket): void {
    this.#socket = socket;
    this.#attached = true;
    socket.on('data', this.#onData).on('end', this.#onEnd).on('close', this.#onEnd);
    socket.on('error', this.#onError);
  }

  /** Fails everything that is pending. Only the first error counts. */
  close(kind: SmtpError['kind'], detail: string): void {
    if (this.#error) return;
    const expected = this.#pending;
    const error = smtpError(kind, expected[0]?.stage ?? 'mail', detail);
    this.#error = error;
    this.#pending = [];
    this.#timer?.cancel();
    this.#socket.destroy();
    for (const { handler: taker } of expected) taker.onError?.(error);
    this.#closedListener(error);
  }

  readonly #onData = (chunk: Buffer): void => {
    if (this.#error) return;
    const nowMs = this.#clock.now();
    this.#reader.push(chunk);
    while (this.open) {
      const received = this.#reader.next();
      if (!received) break;
      this.#dispatch(received, nowMs);
    }
    if (this.#reader.malformed !== null) this.close('protocol_error', this.#reader.malformed);
  };

  readonly #onEnd = (): void => {
    this.close('connection_lost', 'The receiver closed the connection.');
  };

  readonly #onError = (error: Error): void => {
    this.close('connection_lost', error.message);
  };

  #dispatch(received: ReceivedReply, nowMs: number): void {
    const { reply } = received;
    const current = this.#pending.shift();
    const next = this.#pending[0];
    if (next) this.setDeadline(next.timeoutMs, nowMs);
    else this.#deadlineAt = Number.POSITIVE_INFINITY;

    if (current) current.handler.onReply(received, nowMs);
    else if (reply.code !== 421) {
      this.close('protocol_error', `Unsolicited reply: ${reply.code} ${reply.text}`);
    }
    // RFC 5321 section 3.8: 421 may come at any time and means that the receiver closes.
    if (reply.code === 421) {
      this.close('connection_lost', `The receiver closed the session: 421 ${reply.text}`);
    }
  }

  #startTimer(delayMs: number): void {
    this.#timerAt = this.#clock.now() + delayMs;
    this.#timer = this.#clock.after(delayMs, () => {
      this.#timerAt = Number.POSITIVE_INFINITY;
      const leftMs = this.#deadlineAt - this.#clock.now();
      if (leftMs <= 0) this.close('timed_out', 'The receiver did not respond in time.');
      else if (leftMs < Number.POSITIVE_INFINITY) this.#startTimer(leftMs);
    });
  }
}

export interface ReplyHandler {
  onReply(received: ReceivedReply, nowMs: number): void;
  onError?(error: SmtpError): void;
}

interface PendingReply {
  stage: SmtpStage;
  timeoutMs: number;
  handler: ReplyHandler;
}
