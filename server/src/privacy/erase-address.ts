import type { Mode, TenantScope } from '../accounts/tenant-scope.ts';
import { deleteContact } from '../contacts/contact-store.ts';
import { isConnectionError } from '../db/connections/database-errors.ts';
import { inTransaction, type Pool, type PoolClient } from '../db/connections/pool.ts';
import {
  type ErasableEvent,
  readEventsOf,
  readOtherEvents,
  writeEvents,
} from '../events/event-erasure-store.ts';
import type { InboundMailbox, InboundMessageEventData } from '../events/event-types.ts';
import { appendEvents } from '../events/events-store.ts';
import { deleteInboundMessages, findInboundMessagesOf } from '../inbound/inbound-message-store.ts';
import type { Encryptor } from '../lib/crypto/encryption.ts';
import { encodeId, uuidFloor } from '../lib/ids.ts';
import type { Log } from '../lib/log.ts';
import { type Clock, pause } from '../lib/time/clock.ts';
import { readFailedRequests, rewriteRequests } from '../logs/request-log-store.ts';
import { deleteArchivedContents } from '../messages/archive/archive-store.ts';
import {
  deleteContents,
  type ErasableMessage,
  type LockedDelivery,
  lockMessagesTo,
  readAttempts,
  readContent,
  readMessages,
  writeAttempts,
  writeContent,
  writeDeliveries,
  writeMessages,
} from '../messages/message-erasure-store.ts';
import { isPending } from '../messages/message-status.ts';
import { DEFAULT_STREAM_KEY } from '../streams/stream.ts';
import { ERASED_ADDRESS } from '../suppressions/erased-address.ts';
import type { Suppressions } from '../suppressions/suppressions.ts';
import { eraseWebhookResponses } from '../webhooks/webhook-erasure-store.ts';
import { createEraser, ERASED_TEXT, type Eraser } from './address-eraser.ts';
import {
  addErasureCounts,
  advanceEventCursor,
  advanceRequestCursor,
  deleteErasure,
  type ErasureCounts,
  type ErasureRef,
  insertErasure,
  listErasures,
  lockErasure,
} from './erasure-store.ts';

/**
 * Erases an address (GDPR): the contact, and every trace in the messages sent to it, their content,
 * attempts and events, webhook responses to those events, and the request log. Rows are kept so that statistics stay
 * correct; a placeholder replaces the address. A message to this recipient alone loses its content;
 * one with other recipients loses only the address. Pending deliveries to the address are
 * cancelled. Inbound messages from the address, to it, or with it in To, Cc or Reply-To are deleted.
 *
 * The request is committed first and then completed in batches. After a crash any node continues
 * it.
 */

export interface ErasureResult extends ErasureCounts {
  /** False: the rest is erased in the background. */
  finished: boolean;
}

export interface ErasureParts {
  pool: Pool;
  clock: Clock;
  log: Log;
  suppressions: Suppressions;
  /** Decrypts and encrypts the original content of messages with secret values. */
  encryptor: Encryptor;
  /** Withdraws a message from the delivery engine of this process. */
  withdraw: (workspaceId: string, mode: Mode, messageId: string) => Promise<boolean>;
  /** Writes the entries of the request log that this process still has in memory. */
  flushRequestLog: () => Promise<void>;
  /** How long a request waits for its erasure to finish. */
  waitMs?: number;
}

const MESSAGES_MAX = 25;
const INBOUND_MESSAGES_MAX = 100;
const OTHER_EVENTS_MAX = 5_000;
const REQUESTS_MAX = 1_000;
const ERASURES_MAX = 100;
const WAIT_MS = 10_000;
const RETRY_LOCKED_MS = 50;
export class Erasures {
  readonly #parts: ErasureParts;
  #stopped = false;

  constructor(parts: ErasureParts) {
    this.#parts = parts;
  }

  async erase(
    scope: TenantScope,
    emailKey: string,
    options: { keepSuppression: boolean },
  ): Promise<ErasureResult> {
    const { pool, clock, suppressions, waitMs = WAIT_MS } = this.#parts;
    const ref = { workspaceId: scope.workspaceId, mode: scope.mode, emailKey };
    await this.#parts.flushRequestLog();
    await inTransaction(pool, async (client) => {
      const contacts = (await deleteContact(client, ref, emailKey)) ? 1 : 0;
      await suppressions.eraseAddress(client, ref, emailKey, options.keepSuppression);
      await insertErasure(client, ref, contacts, clock.now());
    });
    return this.#runUntil(ref, clock.now() + waitMs);
  }

