import { RefusedError } from '../lib/refused-error.ts';

/**
 * The bytes between 354 and the final dot, with a bound on what all sessions hold together. What is
 * too much is read on and thrown away, since the client hears our answer only after its final dot.
 */

/** What every message may hold beside all others: most mail is no larger. */
const SMALL_MESSAGE_BYTES = 256 * 1024;
/** Of all the room, for what is larger than that. The rest is for beginnings. */
const LARGE_MESSAGES_SHARE = 3 / 4;
/** Of all the room, for the messages of one owner, when it has more than one. */
const OWNER_SHARE = 1 / 2;

export class MemoryBudget {
  readonly #max: number;
  readonly #usedByOwner = new Map<string, number>();
  #used = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** For one message. */
  reserve(owner: string): MemoryReservation {
    let mine = 0;
    return {
      tryGrow: (bytes) => {
        if (!this.#canGrow(owner, mine, bytes)) return false;
        mine += bytes;
        this.#add(owner, bytes);
        return true;
      },
      release: () => {
        this.#add(owner, -mine);
        mine = 0;
      },
    };
  }

  /** Who is alone has all the room: whatever the bound, a message that may be sent finds its place. */
  #canGrow(owner: string, mine: number, bytes: number): boolean {
    const held = this.#used + bytes;
    if (held > this.#max) return false;
    if (mine + bytes <= SMALL_MESSAGE_BYTES || this.#used === mine) return true;
    const owned = this.#usedByOwner.get(owner) ?? 0;
    const isOnlyOne = owned === mine;
    const ownerHasRoom = isOnlyOne || owned + bytes <= this.#max * OWNER_SHARE;
    return ownerHasRoom && held <= this.#max * LARGE_MESSAGES_SHARE;
  }

  #add(owner: string, bytes: number): void {
    this.#used += bytes;
    const owned = (this.#usedByOwner.get(owner) ?? 0) + bytes;
    if (owned === 0) this.#usedByOwner.delete(owner);
    else this.#usedByOwner.set(owner, owned);
  }
}

export interface MemoryReservation {
  /** False, and nothing is taken, when there is no room. */
  tryGrow(bytes: number): boolean;
  release(): void;
}

export interface DataStream extends AsyncIterable<Buffer> {
  sizeExceeded: boolean;
}

/** The message goes to `work` while its bytes count as held: all of it, or the lines it begins with. */
export async function withReceivedData<T>(
  stream: DataStream,
  memory: MemoryReservation,
  work: (data: Buffer) => Promise<T>,
  bytesMax = Number.POSITIVE_INFINITY,
): Promise<T> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  let overBudget = false;
  let truncated = false;
  try {
    for await (const received of stream) {
      const chunk = received.subarray(0, bytesMax - bytes);
      truncated ||= chunk.length < received.length;
      if (overBudget || stream.sizeExceeded || chunk.length === 0) continue;
      overBudget = !memory.tryGrow(chunk.length);
      if (overBudget) {
        // What is refused anyhow makes room at once: two that hold half each would both be refused.
        memory.release();
        bytes = 0;
        chunks.length = 0;
        continue;
      }
      bytes += chunk.length;
      chunks.push(chunk);
    }
    if (stream.sizeExceeded) {
      throw new RefusedError('body_too_large', 'The message is larger than the server takes.');
    }
    if (overBudget) {
      const detail = 'More mail is coming in than we can hold. Nothing was accepted.';
      throw new RefusedError('overloaded', detail, { retryAfterSeconds: 1 });
    }
    const data = Buffer.concat(chunks, bytes);
    return await work(truncated ? completeLines(data) : data);
  } finally {
    memory.release();
  }
}

/** Half a line says something else than the line does, and may end in half a CRLF. */
function completeLines(data: Buffer): Buffer {
  return data.subarray(0, data.lastIndexOf(LF) + 1);
}

const CR = 0x0d;
const LF = 0x0a;

/**
 * A dot alone on a line whose ends are not both CRLF is where servers disagree on the end of a
 * message, and what follows is then mail that nobody sent (CVE-2023-51766). No honest client makes
 * one.
 */
export function rejectSmuggling(data: Buffer): void {
  if (endsLine(data, 0) && data[0] === 0x2e && !endsWithCrlf(data, 0)) throw smugglingError();
  for (const opening of ['\n.', '\r.']) {
    for (let at = data.indexOf(opening); at !== -1; at = data.indexOf(opening, at + 2)) {
      const dot = at + 1;
      if (!endsLine(data, dot)) continue;
      const begins = data[at] === LF && data[at - 1] === CR;
      if (!begins || !endsWithCrlf(data, dot)) throw smugglingError();
    }
  }
}

function endsLine(data: Buffer, dot: number): boolean {
  return data[dot + 1] === CR || data[dot + 1] === LF;
}

function endsWithCrlf(data: Buffer, dot: number): boolean {
  return data[dot + 1] === CR && data[dot + 2] === LF;
}

function smugglingError(): RefusedError {
  const detail = 'A line with a lone dot does not begin and end with CR LF.';
  return new RefusedError('malformed_request', detail);
}
