import type { TenantScope } from '../../accounts/tenant-scope.ts';
import type { Pool } from '../../db/connections/pool.ts';
import { partitionsStartMs } from '../../db/schema/partitions.ts';
import { EVENT_LOG_START } from '../../events/events-store.ts';
import { encodeId } from '../../lib/ids.ts';
import { RefusedError } from '../../lib/refused-error.ts';
import type { Clock } from '../../lib/time/clock.ts';
import { timeOrNull } from '../../lib/time/rfc3339.ts';
import type { ReadSource } from '../dispatch/read-source.ts';
import { renderEvent } from '../formats/formats.ts';
import type { Webhook } from '../webhook-store.ts';
import { ENDPOINTS_MAX, type EndpointCaller, type Webhooks } from '../webhooks.ts';
import {
  type DeliveryCursor,
  type DeliveryFilter,
  type DeliveryPage,
  listDeliveries,
} from './webhook-delivery-list-store.ts';
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

/**
 * The delivery history of endpoints, and replays. A replay keeps the event id, so a receiver that
 * deduplicates by `webhook-id` never processes an event twice.
 */

export interface ReplayRange {
  fromMs: number;
  toMs: number;
  onlyFailed: boolean;
}

export interface ReplayResult {
  replayed: number;
  /** Where to continue when there was more than one request may queue. */
  nextFromMs: number | null;
}

/** The most deliveries that one request queues. */
const REPLAY_MAX = 50_000;
const REPLAY_BATCH = 5_000;
/** Bounds the scan when an endpoint subscribes to little of what is in the range. */
const SCANNED_MAX = 500_000;
/** By how much concurrent writers may be out of order. */
const OUT_OF_ORDER_MS = 10_000;

export class WebhookHistory {
  readonly #pool: Pool;
  readonly #clock: Clock;
  readonly #webhooks: Webhooks;
  readonly #wake: () => void;
  readonly #readSource: ReadSource;

  constructor(parts: {
    pool: Pool;
    clock: Clock;
    webhooks: Webhooks;
    readSource: ReadSource;
    wake: () => void;
  }) {
    this.#pool = parts.pool;
    this.#clock = parts.clock;
    this.#webhooks = parts.webhooks;
    this.#wake = parts.wake;
    this.#readSource = parts.readSource;
  }