  /**
   * Continues unfinished erasures, except those that a request is still waiting for: it would not
   * learn what another one has counted last.
   */
  async work(): Promise<void> {
    const { pool, clock, log, waitMs = WAIT_MS } = this.#parts;
    for (const ref of await listErasures(pool, clock.now() - waitMs, ERASURES_MAX)) {
      try {
        await this.#runUntil(ref, clock.now() + WAIT_MS);
      } catch (error) {
        if (isConnectionError(error)) throw error;
        // A failing erasure must not block the others. It is retried on the next run.
        log.error({ err: error, workspace: ref.workspaceId }, 'erasure failed');
      }
    }
  }

  stop(): void {
    this.#stopped = true;
  }

  async #runUntil(ref: ErasureRef, untilMs: number): Promise<ErasureResult> {
    const { pool, clock } = this.#parts;
    let counts: ErasureCounts = { contacts: 0, messages: 0, attempts: 0, events: 0 };
    while (!this.#stopped && clock.now() < untilMs) {
      const step = await inTransaction(pool, (client) => this.#step(client, ref)).catch(
        (error: unknown): Step => {
          // Recording webhook responses locks many rows in its own order, so deadlocks are
          // possible.
          if ((error as { code?: unknown }).code === '40P01') return { kind: 'busy', counts };
          throw error;
        },
      );
      if (step.kind === 'gone') return { ...counts, finished: true };
      counts = step.counts;
      if (step.kind === 'finished') return { ...counts, finished: true };
      if (step.kind === 'busy') await pause(clock, RETRY_LOCKED_MS);
    }
    return { ...counts, finished: false };
  }

  /** Runs one batch in one commit. */
  async #step(client: PoolClient, ref: ErasureRef): Promise<Step> {
    const underWay = await lockErasure(client, ref);
    if (!underWay) return { kind: 'gone' };
    const { counts, eventsAfter, requestsAfter } = underWay;
    const eraser = createEraser(ref.emailKey);
    // The placeholder itself cannot be erased: the erasure would never end.
    const { deliveries, left } =
      ref.emailKey === ERASED_ADDRESS
        ? { deliveries: [], left: false }
        : await lockMessagesTo(client, ref, ref.emailKey, MESSAGES_MAX);
    if (left && deliveries.length === 0) return { kind: 'busy', counts };
    if (left) {
      const more = await this.#eraseMessages(client, ref, eraser, deliveries);
      await addErasureCounts(client, ref, more);
      return { kind: 'more', counts: addCounts(counts, more) };
    }
    const inbound = await deleteInboundMessagesOf(client, ref);
    if (inbound > 0) {
      const more = { messages: inbound, attempts: 0, events: 0 };
      await addErasureCounts(client, ref, more);
      return { kind: 'more', counts: addCounts(counts, more) };
    }
    const nowMs = this.#parts.clock.now();
    const { events, lastId } = await eraseOtherEvents(client, ref, eraser, eventsAfter, nowMs);
    const more = { messages: 0, attempts: 0, events };
    if (lastId === null) {
      const lastRequestId = await eraseRequests(client, ref, eraser, requestsAfter);
      if (lastRequestId === null) {
        await deleteErasure(client, ref);
        return { kind: 'finished', counts: addCounts(counts, more) };
      }
      await advanceRequestCursor(client, ref, lastRequestId);
    } else {
      await advanceEventCursor(client, ref, lastId);
    }
    await addErasureCounts(client, ref, more);
    return { kind: 'more', counts: addCounts(counts, more) };
  }

  async #eraseMessages(
    client: PoolClient,
    ref: ErasureRef,
    eraser: Eraser,
    deliveries: readonly LockedDelivery[],
  ): Promise<Omit<ErasureCounts, 'contacts'>> {
    const recipients = Map.groupBy(deliveries, ({ messageId }) => messageId);
    const ids = [...recipients.keys()];
    const soleRecipient = new Set(
      ids.filter((id) => recipients.get(id)?.every(isTo(ref.emailKey))),
    );
    const messages = await readMessages(client, ref, ids);
    const own = deliveries.filter(isTo(ref.emailKey));
    const waiting = own.filter(({ status }) => isPending(status));
    for (const { messageId } of waiting) {
      if (!soleRecipient.has(messageId)) continue;
      await this.#parts.withdraw(ref.workspaceId, ref.mode, messageId);
    }
    await eraseDeliveries(client, ref, eraser, own, this.#parts.clock.now());
    await this.#eraseContents(client, ref, eraser, messages, soleRecipient);
    const attempts = await eraseAttempts(client, ref, eraser, ids);
    const nowMs = this.#parts.clock.now();
    const events = await eraseEvents(client, ref, eraser, ids, soleRecipient, nowMs);
    await this.#appendCancelledEvents(client, ref, eraser, waiting, messages);
    return { messages: ids.length, attempts, events };
  }

  async #eraseContents(
    client: PoolClient,
    ref: ErasureRef,
    eraser: Eraser,
    messages: readonly ErasableMessage[],
    soleRecipient: ReadonlySet<string>,
  ): Promise<void> {
    await writeMessages(
      client,
      ref,
      messages.map(({ id, subject, metadata, header_message_id: messageId }) => ({
        id,
        subject: soleRecipient.has(id) ? ERASED_TEXT : eraser.text(subject),
        metadata: eraser.json(metadata),
        // An ID that contains the address is removed: a part of it would identify nothing.
        header_message_id: messageId && eraser.text(messageId) === messageId ? messageId : null,
      })),
    );
    await deleteContents(client, ref, [...soleRecipient]);
    // An archived content cannot be edited, so it is deleted as a whole.
    await deleteArchivedContents(
      client,
      ref,
      messages.map(({ id }) => id),
    );
    const eraseFields = <T>(value: T): T => removeErasedNames(eraser.json(value)) as T;
    // One at a time, because a content may have megabytes.
    for (const { id } of messages) {
      const content = soleRecipient.has(id) ? undefined : await readContent(client, ref, id);
      if (!content) continue;
      const { encryptedContent, ...open } = content;
      await writeContent(client, ref, id, {
        ...eraseFields(open),
        encryptedContent: this.#reencrypt(encryptedContent, eraseFields),
      });
    }
  }

  #reencrypt(encrypted: Buffer | null, eraseFields: <T>(value: T) => T): Buffer | null {
    if (!encrypted?.length) return encrypted;
    const { encryptor } = this.#parts;
    const content: unknown = JSON.parse(encryptor.decrypt(encrypted).toString());
    return encryptor.encrypt(Buffer.from(JSON.stringify(eraseFields(content))));
  }

  async #appendCancelledEvents(
    client: PoolClient,
    ref: ErasureRef,
    eraser: Eraser,
    waiting: readonly LockedDelivery[],
    messages: readonly ErasableMessage[],
  ): Promise<void> {
    const byId = new Map(messages.map((message) => [message.id, message]));
    const atMs = this.#parts.clock.now();
    await appendEvents(
      client,
      waiting.map(({ messageId, attempts, eventSequence }) => ({
        workspaceId: ref.workspaceId,
        mode: ref.mode,
        type: 'message.cancelled' as const,
        atMs,
        messageId,
        sequence: eventSequence + 1,
        data: {
          message_id: encodeId('msg', messageId),
          recipient: ERASED_ADDRESS,
          attempt: attempts,
          stream: byId.get(messageId)?.stream ?? DEFAULT_STREAM_KEY,
          metadata: eraser.json(byId.get(messageId)?.metadata ?? {}),
          tags: byId.get(messageId)?.tags ?? [],
        },
      })),
    );
  }
}

