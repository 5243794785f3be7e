import { TaskThread } from '../../lib/threads/task-thread.ts';
import type { Clock } from '../../lib/time/clock.ts';
import {
  HEADER_BYTES_MAX,
  isAtMost,
  malformedMail,
  type ParsedMail,
  type ParseOptions,
  parseMail,
} from './parse-mail.ts';

/**
 * Parses mail without blocking the event loop. Small mail is parsed in place. Large mail, or mail
 * with many lines or parts, can take seconds and hundreds of megabytes, so it is parsed in worker threads: one for medium and
 * one for large mail, so that medium mail never waits for a huge one.
 */
export class MailParser {
  readonly #medium: TaskThread<ParseTask, ParsedMail>;
  readonly #large: TaskThread<ParseTask, ParsedMail>;

  constructor(clock: Clock) {
    this.#medium = parserThread(clock, MEDIUM_MEMORY_MB);
    this.#large = parserThread(clock, LARGE_MEMORY_MB);
  }

  /** Mail with different queue keys is parsed round-robin. */
  parse(
    queueKey: string,
    data: Buffer,
    options: ParseOptions = { forSending: true },
  ): Promise<ParsedMail> {
    if (isSmall(data)) return parseMail(data, options);
    const thread = data.length <= MEDIUM_BYTES_MAX ? this.#medium : this.#large;
    return thread.run(queueKey, { data, options });
  }

  async stop(): Promise<void> {
    await Promise.all([this.#medium.stop(), this.#large.stop()]);
  }
}

export interface ParseTask {
  data: Uint8Array;
  options: ParseOptions;
}

function parserThread(clock: Clock, memoryMb: number): TaskThread<ParseTask, ParsedMail> {
  return new TaskThread({
    clock,
    memoryMb,
    entry: new URL('./mail-parser-worker.ts', import.meta.url),
    label: 'Parsing the message',
    tooComplex: () => malformedMail('The message is too complex to parse.'),
  });
}

const SMALL_BYTES_MAX = 64 * 1024;
const SMALL_HEADER_BYTES_MAX = 8 * 1024;
/** Each can begin a group of addresses in another one, which is parsed again at every level. */
const SMALL_HEADER_COLONS_MAX = 500;
const SMALL_LINES_MAX = 1_000;
const SMALL_PARTS_MAX = 50;
const MEDIUM_BYTES_MAX = 1024 * 1024;
const MEDIUM_MEMORY_MB = 256;
const LARGE_MEMORY_MB = 768;

/**
 * Whether parsing takes a few milliseconds at most. A line or a part costs far more than its bytes, and
 * so do addresses and encoded words in the header.
 */
export function isSmall(data: Buffer): boolean {
  if (data.length > SMALL_BYTES_MAX) return false;
  const header = data.subarray(0, headerBytes(data));
  return (
    isAtMost(data, '\n', SMALL_LINES_MAX) &&
    isAtMost(data, '\n--', SMALL_PARTS_MAX) &&
    header.length <= SMALL_HEADER_BYTES_MAX &&
    isAtMost(header, ':', SMALL_HEADER_COLONS_MAX)
  );
}

/** The parser ends the header at the first blank line, whether it has LF or CRLF. */
function headerBytes(data: Buffer): number {
  if (data[0] === LF || (data[0] === CR && data[1] === LF)) return 0;
  const ends = ['\n\n', '\n\r\n'].map((end) => data.indexOf(end)).filter((at) => at !== -1);
  return Math.min(data.length, ...ends);
}

/** The header as text, one character for each byte; without what the parser would refuse. */
export function headerText(data: Buffer): string {
  return data.toString('latin1', 0, Math.min(headerBytes(data) + 1, HEADER_BYTES_MAX));
}

const CR = 0x0d;
const LF = 0x0a;
