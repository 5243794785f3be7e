import { RefusedError } from '../../base/refused-error.ts';

/**
 * The bytes between 354 and the final dot, with a bound on what all sessions hold together. What is
 * too much is read on and thrown away, since the client hears our answer only after its final dot.
 */

export class HeldBytes {
  readonly #max: number;
  #held = 0;

  constructor(max: number) {
    this.#max = max;
  }

  take(bytes: number): boolean {
    if (this.#held + bytes > this.#max) return false;
    this.#held += bytes;
    return true;
  }

  give(bytes: number): void {
    this.#held -= bytes;
  }
}

export interface Data extends AsyncIterable<Buffer> {
  sizeExceeded: boolean;
}

/** The message goes to `work` while its bytes count as held: all of it, or only its beginning. */
export async function withData<T>(
  stream: Data,
  held: HeldBytes,
  work: (data: Buffer) => Promise<T>,
  beginningBytesMax = Number.POSITIVE_INFINITY,
): Promise<T> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  let full = false;
  try {
    for await (const whole of stream) {
      const chunk = whole.subarray(0, beginningBytesMax - bytes);
      if (full || stream.sizeExceeded || chunk.length === 0) continue;
      full = !held.take(chunk.length);
      if (full) {
        // What is refused anyhow makes room at once: two that hold half each would both be refused.
        held.give(bytes);
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
    return await work(Buffer.concat(chunks, bytes));
  } finally {
    held.give(bytes);
  }
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