type Step = { kind: 'gone' } | { kind: 'busy' | 'more' | 'finished'; counts: ErasureCounts };

function isTo(emailKey: string): (delivery: LockedDelivery) => boolean {
  return ({ recipientKey }) => recipientKey === emailKey || recipientKey === ERASED_ADDRESS;
}

function addCounts(counts: ErasureCounts, more: Omit<ErasureCounts, 'contacts'>): ErasureCounts {
  return {
    contacts: counts.contacts,
    messages: counts.messages + more.messages,
    attempts: counts.attempts + more.attempts,
    events: counts.events + more.events,
  };
}

async function eraseDeliveries(
  client: PoolClient,
  ref: ErasureRef,
  eraser: Eraser,
  own: readonly LockedDelivery[],
  nowMs: number,
): Promise<void> {
  const erased = own.map(({ messageId, ordinal, status, smtp, bounce }) => ({
    messageId,
    ordinal,
    cancelled: isPending(status),
    smtp: eraser.json(smtp),
    bounce: eraser.json(bounce),
  }));
  await writeDeliveries(client, ref, erased, nowMs);
}

/** Removes the name next to an erased address. */
function removeErasedNames(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(removeErasedNames);
  if (value === null || typeof value !== 'object') return value;
  const entries = Object.entries(value);
  const isErased = entries.some(([name, inner]) => name === 'email' && inner === ERASED_ADDRESS);
  const kept = isErased ? entries.filter(([name]) => name !== 'name') : entries;
  return Object.fromEntries(kept.map(([name, inner]) => [name, removeErasedNames(inner)]));
}