  /** Lists deliveries of all endpoints, or of the one in the filter. */
  list(
    scope: TenantScope,
    filter: DeliveryFilter,
    page: { after: DeliveryCursor | undefined; limit: number },
  ): Promise<DeliveryPage> {
    return listDeliveries(this.#pool, scope, filter, page);
  }

  /** Lists deliveries of an endpoint that must exist. */
  async listForEndpoint(
    scope: TenantScope,
    webhookId: string,
    filter: Omit<DeliveryFilter, 'webhookId'>,
    page: { after: DeliveryCursor | undefined; limit: number },
  ): Promise<DeliveryPage> {
    await this.#webhooks.get(scope, webhookId);
    return this.list(scope, { ...filter, webhookId }, page);
  }

  async get(scope: EndpointCaller, webhookId: string, deliveryId: string) {
    const { format } = await this.#webhooks.getManaged(scope, webhookId);
    const eventId = xorIds(webhookId, deliveryId);
    const found = await findDelivery(this.#pool, scope, webhookId, eventId);
    if (!found) throw deliveryNotFound();
    const attempts = await listAttempts(this.#pool, scope, webhookId, eventId);
    const { delivery, event } = found;
    const content =
      event &&
      (await renderEvent(
        format,
        { ...event, id: eventId, mode: scope.mode },
        this.#readSource(scope),
      ));
    return {
      ...publicDelivery(delivery),
      body: content ?? null,
      tries: attempts.map(publicAttempt),
    };
  }

  /** Finds a delivery by its id alone. The id reveals the event only together with the endpoint. */
  async find(scope: EndpointCaller, deliveryId: string) {
    const endpoints = await this.#webhooks.list(scope, { limit: ENDPOINTS_MAX });
    const candidates = endpoints.map(({ id }) => ({
      webhookId: id,
      eventId: xorIds(id, deliveryId),
    }));
    const webhookId = await findDeliveryEndpoint(this.#pool, scope, candidates);
    if (webhookId === undefined) throw deliveryNotFound();
    return this.get(scope, webhookId, deliveryId);
  }

  async replayDelivery(
    scope: EndpointCaller,
    webhookId: string,
    deliveryId: string,
  ): Promise<ReplayResult> {
    this.#refuseDisabled(await this.#webhooks.getManaged(scope, webhookId));
    const eventId = xorIds(webhookId, deliveryId);
    const nowMs = this.#clock.now();
    const again = await replayOne(this.#pool, scope, webhookId, eventId, nowMs);
    if (!again && !(await findDelivery(this.#pool, scope, webhookId, eventId)))
      throw deliveryNotFound();
    this.#wake();
    return { replayed: again ? 1 : 0, nextFromMs: null };
  }

  async replayRange(
    scope: EndpointCaller,
    webhookId: string,
    range: ReplayRange,
  ): Promise<ReplayResult> {
    this.#refuseDisabled(await this.#webhooks.getManaged(scope, webhookId));
    const replayed = range.onlyFailed
      ? await this.#replayFailed(scope, webhookId, range)
      : await this.#replayEvents(scope, webhookId, range);
    this.#wake();
    return replayed;
  }

  async #replayFailed(
    scope: TenantScope,
    webhookId: string,
    range: TimeRange,
  ): Promise<ReplayResult> {
    let replayed = 0;
    while (replayed < REPLAY_MAX) {
      const nowMs = this.#clock.now();
      const step = await replayFailed(this.#pool, scope, webhookId, range, REPLAY_BATCH, nowMs);
      replayed += step;
      if (step < REPLAY_BATCH) return { replayed, nextFromMs: null };
    }
    // The deliveries just queued are no longer failed, so the same range leads to the rest.
    return { replayed, nextFromMs: range.fromMs };
  }

  async #replayEvents(
    scope: TenantScope,
    webhookId: string,
    range: TimeRange,
  ): Promise<ReplayResult> {
    // Events are retained longer than deliveries; older ones have no partition any more.
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
    // The next request skips what is queued but may start before it: some events are delivered
    // twice rather than one never.
    if (scanned < SCANNED_MAX) {
      const left = { ...range, oldestMs };
      const nextFromMs = await earliestRemaining(this.#pool, scope, left, place, SCANNED_MAX);
      return { replayed, nextFromMs };
    }
    // The next request must not scan the same events again.
    return { replayed, nextFromMs: Math.max(range.fromMs + 1, latestMs - OUT_OF_ORDER_MS) };
  }

  #refuseDisabled(webhook: Webhook): void {
    if (webhook.enabled) return;
    const detail = 'The endpoint is disabled. Set `enabled` to true, then replay.';
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
    tries_count: delivery.attempts,
    created_at: new Date(delivery.createdAtMs).toISOString(),
    next_try_at: status === 'pending' && !leased ? timeOrNull(dueAtMs) : null,
    finished_at: timeOrNull(delivery.finishedAtMs),
    last_status: delivery.lastStatus,
    last_error: delivery.lastError,
  };
}

function publicAttempt(attempt: StoredAttempt) {
  return {
    number: attempt.number,
    started_at: new Date(attempt.startedAtMs).toISOString(),
    duration_ms: attempt.durationMs,
    url: attempt.url,
    request_headers: attempt.headers,
    status: attempt.status,
    response_body: attempt.responseBody,
    error: attempt.error,
  };
}

function deliveryNotFound(): RefusedError {
  return new RefusedError('not_found', 'No such webhook delivery.');
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
