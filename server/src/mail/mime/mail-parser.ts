import type { Clock } from '../../lib/clock.ts';
import { MailParserThread } from './mail-parser-thread.ts';
import { type ParsedMail, parseMail } from './parse-mail.ts';

/**
 * Parses mail without blocking the event loop. Small mail is parsed in place. Large or many-part mail
 * can take seconds and hundreds of megabytes, so it is parsed in worker threads: one for medium and
 * one for large mail, so that medium mail never waits for a huge one.
 */
export class MailParser {
  readonly #medium: MailParserThread;
  readonly #large: MailParserThread;

  constructor(clock: Clock) {
    this.#medium = new MailParserThread(clock, MEDIUM_MEMORY_MB);
    this.#large = new MailParserThread(clock, LARGE_MEMORY_MB);
  }

  /** Mail with different queue keys is parsed round-robin. */
  parse(queueKey: string, data: Buffer): Promise<ParsedMail> {
    if (isSmall(data)) return parseMail(data);
    const thread = data.length <= MEDIUM_BYTES_MAX ? this.#medium : this.#large;
    return thread.parse(queueKey, data);
  }

  async stop(): Promise<void> {
    await Promise.all([this.#medium.stop(), this.#large.stop()]);
  }
}

const SMALL_BYTES_MAX = 64 * 1024;
const SMALL_PARTS_MAX = 50;
const MEDIUM_BYTES_MAX = 1024 * 1024;
const MEDIUM_MEMORY_MB = 256;
const LARGE_MEMORY_MB = 768;

function isSmall(data: Buffer): boolean {
  if (data.length > SMALL_BYTES_MAX) return false;
  let parts = 0;
  for (let at = data.indexOf('\n--'); at !== -1; at = data.indexOf('\n--', at + 3)) parts += 1;
  return parts <= SMALL_PARTS_MAX;
}
