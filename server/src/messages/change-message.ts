import type { TenantScope } from '../accounts/tenant-scope.ts';
import { inTransaction, type Pool } from '../db/connections/pool.ts';
import { appendEvents, type NewEvent } from '../events/events-store.ts';
import { encodeId } from '../lib/ids.ts';
import { RefusedError } from '../lib/refused-error.ts';
import type { Clock } from '../lib/time/clock.ts';
import type { DeliveryHandoff } from './accept/delivery-handoff.ts';
import { FieldErrors } from './accept/field-errors.ts';
import { parseSchedule } from './accept/parse-options.ts';
import { deliveryWindowMs, type SendLimits } from './accept/send-limits.ts';
import { findEntry, restoreContent } from './archive/archive-store.ts';
import type { ContentArchive } from './archive/content-archive.ts';
import { isEncryptedContentDeleted } from './content/message-content-store.ts';
import {
  cancelDeliveries,
  findMessage,
  lockDeliveries,
  notifyDeliveriesDue,
  rescheduleDeliveries,
  retryDeliveries,
  type StoredMessage,
} from './lookup/message-store.ts';
import { isPending } from './message-status.ts';

/**
 * Changes to a stored message: cancel what has not been sent, reschedule, retry what failed. Rows
 * are locked first, so that a change and the delivery engine cannot both win.
 */

export class MessageChanges {
  readonly #pool: Pool;
  readonly #clock: Clock;
  readonly #limits: SendLimits;
  readonly #handoff: Pick<DeliveryHandoff, 'withdraw'>;
  readonly #contents: ContentArchive;

  constructor(parts: {
    pool: Pool;
    clock: Clock;
    limits: SendLimits;
    handoff: Pick<DeliveryHandoff, 'withdraw'>;
    contents: ContentArchive;
  }) {
    this.#pool = parts.pool;
    this.#clock = parts.clock;
    this.#limits = parts.limits;
    this.#handoff = parts.handoff;
    this.#contents = parts.contents;
  }

  /** Cancels all pending recipients. Rejected when none is pending or one is being sent. */
  async cancel(scope: TenantScope, id: string): Promise<StoredMessage> {
    const message = await this.#find(scope, id);
    const nowMs = this.#clock.now();
    await inTransaction(this.#pool, async (client) => {
      const deliveries = await lockDeliveries(client, scope, id);
      const waiting = deliveries.filter(({ status }) => isPending(status));
      if (waiting.length === 0) {
        throw new RefusedError(
          'not_cancellable',
          'Every recipient of this message is already in a final state.',
        );
      }
      const leased = waiting.filter(({ leased }) => leased).map(({ ordinal }) => ordinal);
      const { workspaceId, mode } = scope;
      if (leased.length > 0 && !(await this.#handoff.withdraw(workspaceId, mode, id, leased))) {
        throw new RefusedError('not_cancellable', 'The message is being delivered right now.');
      }
      const ordinals = waiting.map(({ ordinal }) => ordinal);
      await cancelDeliveries(client, scope, id, ordinals, nowMs);
      await appendEvents(
        client,
        waiting.map(({ recipient, eventSequence }) =>
          recipientEvent('message.cancelled', scope, message, nowMs, recipient, eventSequence + 1),
        ),
      );
    });
    return this.#find(scope, id);
  }

