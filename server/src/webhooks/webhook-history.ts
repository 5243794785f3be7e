import { partitionsStartMs } from '../db/partitions.ts';
import type { Pool } from '../db/pool.ts';
import { EVENT_LOG_START, eventBody } from '../events/events-store.ts';
import type { Clock } from '../lib/clock.ts';
import { encodeId } from '../lib/ids.ts';
import { RefusedError } from '../lib/refused-error.ts';
import {
  type DeliveryCursor,
  type DeliveryFilter,
  type DeliveryPage,
  listDeliveries,
} from './webhook-delivery-list.ts';
import {
  earliestRemaining,
  findDelivery,
  findDeliveryEndpoint,
  listAttempts,
  replayEvents,
  replayFailed,
  replayOne,
  type StoredAttempt,
  type TimeRange,
  type WebhookDelivery,
} from './webhook-history-store.ts';
import type { Scope, Webhook } from './webhook-store.ts';
import { ENDPOINTS_MAX, type Webhooks } from './webhooks.ts';

/**
 * What an endpoint was sent, try by try, and sending it again. A replay keeps the event's id, so a
 * receiver that drops repeats by `webhook-id` is never told twice by mistake.
 */

export interface ReplayRange {
  fromMs: number;
  toMs: number;
  onlyFailed: boolean;
}

export interface ReplayResult {
  replayed: number;
  /** Where to go on when there was more than one request may queue. */
  nextFromMs: number | null;
}

/** One request queues at most this many. */
const REPLAY_MAX = 50_000;
const REPLAY_BATCH = 5_000;
/** Bounds the reading when an endpoint wants little of what is in the range. */
const SCANNED_MAX = 500_000;
/** How far writers that commit side by side are out of order. */
const OUT_OF_ORDER_MS = 10_000;

export class WebhookHistory {
  readonly #pool: Pool;
  readonly #clock: Clock;
  readonly #webhooks: Webhooks;
  readonly #wake: () => void;

  constructor(parts: { pool: Pool; clock: Clock; webhooks: Webhooks; wake: () => void }) {
    this.#pool = parts.pool;
    this.#clock = parts.clock;
    this.#webhooks = parts.webhooks;
    this.#wake = parts.wake;
  }

