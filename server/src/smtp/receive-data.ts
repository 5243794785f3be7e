import type { MemoryReservation } from '../lib/memory/memory-budget.ts';
import { RefusedError } from '../lib/refused-error.ts';
import { completeLines } from '../mail/reports/report-beginning.ts';
import type { DataViolation, MessageData } from './message-data.ts';

/**
 * Receives the bytes between 354 and the final dot, within a memory budget shared by all sessions.
 * Data over the budget is read and discarded, because the client reads our reply only after its
 * final dot.
 */

/**
 * Passes the message to `work` while its memory is reserved: all of it, or its first lines up to
 * `bytesMax`.
 */
export async function withReceivedData<T>(
  stream: Pick<MessageData, 'sizeExceeded' | typeof Symbol.asyncIterator>,
  memory: MemoryReservation,
  work: (data: Buffer) => Promise<T>,
  bytesMax: number | undefined = Number.POSITIVE_INFINITY,
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

/** Rejects SMTP smuggling: no legitimate client sends such a line. */
export function rejectSmuggling({ hasAmbiguousEnd }: Pick<MessageData, 'hasAmbiguousEnd'>): void {
  if (!hasAmbiguousEnd) return;
  const detail = 'A line with a lone dot must begin and end with CR LF.';
  throw new RefusedError('malformed_request', detail);
}

const VIOLATIONS: Record<DataViolation, string> = {
  bare_cr: 'a CR without LF',
  bare_lf: 'an LF without CR',
  nul: 'a NUL byte',
};

/** Rejects bytes that other servers would read in another way than we do, or change. */
export function rejectUnsafeData({ violation }: Pick<MessageData, 'violation'>): void {
  if (violation === undefined) return;
  const detail = `The message contains ${VIOLATIONS[violation]}. Lines must end with CR LF.`;
  throw new RefusedError('malformed_request', detail);
}
