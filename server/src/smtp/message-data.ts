/**
 * The bytes between 354 and the final dot. They are decoded while they arrive: the dots that
 * clients add (RFC 5321 section 4.5.2) are removed, and only CRLF.CRLF ends the message.
 */

/** Bytes that must not be in mail (RFC 5321 section 2.3.8): servers disagree about their meaning. */
export type DataViolation = 'bare_cr' | 'bare_lf' | 'nul';

/**
 * What the last byte was: the start of a line after CRLF, the start of a line after a bare CR or
 * LF, or something in between. The data starts as if a CRLF preceded it.
 */
type Position = 'line' | 'dot' | 'dot_cr' | 'text' | 'cr' | 'odd_line' | 'odd_dot';

const NUL = 0x00;
const LF = 0x0a;
const CR = 0x0d;
const DOT = 0x2e;

export class DataDecoder {
  #position: Position = 'line';
  #violation: DataViolation | undefined;
  #hasAmbiguousEnd = false;

  /** The first violation so far, if any. */
  get violation(): DataViolation | undefined {
    return this.#violation;
  }

  /**
   * Whether some servers would have ended the message at a lone dot where we did not. What follows
   * would be a forged message to them (SMTP smuggling, CVE-2023-51766).
   */
  get hasAmbiguousEnd(): boolean {
    return this.#hasAmbiguousEnd;
  }

  /**
   * Decodes the next bytes in place, in one pass. `rest` is set when the message ended; it is what
   * the client sent after it.
   */
  decode(chunk: Buffer): { data: Buffer; rest: Buffer | undefined } {
    let position = this.#position;
    let length = 0;
    for (let index = 0; index < chunk.length; index++) {
      const byte = chunk[index] as number;
      // Nearly all bytes are inside a line, so they are not looked at any further.
      if (position !== 'text' || byte === CR || byte === LF || byte === NUL) {
        if (byte === LF && position === 'dot_cr') {
          return { data: chunk.subarray(0, length), rest: chunk.subarray(index + 1) };
        }
        const before = position;
        position = this.#next(before, byte);
        if ((position === 'dot' && before === 'line') || position === 'dot_cr') continue;
      }
      chunk[length] = byte;
      length += 1;
    }
    this.#position = position;
    return { data: chunk.subarray(0, length), rest: undefined };
  }

  #next(position: Position, byte: number): Position {
    if (byte === LF) {
      if (position === 'cr') return 'line';
      this.#hasAmbiguousEnd ||= position === 'dot' || position === 'odd_dot';
      this.#violation ??= 'bare_lf';
      return 'odd_line';
    }
    const afterBareCr = position === 'cr' || position === 'dot_cr';
    if (afterBareCr) this.#violation ??= 'bare_cr';
    this.#hasAmbiguousEnd ||= position === 'dot_cr';
    if (byte === CR) {
      this.#hasAmbiguousEnd ||= position === 'odd_dot';
      return position === 'dot' ? 'dot_cr' : 'cr';
    }
    if (byte === DOT && position === 'line') return 'dot';
    if (byte === DOT && (position === 'odd_line' || afterBareCr)) return 'odd_dot';
    if (byte === NUL) this.#violation ??= 'nul';
    return 'text';
  }
}

/** Where message data comes from: the session's connection. */
export interface DataSource {
  /** The bytes that arrived since the last call; undefined when the connection has ended. */
  readChunk(): Promise<Buffer | undefined>;
  /** Returns bytes that belong to the next command. */
  unread(bytes: Buffer): void;
}

/**
 * The rest of a larger message is received in turns. Otherwise the event loop would read and decode a
 * chunk of every connection in each iteration, and dozens of fast clients would hold it for 20 ms.
 */
const READ_AT_ONCE_BYTES_MAX = 256 * 1024;

export interface MessageDataOptions {
  bytesMax: number;
  /** Resolves when another chunk of a large message may be decoded. */
  nextTurn(): Promise<void>;
  onEnd(): void;
}

/** The client disconnected before the final dot. */
export class ClientDisconnected extends Error {
  constructor() {
    super('The client disconnected before the end of its message.');
    this.name = 'ClientDisconnected';
  }
}

export class MessageData implements AsyncIterable<Buffer> {
  readonly #source: DataSource;
  readonly #options: MessageDataOptions;
  readonly #decoder = new DataDecoder();
  #bytes = 0;
  #ended = false;

  constructor(source: DataSource, options: MessageDataOptions) {
    this.#source = source;
    this.#options = options;
  }

  get violation(): DataViolation | undefined {
    return this.#decoder.violation;
  }

  get hasAmbiguousEnd(): boolean {
    return this.#decoder.hasAmbiguousEnd;
  }

  get sizeExceeded(): boolean {
    return this.#bytes > this.#options.bytesMax;
  }

  get ended(): boolean {
    return this.#ended;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    while (!this.#ended) {
      const chunk = await this.#source.readChunk();
      if (chunk === undefined) throw new ClientDisconnected();
      if (this.#bytes > READ_AT_ONCE_BYTES_MAX) await this.#options.nextTurn();
      const { data, rest } = this.#decoder.decode(chunk);
      this.#bytes += data.length;
      if (rest !== undefined) {
        this.#ended = true;
        this.#source.unread(rest);
        this.#options.onEnd();
      }
      if (data.length > 0) yield data;
    }
  }

  /** Reads to the end. The client reads our reply only after its final dot. */
  async discard(): Promise<void> {
    for await (const _data of this);
  }
}
