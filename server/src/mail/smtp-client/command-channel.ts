import type { Socket } from 'node:net';
import { assert } from '../../lib/assert.ts';
import type { Clock, Timer } from '../../lib/clock.ts';
import { type ReceivedReply, ReplyParser } from './reply-parser.ts';
import { type SmtpStage, type SmtpError, smtpError } from './smtp-results.ts';

/**
 * One socket to a receiver. Commands go out, and each reply is handed to whoever expects it, in
 * the order the commands were sent (that order is all that pipelining has to tell replies apart).
 * Every reply has a deadline for the whole of it, so a receiver that drips bytes gains nothing.
 * After the first trouble the wire is lost: the socket is destroyed and the owner is told once.
 */
export class CommandChannel {
  readonly #clock: Clock;
  readonly #reader = new ReplyParser();
  #socket: Socket;
  #pending: PendingReply[] = [];
  #error: SmtpError | undefined;
  #closedListener: (trouble: SmtpError) => void = () => {};
  #deadlineAt = Number.POSITIVE_INFINITY;
  #timer: Timer | undefined;
  #timerAt = Number.POSITIVE_INFINITY;

  constructor(socket: Socket, clock: Clock) {
    this.#socket = socket;
    this.#clock = clock;
    this.attach(socket);
  }

  get open(): boolean {
    return this.#error === undefined;
  }

  get lost(): SmtpError | undefined {
    return this.#error;
  }

  set onLost(listener: (trouble: SmtpError) => void) {
    this.#closedListener = listener;
  }

  /** Announces one reply; `taker` gets it when its turn comes. */
  expectReply(stage: SmtpStage, timeoutMs: number, handler: ReplyHandler): void {
    this.#pending.push({ stage, timeoutMs, handler });
    if (this.#pending.length === 1) this.setDeadline(timeoutMs);
  }

  /** False when the socket's buffer is full: wait for `drained` before writing a large block. */
  write(bytes: Buffer | string): boolean {
    return this.open && this.#socket.write(bytes);
  }

  /** Resolves when the buffer has emptied, or when the wire is lost. */
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

  /** Writes one command and waits for its reply, or for the trouble that came instead. */
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

  /** The time left for the reply that is awaited first. */
  setDeadline(timeoutMs: number, nowMs = this.#clock.now()): void {
    this.#deadlineAt = nowMs + timeoutMs;
    // The timer is only moved when it would be late. When it fires early it looks again, so a busy
    // connection sets one timer in minutes instead of several for each message.
    if (this.#timerAt <= this.#deadlineAt) return;
    this.#timer?.cancel();
    this.#startTimer(timeoutMs);
  }

  /** Gives the socket away for STARTTLS, unless bytes came that TLS would not protect. */
  detach(): Socket | SmtpError {
    assert(this.#pending.length === 0, 'no reply is awaited when the socket is given away');
    // Plaintext injected behind the 220 must never be read as if it had come through TLS.
    if (this.#reader.hasUnread) this.close('protocol_error', 'The receiver sent more before TLS.');
    if (this.#error) return this.#error;
    const socket = this.#socket;
    socket.off('data', this.#onData).off('end', this.#onEnd).off('close', this.#onEnd);
    return socket;
  }

  attach(socket: Socket): void {
    this.#socket = socket;
    socket.on('data', this.#onData).on('end', this.#onEnd).on('close', this.#onEnd);
    socket.on('error', this.#onError);
  }

  /** Ends everything that is still awaited. Only the first reason counts. */
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
      this.close('protocol_error', `A reply to nothing: ${reply.code} ${reply.text}`);
    }
    // RFC 5321 3.8: 421 may come at any point and means that the receiver closes.
    if (reply.code === 421) {
      this.close('connection_lost', `The receiver closed the session: 421 ${reply.text}`);
    }
  }

  #startTimer(delayMs: number): void {
    this.#timerAt = this.#clock.now() + delayMs;
    this.#timer = this.#clock.after(delayMs, () => {
      this.#timerAt = Number.POSITIVE_INFINITY;
      const leftMs = this.#deadlineAt - this.#clock.now();
      if (leftMs <= 0) this.close('timed_out', 'The receiver did not answer in time.');
      else if (leftMs < Number.POSITIVE_INFINITY) this.#startTimer(leftMs);
    });
  }
}

export interface ReplyHandler {
  onReply(received: ReceivedReply, nowMs: number): void;
  onError?(trouble: SmtpError): void;
}

interface PendingReply {
  stage: SmtpStage;
  timeoutMs: number;
  handler: ReplyHandler;
}
