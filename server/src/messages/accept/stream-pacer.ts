import type { PreparedMessage } from './prepare-message.ts';

/**
 * Spreads live mail of a stream that has a rate: each message gets the time from which it may be sent,
 * and waits in the queue until then. In memory and for this node alone, because asking the database
 * would cost every send a round trip. After a restart a stream starts at the present again.
 */
export class StreamPacer {
  /** When the next message of a stream may be sent. */
  readonly #nextAtMs = new Map<string, number>();

  /** Called once for each message, just before it is stored. */
  pace(message: PreparedMessage, nowMs: number): void {
    const { messagesPerMinute, mode, schedule, workspaceId, stream, recipients } = message;
    if (messagesPerMinute === null || mode === 'test' || schedule.scheduledAtMs !== null) return;
    const key = `${workspaceId} ${stream}`;
    const startsAtMs = Math.max(nowMs, this.#nextAtMs.get(key) ?? 0);
    if (!this.#nextAtMs.has(key) && this.#nextAtMs.size >= STREAMS_MAX) this.#forget(nowMs);
    this.#nextAtMs.set(key, startsAtMs + (MINUTE_MS / messagesPerMinute) * recipients.length);
    const delayMs = Math.round(startsAtMs - nowMs);
    if (delayMs === 0) return;
    message.notBeforeMs = nowMs + delayMs;
    // Waiting for the stream must not use up the time for attempts. A TTL counts from the request.
    if (message.ttlSeconds !== null) return;
    message.schedule = { ...schedule, expiresAtMs: schedule.expiresAtMs + delayMs };
  }

  /** Streams that do not wait start at the present anyway. */
  #forget(nowMs: number): void {
    for (const [key, atMs] of this.#nextAtMs) if (atMs <= nowMs) this.#nextAtMs.delete(key);
  }
}

const MINUTE_MS = 60_000;
const STREAMS_MAX = 20_000;
