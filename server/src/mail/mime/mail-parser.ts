import type { Clock } from '../../lib/clock.ts';
import { readMessage, type Submitted } from '../../smtp/submission/mail-to-send-request.ts';
import { ReadingThread } from './mail-parser-thread.ts';

/**
 * Reads mail without harm to anybody else. Small mail is read at once. What is large, or made of
 * many parts, costs the parser up to seconds and hundreds of megabytes, so it is read apart; and
 * what is only a bit larger than small does not wait for what is huge.
 */
export class MailReader {
  readonly #middle: ReadingThread;
  readonly #large: ReadingThread;

  constructor(clock: Clock) {
    this.#middle = new ReadingThread(clock, MIDDLE_MEMORY_MB);
    this.#large = new ReadingThread(clock, LARGE_MEMORY_MB);
  }

  read(workspaceId: string, data: Buffer, recipients: readonly string[]): Promise<Submitted> {
    if (isSmall(data)) return readMessage(data, recipients);
    const thread = data.length <= MIDDLE_BYTES_MAX ? this.#middle : this.#large;
    return thread.read(workspaceId, { data, recipients });
  }

  async stop(): Promise<void> {
    await Promise.all([this.#middle.stop(), this.#large.stop()]);
  }
}

const SMALL_BYTES_MAX = 64 * 1024;
const SMALL_PARTS_MAX = 50;
const MIDDLE_BYTES_MAX = 1024 * 1024;
const MIDDLE_MEMORY_MB = 256;
const LARGE_MEMORY_MB = 768;

function isSmall(data: Buffer): boolean {
  if (data.length > SMALL_BYTES_MAX) return false;
  let parts = 0;
  for (let at = data.indexOf('\n--'); at !== -1; at = data.indexOf('\n--', at + 3)) parts += 1;
  return parts <= SMALL_PARTS_MAX;
}