async function eraseAttempts(
  client: PoolClient,
  ref: ErasureRef,
  eraser: Eraser,
  ids: readonly string[],
): Promise<number> {
  const changed = (await readAttempts(client, ref, ids)).flatMap((attempt) => {
    const erased = eraser.json(attempt);
    return erased === attempt ? [] : [erased];
  });
  await writeAttempts(client, ref, changed);
  return changed.length;
}

async function eraseEvents(
  client: PoolClient,
  ref: ErasureRef,
  eraser: Eraser,
  ids: readonly string[],
  soleRecipient: ReadonlySet<string>,
  nowMs: number,
): Promise<number> {
  const changed = (await readEventsOf(client, ref, ids)).flatMap((event) => {
    const data = eraser.json(event.data);
    const hasSubject = 'subject' in data && soleRecipient.has(event.messageId ?? '');
    if (hasSubject) return [{ ...event, data: { ...data, subject: ERASED_TEXT } }];
    return data === event.data ? [] : [{ ...event, data }];
  });
  await writeEvents(client, ref, changed);
  await eraseWebhookResponses(client, ref, changed.map(idOf), ERASED_TEXT, nowMs);
  return changed.length;
}

const idOf = ({ id }: { id: string }): string => id;

/** Their content cannot be edited. */
async function deleteInboundMessagesOf(client: PoolClient, ref: ErasureRef): Promise<number> {
  const ids = await findInboundMessagesOf(client, ref, ref.emailKey, INBOUND_MESSAGES_MAX);
  return deleteInboundMessages(client, ref, ids);
}

/** The event of a deleted inbound message keeps nothing that its sender wrote. */
function eraseEventData({ type, data }: ErasableEvent, eraser: Eraser): object {
  const erased = eraser.json(data);
  if (type !== 'inbound_message.received') return erased;
  const message = erased as unknown as InboundMessageEventData;
  const { envelope, from, to, cc, reply_to: replyTo } = message;
  const isAboutErased = JSON.stringify([envelope, from, to, cc, replyTo]).includes(ERASED_ADDRESS);
  if (!isAboutErased) return erased;
  return {
    ...message,
    from: from && withoutErasedName(from),
    to: to.map(withoutErasedName),
    cc: cc.map(withoutErasedName),
    reply_to: replyTo.map(withoutErasedName),
    subject: ERASED_TEXT,
    message_id: null,
    in_reply_to: null,
    attachments: [],
  };
}

function withoutErasedName({ email, name }: InboundMailbox): InboundMailbox {
  return { email, name: email === ERASED_ADDRESS ? null : name };
}

/** Erases the next entries of the request log; returns the last one read, or null at the end. */
async function eraseRequests(
  client: PoolClient,
  ref: ErasureRef,
  eraser: Eraser,
  after: string | null,
): Promise<string | null> {
  const { requests, lastId } = await readFailedRequests(
    client,
    ref,
    JSON.stringify(ref.emailKey).slice(1, -1),
    after ?? uuidFloor(0),
    REQUESTS_MAX,
  );
  const erased = requests.map(({ id, problem, query, body }) => ({
    id,
    problem: eraser.json(problem),
    query: eraser.json(query),
    // Nearly always a message to the address, whose content would be deleted too.
    body: eraser.json(body) === body ? body : ERASED_TEXT,
  }));
  await rewriteRequests(client, ref, erased);
  return lastId;
}

/**
 * Erases the next events that belong to no message, such as those about suppressions. There may be
 * millions, and a long commit holds up every reader of the event log.
 */
async function eraseOtherEvents(
  client: PoolClient,
  ref: ErasureRef,
  eraser: Eraser,
  after: string | null,
  nowMs: number,
): Promise<{ events: number; lastId: string | null }> {
  const needle = JSON.stringify(ref.emailKey).slice(1, -1);
  const { events, lastId } = await readOtherEvents(
    client,
    ref,
    needle,
    after ?? uuidFloor(0),
    OTHER_EVENTS_MAX,
  );
  const changed = events.map((event) => ({ ...event, data: { ...eraseEventData(event, eraser) } }));
  await writeEvents(client, ref, changed);
  await eraseWebhookResponses(client, ref, changed.map(idOf), ERASED_TEXT, nowMs);
  return { events: changed.length, lastId };
}
