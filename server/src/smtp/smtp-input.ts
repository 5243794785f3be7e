import type { Socket } from 'node:net';
import type { Clock } from '../lib/time/clock.ts';
import type { DataSource } from './message-data.ts';

/**
 * Reads a client's bytes when the session asks for them, as command lines or as message data. What
 * is not asked for stays in the socket, so a client that sends faster than it is served waits. The
 * idle timeout runs only while the client owes us input.
 */

export interface SmtpInputParts {
  clock: Clock;
  /** Time without a byte from the client (RFC 5321 section 4.5.3.2.7). */
  idleMs: number;
  onIdle(): void;
}

/** Every supported command is shorter; an AUTH response with an API key has a few hundred bytes. */
const LINE_BYTES_MAX = 4096;

/** Smaller chunks mean that the client has paused, so there is no need to yield. */
const YIELD_CHUNK_BYTES_MIN = 16 * 1024;

/** A chunk full of pipelined commands must not delay other sessions. */
const YIELD_LINES = 100;

const EMPTY = Buffer.alloc(0);
const LF = 0x0a;
const CR = 0x0d;

export class SmtpInput implements DataSource {
  readonly #parts: SmtpInputParts;
  #socket: Socket | undefined;
  #unread: Buffer = EMPTY;
  #lines = 0;
  #wake = (): void => {};
  readonly #onActivity = (): void => this.#wake();

  constructor(parts: SmtpInputParts) {
    this.#parts = parts;
  }

  attach(socket: Socket): void {
    this.#socket = socket;
    for (const event of ACTIVITY) socket.on(event, this.#onActivity);
  }

  /** Discards what arrived but was not read, and ends a read that is waiting. */
  detach(): void {
    this.#unread = EMPTY;
    const socket = this.#socket;
    if (!socket) return;
    this.#socket = undefined;
    for (const event of ACTIVITY) socket.off(event, this.#onActivity);
    while (socket.read() !== null);
    this.#wake();
  }

  /**
   * The next line without its line break; undefined when the connection has ended, and `too_long`
   * when the line exceeds any command.
   */
  async readLine(): Promise<Buffer | 'too_long' | undefined> {
    this.#lines += 1;
    if (this.#lines % YIELD_LINES === 0) await new Promise((resolve) => setImmediate(resolve));
    for (;;) {
      const end = this.#unread.indexOf(LF);
      if (end > LINE_BYTES_MAX || (end === -1 && this.#unread.length > LINE_BYTES_MAX)) {
        return 'too_long';
      }
      if (end !== -1) {
        const line = this.#unread.subarray(0, this.#unread[end - 1] === CR ? end - 1 : end);
        this.#unread = this.#unread.subarray(end + 1);
        return line;
      }
      const more = await this.#receive();
      if (more === undefined) return undefined;
      this.#unread = this.#unread.length === 0 ? more : Buffer.concat([this.#unread, more]);
    }
  }

  /** A client that sends at full speed takes turns with all others. */
  async readChunk(): Promise<Buffer | undefined> {
    const unread = this.#unread;
    this.#unread = EMPTY;
    if (unread.length > 0) return unread;
    const chunk = await this.#receive();
    if (chunk && chunk.length >= YIELD_CHUNK_BYTES_MIN) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    return chunk;
  }

  unread(bytes: Buffer): void {
    this.#unread = bytes;
  }

  /** Waits until a client that pipelines without reading has read our replies. */
  async untilFlushed(): Promise<void> {
    const socket = this.#socket;
    while (this.#socket && this.#socket === socket && socket.writableNeedDrain) {
      if (socket.destroyed) return;
      await this.#waitForActivity();
    }
  }

  async #receive(): Promise<Buffer | undefined> {
    for (;;) {
      const socket = this.#socket;
      if (!socket) return undefined;
      const chunk: Buffer | null = socket.read();
      if (chunk !== null) return chunk;
      if (socket.readableEnded || socket.destroyed) return undefined;
      await this.#waitForActivity();
    }
  }

  async #waitForActivity(): Promise<void> {
    const { clock, idleMs, onIdle } = this.#parts;
    const timer = clock.after(idleMs, onIdle);
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    timer.cancel();
  }
}

const ACTIVITY = ['readable', 'end', 'drain', 'error', 'close'] as const;
