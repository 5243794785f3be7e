import { RefusedError } from '../../lib/refused-error.ts';
import type { PreparedMessage } from './prepare-message.ts';

/**
 * Spreads live mail of a stream that has a rate: each message gets the time from which it may be sent,
 * and waits in the queue until then. In memory and for this node alone, because asking the database
 * would cost every send a round trip. After a restart a stream starts at the present again.
 */
export class StreamPacer {
  /** When the next message of a stream may be sent. */
  readonly #nextAtMs = new Map<string, number>();

  /**
   * Called once for each request, just before its messages are stored. Throws, and changes nothing, if
   * so much of a stream waits already that they would be sent in weeks: neither their content nor their
   * records are kept forever.
   */
  pace(messages: readonly PreparedMessage[], nowMs: number): void {
    const paced = messages.filter(isPaced);
    for (const message of paced) {
      const waitMs = this.#startOf(message, nowMs) - nowMs;
      if (waitMs > WAIT_MAX_MS) throw tooMuchWaits(message, waitMs);
    }
    for (const message of paced) this.#paceOne(message, nowMs);
  }

  /** The messages were not stored, so the stream does not wait for them. */
  refund(messages: readonly PreparedMessage[]): void {
    for (const message of messages.filter(isPaced)) {
      const nextAtMs = this.#nextAtMs.get(keyOf(message));
      if (nextAtMs === undefined) continue;
      this.#nextAtMs.set(keyOf(message), nextAtMs - sendingTime(message));
    }
  }

  #paceOne(message: PacedMessage, nowMs: number): void {
    const key = keyOf(message);
    const startsAtMs = this.#startOf(message, nowMs);
    if (!this.#nextAtMs.has(key) && this.#nextAtMs.size >= STREAMS_MAX) this.#forget(nowMs);
    this.#nextAtMs.set(key, startsAtMs + sendingTime(message));
    const delayMs = Math.round(startsAtMs - nowMs);
    if (delayMs === 0) return;
    message.notBeforeMs = nowMs + delayMs;
    // Waiting for the stream must not use up the time for attempts. A TTL counts from the request.
    if (message.ttlSeconds !== null) return;
    const { schedule } = message;
    message.schedule = { ...schedule, expiresAtMs: schedule.expiresAtMs + delayMs };
  }

  #startOf(message: PreparedMessage, nowMs: number): number {
    return Math.max(nowMs, this.#nextAtMs.get(keyOf(message)) ?? 0);
  }

  /** Streams that do not wait start at the present anyway. */
  #forget(nowMs: number): void {
    for (const [key, atMs] of this.#nextAtMs) if (atMs <= nowMs) this.#nextAtMs.delete(key);
  }
}

type PacedMessage = PreparedMessage & { messagesPerMinute: number };

function isPaced(message: PreparedMessage): message is PacedMessage {
  const { messagesPerMinute, mode, schedule } = message;
  return messagesPerMinute !== null && mode === 'live' && schedule.scheduledAtMs === null;
}

function keyOf({ workspaceId, stream }: PreparedMessage): string {
  return `${workspaceId} ${stream}`;
}

function sendingTime({ messagesPerMinute, recipients }: PacedMessage): number {
  return (MINUTE_MS / messagesPerMinute) * recipients.length;
}

function tooMuchWaits({ stream, messagesPerMinute }: PacedMessage, waitMs: number): RefusedError {
  const detail =
    `At ${messagesPerMinute} per minute, mail of the stream ${stream} is already waiting for ` +
    `${WAIT_MAX_DAYS} days. Nothing was accepted.`;
  const retryAfterSeconds = Math.ceil((waitMs - WAIT_MAX_MS) / 1000);
  return new RefusedError('rate_limited', detail, { retryAfterSeconds });
}

const MINUTE_MS = 60_000;
const WAIT_MAX_DAYS = 30;
const WAIT_MAX_MS = WAIT_MAX_DAYS * 24 * 60 * MINUTE_MS;
const STREAMS_MAX = 20_000;
