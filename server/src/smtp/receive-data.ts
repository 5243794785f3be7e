import type { MemoryReservation } from '../lib/memory-budget.ts';
import { RefusedError } from '../lib/refused-error.ts';

/**
 * Receives the bytes between 354 and the final dot, within a memory budget shared by all sessions.
 * Data over the budget is read and discarded, because the client reads our reply only after its
 * final dot.
 */

export interface DataStream extends AsyncIterable<Buffer> {
  sizeExceeded: boolean;
}

/**
 * Passes the message to `work` while its memory is reserved: all of it, or its first lines up to
 * `bytesMax`.
 */
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
        // Release right away: two messages that hold half of the budget each would otherwise both
        // fail.
        memory.release();
        bytes = 0;
        chunks.length = 0;
        continue;
      }
      bytes += chunk.length;
      chunks.push(chunk);
    }
    if (stream.sizeExceeded) {
      throw new RefusedError('body_too_large', 'The message exceeds the maximum size.');
    }
    if (overBudget) {
      const detail = 'Too much mail is being received right now. Nothing was accepted.';
      throw new RefusedError('overloaded', detail, { retryAfterSeconds: 1 });
    }
    const data = Buffer.concat(chunks, bytes);
    return await work(truncated ? completeLines(data) : data);
  } finally {
    memory.release();
  }
}

/** A partial line has another meaning than the whole line, and may end between CR and LF. */
function completeLines(data: Buffer): Buffer {
  return data.subarray(0, data.lastIndexOf(LF) + 1);
}

const CR = 0x0d;
const LF = 0x0a;

/**
 * Rejects SMTP smuggling (CVE-2023-51766). Servers disagree on whether a dot on a line without
 * proper CRLF ends the message; everything after it could become a forged message. No legitimate
 * client sends one.
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
  const detail = 'A line with a lone dot must begin and end with CR LF.';
  return new RefusedError('malformed_request', detail);
}