  /** Of all endpoints, or of the one that the filter names. */
  list(
    scope: Scope,
    filter: DeliveryFilter,
    page: { after: DeliveryCursor | undefined; limit: number },
  ): Promise<DeliveryPage> {
    return listDeliveries(this.#pool, scope, filter, page);
  }

  /** Of an endpoint that must exist. */
  async listForEndpoint(
    scope: Scope,
    webhookId: string,
    filter: Omit<DeliveryFilter, 'webhookId'>,
    page: { after: DeliveryCursor | undefined; limit: number },
  ): Promise<DeliveryPage> {
    await this.#webhooks.get(scope, webhookId);
    return this.list(scope, { ...filter, webhookId }, page);
  }

  async get(scope: Scope, webhookId: string, deliveryId: string) {
    await this.#webhooks.get(scope, webhookId);
    const eventId = xorIds(webhookId, deliveryId);
    const found = await findDelivery(this.#pool, scope, webhookId, eventId);
    if (!found) throw deliveryNotFound();
    const tries = await listAttempts(this.#pool, scope, webhookId, eventId);
    const { delivery, event } = found;
    return {
      ...publicDelivery(delivery),
      body: event ? eventBody({ ...event, id: eventId, mode: scope.mode }) : null,
      tries: tries.map(publicAttempt),
    };
  }

  /** By its own id alone, which tells the event only to who knows the endpoint. */
  async find(scope: Scope, deliveryId: string) {
    const endpoints = await this.#webhooks.list(scope, { limit: ENDPOINTS_MAX });
    const candidates = endpoints.map(({ id }) => ({
      webhookId: id,
      eventId: xorIds(id, deliveryId),
    }));
    const webhookId = await findDeliveryEndpoint(this.#pool, scope, candidates);
    if (webhookId === undefined) throw deliveryNotFound();
    return this.get(scope, webhookId, deliveryId);
  }

  async replayDelivery(scope: Scope, webhookId: string, deliveryId: string): Promise<ReplayResult> {
    this.#refuseDisabled(await this.#webhooks.get(scope, webhookId));
    const eventId = xorIds(webhookId, deliveryId);
    const nowMs = this.#clock.now();
    const again = await replayOne(this.#pool, scope, webhookId, eventId, nowMs);
    if (!again && !(await findDelivery(this.#pool, scope, webhookId, eventId)))
      throw deliveryNotFound();
    this.#wake();
    return { replayed: again ? 1 : 0, nextFromMs: null };
  }

  async replayRange(scope: Scope, webhookId: string, range: ReplayRange): Promise<ReplayResult> {
    this.#refuseDisabled(await this.#webhooks.get(scope, webhookId));
    const replayed = range.onlyFailed
      ? await this.#replayFailed(scope, webhookId, range)
      : await this.#replayEvents(scope, webhookId, range);
    this.#wake();
    return replayed;
  }

  async #replayFailed(scope: Scope, webhookId: string, range: TimeRange): Promise<ReplayResult> {
    let replayed = 0;
    while (replayed < REPLAY_MAX) {
      const nowMs = this.#clock.now();
      const step = await replayFailed(this.#pool, scope, webhookId, range, REPLAY_BATCH, nowMs);
      replayed += step;
      if (step < REPLAY_BATCH) return { replayed, nextFromMs: null };
    }
    // Those just queued have not failed any more: the same range leads to the others.
    return { replayed, nextFromMs: range.fromMs };
  }

  async #replayEvents(scope: Scope, webhookId: string, range: TimeRange): Promise<ReplayResult> {
    // Events are kept for longer than deliveries: for older ones there is no place any more.
    const oldestMs = await partitionsStartMs(this.#pool, 'webhook_deliveries');
    let place = EVENT_LOG_START;
    let replayed = 0;
    let scanned = 0;
    let latestMs = range.fromMs;
    while (replayed < REPLAY_MAX && scanned < SCANNED_MAX) {
      const nowMs = this.#clock.now();
      const step = await replayEvents(
        this.#pool,
        scope,
        webhookId,
        { ...range, oldestMs },
        place,
        REPLAY_BATCH,
        nowMs,
      );
      replayed += step.replayed;
      scanned += step.scanned;
      place = step.next;
      latestMs = Math.max(latestMs, step.latestMs ?? 0);
      if (step.scanned < REPLAY_BATCH) return { replayed, nextFromMs: null };
    }
    // What is queued is passed over by the next request, which may well begin before it: some events
    // come twice rather than one never.
    if (scanned < SCANNED_MAX) {
      const left = { ...range, oldestMs };
      const nextFromMs = await earliestRemaining(this.#pool, scope, left, place, SCANNED_MAX);
      return { replayed, nextFromMs };
    }
    // Who has looked through as much as one request may must not begin with the same again.
    return { replayed, nextFromMs: Math.max(range.fromMs + 1, latestMs - OUT_OF_ORDER_MS) };
  }

  #refuseDisabled(webhook: Webhook): void {
    if (webhook.enabled) return;
    const detail = 'This endpoint is switched off. Set `enabled` to true, then replay.';
    throw new RefusedError('conflict', detail);
  }
}

export function publicDelivery(delivery: WebhookDelivery) {
  const { status, leased, dueAtMs, webhookId, messageId } = delivery;
  return {
    id: encodeId('whd', xorIds(webhookId, delivery.eventId)),
    webhook_id: encodeId('whk', webhookId),
    event_id: encodeId('evt', delivery.eventId),
    event_type: delivery.eventType,
    message_id: messageId === null ? null : encodeId('msg', messageId),
    status,
    tries_count: delivery.tries,
    created_at: new Date(delivery.createdAtMs).toISOString(),
    next_try_at: status === 'pending' && !leased ? timeOrNull(dueAtMs) : null,
    finished_at: timeOrNull(delivery.finishedAtMs),
    last_status: delivery.lastStatus,
    last_error: delivery.lastError,
  };
}

function publicAttempt(one: StoredAttempt) {
  return {
    number: one.number,
    started_at: new Date(one.startedAtMs).toISOString(),
    duration_ms: one.durationMs,
    url: one.url,
    request_headers: one.headers,
    status: one.status,
    response_body: one.answer,
    error: one.error,
  };
}

function deliveryNotFound(): RefusedError {
  return new RefusedError('not_found', 'There is no webhook delivery with this id.');
}

function timeOrNull(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}

/**
 * Converts between the id of a webhook delivery and the id of its event. A delivery is one event for
 * one endpoint, and its id is the event's UUID with the random end XORed with the endpoint's. It is
 * unique, sorts by time and needs neither a column nor an index; applying it twice gives the event's
 * id back.
 */
export function xorIds(webhookId: string, eventOrDeliveryId: string): string {
  const tail = BigInt(`0x${webhookId.slice(24)}`) ^ BigInt(`0x${eventOrDeliveryId.slice(24)}`);
  return eventOrDeliveryId.slice(0, 24) + tail.toString(16).padStart(12, '0');
}