  /** Moves a scheduled message to another time; null sends it now. */
  async reschedule(
    scope: TenantScope,
    id: string,
    scheduledAt: string | null,
  ): Promise<StoredMessage> {
    const message = await this.#find(scope, id);
    const nowMs = this.#clock.now();
    const errors = new FieldErrors();
    const ttl = message.ttlSeconds === null ? {} : { ttl_seconds: message.ttlSeconds };
    const wanted = scheduledAt === null ? ttl : { scheduled_at: scheduledAt, ...ttl };
    const schedule = parseSchedule(wanted, this.#limits, nowMs, errors);
    errors.throwIfAny();
    const { expiresAtMs, scheduledAtMs: laterMs } = schedule;
    const scheduledAtMs = laterMs ?? nowMs;
    await inTransaction(this.#pool, async (client) => {
      const deliveries = await lockDeliveries(client, scope, id);
      const scheduled = deliveries.filter(
        ({ status, leased }) => status === 'scheduled' && !leased,
      );
      if (scheduled.length === 0) {
        throw new RefusedError('conflict', 'Only scheduled messages can be rescheduled.');
      }
      if (scheduled.some(hasTooManyChanges)) {
        throw new RefusedError(
          'conflict',
          'This message was rescheduled too often. Send a new one.',
        );
      }
      await rescheduleDeliveries(client, scope, id, scheduledAtMs, expiresAtMs);
      const data = {
        message_id: encodeId('msg', id),
        stream: message.stream,
        metadata: message.metadata,
        tags: message.tags,
        scheduled_at: new Date(scheduledAtMs).toISOString(),
      };
      const sequence = Math.max(...scheduled.map((one) => one.eventSequence)) + 1;
      await appendEvents(client, [
        {
          ...scope,
          type: 'message.rescheduled',
          atMs: nowMs,
          messageId: id,
          sequence,
          data,
        },
      ]);
    });
    await notifyDeliveriesDue(this.#pool);
    return this.#find(scope, id);
  }

  /**
   * Deferred deliveries become due now and keep their expiry. Bounced, failed and expired ones start
   * a new delivery cycle, with as much time as a new message would get.
   */
  async retry(scope: TenantScope, id: string): Promise<StoredMessage> {
    const { ttlSeconds } = await this.#find(scope, id);
    if (await isEncryptedContentDeleted(this.#pool, scope, id)) {
      throw new RefusedError(
        'not_retryable',
        'The message contained secret values, and its content has been deleted.',
      );
    }
    const archived = await this.#contents.readArchived(scope, id);
    const nowMs = this.#clock.now();
    await inTransaction(this.#pool, async (client) => {
      const deliveries = await lockDeliveries(client, scope, id);
      const retryable = deliveries.filter(({ status, leased }) => RETRYABLE.has(status) && !leased);
      if (retryable.length === 0) {
        throw new RefusedError(
          'not_retryable',
          'No recipient of this message is deferred, bounced, failed or expired.',
        );
      }
      if (retryable.some(hasTooManyChanges)) {
        throw new RefusedError(
          'not_retryable',
          'This message was retried too often. Send a new one.',
        );
      }
      const expiresAtMs = nowMs + deliveryWindowMs(this.#limits, ttlSeconds);
      const ordinals = retryable.map(({ ordinal }) => ordinal);
      await retryDeliveries(client, scope, id, ordinals, nowMs, expiresAtMs);
      // Erased or restored meanwhile otherwise; the rows of its deliveries are locked.
      if (archived && (await findEntry(client, { ...scope, id }))) {
        await restoreContent(client, scope, id, archived);
      }
    });
    await notifyDeliveriesDue(this.#pool);
    return this.#find(scope, id);
  }

  async #find(scope: TenantScope, id: string): Promise<StoredMessage> {
    const message = await findMessage(this.#pool, scope, id);
    if (!message) throw new RefusedError('not_found', 'There is no message with this id.');
    return message;
  }
}

const RETRYABLE = new Set(['deferred', 'bounced', 'failed', 'expired']);

/**
 * Attempts and events of a delivery are counted in smallint columns. A delivery that overflowed
 * them could not be recorded and would be sent again and again.
 */
const CHANGES_PER_DELIVERY_MAX = 10_000;

function hasTooManyChanges({
  eventSequence,
  attempts,
}: {
  eventSequence: number;
  attempts: number;
}): boolean {
  return Math.max(eventSequence, attempts) >= CHANGES_PER_DELIVERY_MAX;
}

function recipientEvent(
  type: NewEvent['type'],
  scope: TenantScope,
  message: StoredMessage,
  atMs: number,
  recipient: string,
  sequence: number,
): NewEvent {
  return {
    ...scope,
    type,
    atMs,
    messageId: message.id,
    sequence,
    data: {
      message_id: encodeId('msg', message.id),
      recipient,
      attempt: 0,
      stream: message.stream,
      metadata: message.metadata,
      tags: message.tags,
    },
  };
}
