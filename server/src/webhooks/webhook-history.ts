import { partitionsBegin } from '../db/partitions.ts';
import type { Pool } from '../db/pool.ts';
import { eventBody } from '../events/events-store.ts';
import { LEDGER_START } from '../events/events-store.ts';
import type { Clock } from '../lib/clock.ts';
import { encodeId } from '../lib/ids.ts';
import { RefusedError } from '../lib/refused-error.ts';
import { mixIds } from './delivery-id.ts';
import {
  type DeliveryFilter,
  type DeliveryPage,
  type DeliveryPlace,
  listDeliveries,
} from './delivery-list-store.ts';
import {
  earliestLeft,
  findDelivery,
  findEndpointOf,
  listTries,
  replayEvents,
  replayFailed,
  replayOne,
  type TimeRange,
  type WebhookDelivery,
  type WebhookTry,
} from './history-store.ts';
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

export interface Replayed {
  replayed: number;
  /** Where to go on when there was more than one request may queue. */
  nextFromMs: number | null;
}

/** One request queues at most this many. */
const REPLAYED_MAX = 50_000;
const STEP = 5_000;
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
    page: { after: DeliveryPlace | undefined; limit: number },
  ): Promise<DeliveryPage> {
    return listDeliveries(this.#pool, scope, filter, page);
  }

  /** Of an endpoint that must exist. */
  async listOf(
    scope: Scope,
    webhookId: string,
    filter: Omit<DeliveryFilter, 'webhookId'>,
    page: { after: DeliveryPlace | undefined; limit: number },
  ): Promise<DeliveryPage> {
    await this.#webhooks.get(scope, webhookId);
    return this.list(scope, { ...filter, webhookId }, page);
  }

  async get(scope: Scope, webhookId: string, deliveryId: string) {
    await this.#webhooks.get(scope, webhookId);
    const eventId = mixIds(webhookId, deliveryId);
    const found = await findDelivery(this.#pool, scope, webhookId, eventId);
    if (!found) throw noDelivery();
    const tries = await listTries(this.#pool, scope, webhookId, eventId);
    const { delivery, event } = found;
    return {
      ...publicDelivery(delivery),
      body: event ? eventBody({ ...event, id: eventId, mode: scope.mode }) : null,
      tries: tries.map(publicTry),
    };
  }

  /** By its own id alone, which tells the event only to who knows the endpoint. */
  async find(scope: Scope, deliveryId: string) {
    const endpoints = await this.#webhooks.list(scope, { limit: ENDPOINTS_MAX });
    const candidates = endpoints.map(({ id }) => ({
      webhookId: id,
      eventId: mixIds(id, deliveryId),
    }));
    const webhookId = await findEndpointOf(this.#pool, scope, candidates);
    if (webhookId === undefined) throw noDelivery();
    return this.get(scope, webhookId, deliveryId);
  }

  async replayDelivery(scope: Scope, webhookId: string, deliveryId: string): Promise<Replayed> {
    this.#refuseDisabled(await this.#webhooks.get(scope, webhookId));
    const eventId = mixIds(webhookId, deliveryId);
    const nowMs = this.#clock.now();
    const again = await replayOne(this.#pool, scope, webhookId, eventId, nowMs);
    if (!again && !(await findDelivery(this.#pool, scope, webhookId, eventId))) throw noDelivery();
    this.#wake();
    return { replayed: again ? 1 : 0, nextFromMs: null };
  }

  async replayRange(scope: Scope, webhookId: string, range: ReplayRange): Promise<Replayed> {
    this.#refuseDisabled(await this.#webhooks.get(scope, webhookId));
    const replayed = range.onlyFailed
      ? await this.#replayFailed(scope, webhookId, range)
      : await this.#replayEvents(scope, webhookId, range);
    this.#wake();
    return replayed;
  }

  async #replayFailed(scope: Scope, webhookId: string, range: TimeRange): Promise<Replayed> {
    let replayed = 0;
    while (replayed < REPLAYED_MAX) {
      const nowMs = this.#clock.now();
      const step = await replayFailed(this.#pool, scope, webhookId, range, STEP, nowMs);
      replayed += step;
      if (step < STEP) return { replayed, nextFromMs: null };
    }
    // Those just queued have not failed any more: the same range leads to the others.
    return { replayed, nextFromMs: range.fromMs };
  }

  async #replayEvents(scope: Scope, webhookId: string, range: TimeRange): Promise<Replayed> {
    // Events are kept for longer than deliveries: for older ones there is no place any more.
    const oldestMs = await partitionsBegin(this.#pool, 'webhook_deliveries');
    let place = LEDGER_START;
    let replayed = 0;
    let scanned = 0;
    let latestMs = range.fromMs;
    while (replayed < REPLAYED_MAX && scanned < SCANNED_MAX) {
      const nowMs = this.#clock.now();
      const step = await replayEvents(
        this.#pool,
        scope,
        webhookId,
        { ...range, oldestMs },
        place,
        STEP,
        nowMs,
      );
      replayed += step.replayed;
      scanned += step.scanned;
      place = step.next;
      latestMs = Math.max(latestMs, step.latestMs ?? 0);
      if (step.scanned < STEP) return { replayed, nextFromMs: null };
    }
    // What is queued is passed over by the next request, which may well begin before it: some events
    // come twice rather than one never.
    if (scanned < SCANNED_MAX) {
      const left = { ...range, oldestMs };
      const nextFromMs = await earliestLeft(this.#pool, scope, left, place, SCANNED_MAX);
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
    id: encodeId('whd', mixIds(webhookId, delivery.eventId)),
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

function publicTry(one: WebhookTry) {
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

function noDelivery(): RefusedError {
  return new RefusedError('not_found', 'There is no webhook delivery with this id.');
}

function timeOrNull(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
