import { RefusedError } from '../lib/refused-error.ts';

/**
 * The bytes between 354 and the final dot, with a bound on what all sessions hold together. What is
 * too much is read on and thrown away, since the client hears our answer only after its final dot.
 */

/** What every message may hold beside all others: most mail is no larger. */
const BEGINNING_BYTES = 256 * 1024;
/** Of all the room, for what is larger than that. The rest is for beginnings. */
const LARGE_SHARE = 3 / 4;
/** Of all the room, for the messages of one owner, when it has more than one. */
const OWNER_SHARE = 1 / 2;

export class HeldBytes {
  readonly #max: number;
  readonly #byOwner = new Map<string, number>();
  #held = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** For one message. */
  hold(owner: string): Holding {
    let mine = 0;
    return {
      take: (bytes) => {
        if (!this.#hasRoom(owner, mine, bytes)) return false;
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
  #hasRoom(owner: string, mine: number, bytes: number): boolean {
    const held = this.#held + bytes;
    if (held > this.#max) return false;
    if (mine + bytes <= BEGINNING_BYTES || this.#held === mine) return true;
    const owned = this.#byOwner.get(owner) ?? 0;
    const isOnlyOne = owned === mine;
    const ownerHasRoom = isOnlyOne || owned + bytes <= this.#max * OWNER_SHARE;
    return ownerHasRoom && held <= this.#max * LARGE_SHARE;
  }

  #add(owner: string, bytes: number): void {
    this.#held += bytes;
    const owned = (this.#byOwner.get(owner) ?? 0) + bytes;
    if (owned === 0) this.#byOwner.delete(owner);
    else this.#byOwner.set(owner, owned);
  }
}

export interface Holding {
  /** False, and nothing is taken, when there is no room. */
  take(bytes: number): boolean;
  release(): void;
}

export interface Data extends AsyncIterable<Buffer> {
  sizeExceeded: boolean;
}

/** The message goes to `work` while its bytes count as held: all of it, or the lines it begins with. */
export async function withData<T>(
  stream: Data,
  held: Holding,
  work: (data: Buffer) => Promise<T>,
  beginningBytesMax = Number.POSITIVE_INFINITY,
): Promise<T> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  let full = false;
  let cut = false;
  try {
    for await (const whole of stream) {
      const chunk = whole.subarray(0, beginningBytesMax - bytes);
      cut ||= chunk.length < whole.length;
      if (full || stream.sizeExceeded || chunk.length === 0) continue;
      full = !held.take(chunk.length);
      if (full) {
        // What is refused anyhow makes room at once: two that hold half each would both be refused.
        held.release();
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
    if (full) {
      const detail = 'More mail is coming in than we can hold. Nothing was accepted.';
      throw new RefusedError('overloaded', detail, { retryAfterSeconds: 1 });
    }
    const data = Buffer.concat(chunks, bytes);
    return await work(cut ? wholeLines(data) : data);
  } finally {
    held.release();
  }
}

/** Half a line says something else than the line does, and may end in half a CRLF. */
function wholeLines(data: Buffer): Buffer {
  return data.subarray(0, data.lastIndexOf(LF) + 1);
}

const CR = 0x0d;
const LF = 0x0a;

/**
 * A dot alone on a line whose ends are not both CRLF is where servers disagree on the end of a
 * message, and what follows is then mail that nobody sent (CVE-2023-51766). No honest client makes
 * one.
 */
export function refuseSmuggling(data: Buffer): void {
  if (endsLine(data, 0) && data[0] === 0x2e && !endsWithCrlf(data, 0)) throw smuggled();
  for (const opening of ['\n.', '\r.']) {
    for (let at = data.indexOf(opening); at !== -1; at = data.indexOf(opening, at + 2)) {
      const dot = at + 1;
      if (!endsLine(data, dot)) continue;
      const begins = data[at] === LF && data[at - 1] === CR;
      if (!begins || !endsWithCrlf(data, dot)) throw smuggled();
    }
  }
}

function endsLine(data: Buffer, dot: number): boolean {
  return data[dot + 1] === CR || data[dot + 1] === LF;
}

function endsWithCrlf(data: Buffer, dot: number): boolean {
  return data[dot + 1] === CR && data[dot + 2] === LF;
}

function smuggled(): RefusedError {
  const detail = 'A line with a lone dot does not begin and end with CR LF.';
  return new RefusedError('malformed_request', detail);
}
