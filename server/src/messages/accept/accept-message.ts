import type { Caller } from '../../accounts/caller.ts';
import { isConnectionError, isNoConnection } from '../../db/database-errors.ts';
import type { Pool } from '../../db/pool.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Encryptor } from '../../lib/encryption.ts';
import { GroupCommit, GroupCommitFullError } from '../../lib/group-commit.ts';
import { type FieldError, RefusedError } from '../../lib/refused-error.ts';
import { eventLoopTurns } from '../../lib/turns.ts';
import type { ChargedSend, SendQuotas } from '../../quotas/send-quotas.ts';
import type { AddressHash } from '../../suppressions/erased-address.ts';
import { SharedWork } from '../../templates/template-engine.ts';
import { SYSTEM_TAG } from '../system-tag.ts';
import { type InsertOutcome, insertSubmissions, type RecipientRef } from './accept-store.ts';
import type { AcceptedMessage } from './accepted-message.ts';
import { type BatchItem, parseBatch, serializeBatch } from './batch-result.ts';
import { checkRemainingFields } from './check-fields.ts';
import type { DeliveryHandoff } from './delivery-handoff.ts';
import { prefixPointers } from './field-errors.ts';
import type { Idempotency, IdempotencyRequest } from './idempotency.ts';
import { isMessageIdTaken } from './message-id-store.ts';
import { MessageIds, messageIdInUse } from './message-ids.ts';
import {
  type PreparedMessage,
  type PrepareOptions,
  type PrepareParts,
  prepareMessage,
} from './prepare-message.ts';
import type { SendRequest } from './send-request.ts';
import { StreamPacer } from './stream-pacer.ts';
import {
  assumeNoSuppressions,
  canSkipSuppressionLookup,
  groupRows,
  isDueNow,
  messagesToHandOff,
  recipientRefs,
  resolveSuppressions,
  type Submission,
  type SuppressionReasons,
} from './submission.ts';
import { UnconfirmedLeases } from './unconfirmed-leases.ts';

/**
 * Accepts messages. In comes a send whose shape is valid, from a caller that may send; out goes the
 * accepted message, after one commit that contains the message, its content, one delivery per
 * recipient, its events and its idempotency key. A rejected send throws a RefusedError and changes
 * nothing.
 */

export interface AcceptParts extends PrepareParts {
  pool: Pool;
  clock: Clock;
  handoff: DeliveryHandoff;
  idempotency: Idempotency;
  addressHash: AddressHash;
  /** Undefined for sends of the operator, which are counted but not limited. */
  quotas: SendQuotas | undefined;
  /** Encrypts the content of messages that contain secret values. */
  encryptor: Encryptor;
  group: {
    itemsMax: number;
    bytesMax: number;
    inFlightMax: number;
    waitingMax: number;
    waitingBytesMax: number;
  };
}

export interface AcceptOptions extends PrepareOptions {
  /** Makes a repeated request return what the first one did. */
  idempotency?: IdempotencyRequest | undefined;
}

export interface Accepted {
  message: AcceptedMessage;
  /** The message as JSON, if the request has an idempotency key: a repeated request gets the same text. */
  json: string | undefined;
  /** The request was a repeated one: the message was accepted before. */
  replayed: boolean;
}

export interface BatchOptions {
  idempotency?: IdempotencyRequest | undefined;
  /** One invalid message rejects the whole batch. */
  strict: boolean;
  requestId: string;
  /** Where the messages are in the body, for the pointers of errors. */
  itemsPointer?: string;
}

export interface AcceptedBatch {
  items: BatchItem[];
  /** The request that the items came from; for a repeated request, the first one. */
  requestId: string;
  replayed: boolean;
}

/**
 * Commits of at least this size are slow. They have queues of their own, so that small sends do not
 * wait for them.
 */
const LARGE_BYTES_MIN = 256 * 1024;
/** The share of the queue that large submissions may fill. */
const LARGE_QUEUE_SHARE = 3 / 4;

/** A batch waits for its next turn after this long, so that other requests are served. */
const YIELD_AFTER_MS = 5;

interface Writers {
  /** Submissions whose recipients are assumed not to be suppressed. */
  optimistic: GroupCommit<Submission, InsertOutcome>;
  /** Submissions whose recipients were looked up in the suppression list first. */
  checked: GroupCommit<Submission, InsertOutcome>;
}

/** `stored` is the result of the first request with the same idempotency key. */
type SubmitResult = { written: Submission } | { stored: string };

/** Clearing the set costs each workspace in it one extra lookup. */
const WORKSPACES_WITH_ERASURES_MAX = 10_000;

export class MessageAcceptor {
  readonly #parts: AcceptParts;
  readonly #messageIds: MessageIds;
  readonly #unconfirmed: UnconfirmedLeases;
  readonly #pacer = new StreamPacer();
  readonly #small: Writers;
  readonly #large: Writers;
  /** In draining order: a checked submission may have waited in an optimistic queue before. */
  readonly #groups: readonly GroupCommit<Submission, InsertOutcome>[];
  /** Workspaces that are known to have erased an address. */
  readonly #workspacesWithErasures = new Set<string>();

  constructor(parts: AcceptParts) {
    this.#parts = parts;
    this.#messageIds = new MessageIds(parts.pool);
    this.#unconfirmed = new UnconfirmedLeases(parts.pool, parts.clock);
    this.#small = this.#createWriters();
    this.#large = this.#createWriters();
    this.#groups = [this.#small, this.#large].flatMap(
      ({ optimistic: usual, checked: lookedUp }) => [usual, lookedUp],
    );
  }

  /** Accepts one message. */
  async accept(
    caller: Caller,
    request: SendRequest,
    options: AcceptOptions = {},
  ): Promise<Accepted> {
    const { idempotency: key } = options;
    const result = await this.#withIdempotency(key, async () => {
      const message = await prepareMessage(this.#parts, caller, request, options);
      if (!message.hasUniqueMessageId) return await this.#submit([message], key, serializeFirst);
      return await this.#messageIds.withUnique([message], async (taken) => {
        if (taken.has(message)) throw messageIdInUse();
        return await this.#submit([message], key, serializeFirst);
      });
    });
    if ('stored' in result) {
      const { stored: json } = result;
      return { message: JSON.parse(json) as AcceptedMessage, json, replayed: true };
    }
    const { accepted, result: json } = result.written;
    return { message: accepted[0] as AcceptedMessage, json, replayed: false };
  }

  /**
   * Accepts several messages in one commit. A message whose shape is invalid is passed as its
   * error.
   */
  async acceptBatch(
    caller: Caller,
    requests: readonly (SendRequest | RefusedError)[],
    options: BatchOptions,
  ): Promise<AcceptedBatch> {
    const { idempotency: key, strict, requestId, itemsPointer = '/messages' } = options;
    let prepared: (PreparedMessage | RefusedError)[] = [];
    const result = await this.#withIdempotency(key, async () => {
      const all = await this.#prepareAll(caller, requests, itemsPointer);
      return await this.#messageIds.withUnique(all.filter(isPrepared), async (taken) => {
        prepared = all.map((one, index) =>
          isPrepared(one) && taken.has(one)
            ? prefixPointers(messageIdInUse(), `${itemsPointer}/${index}`)
            : one,
        );
        const refused = prepared.filter((one) => one instanceof RefusedError);
        if (refused.length === prepared.length || (strict && refused.length > 0)) {
          throw batchRejected(refused);
        }
        return await this.#submit(prepared.filter(isPrepared), key, (accepted) =>
          serializeBatch(requestId, batchItems(prepared, accepted)),
        );
      });
    });
    if ('stored' in result) return { ...parseBatch(result.stored), replayed: true };
    return { items: batchItems(prepared, result.written.accepted), requestId, replayed: false };
  }

  /** Does everything that a strict batch does, except storing and sending. */
  async checkBatch(
    caller: Caller,
    requests: readonly (SendRequest | RefusedError)[],
  ): Promise<void> {
    const prepared = await this.#prepareAll(caller, requests, '/messages');
    const refused = prepared.filter((one) => one instanceof RefusedError);
    if (refused.length > 0) throw batchRejected(refused);
  }

  /** Validates the remaining fields of a request that failed schema validation. */
  checkRemainingFields(faulty: ReadonlySet<string>, request: Partial<SendRequest>): FieldError[] {
    const { limits, clock } = this.#parts;
    return checkRemainingFields(faulty, request, limits, clock.now());
  }

  /** Does everything except storing and sending. */
  dryRun(caller: Caller, request: SendRequest): Promise<PreparedMessage> {
    return prepareMessage(this.#parts, caller, request, { preview: true });
  }

  /** Resolves when everything accepted so far is committed. */
  async drained(): Promise<void> {
    for (const group of this.#groups) await group.drained();
  }

  get waiting(): number {
    return this.#groups.reduce((sum, { waiting }) => sum + waiting, 0);
  }

  #createWriters(): Writers {
    const { group } = this.#parts;
    const options = {
      isItemError: (error: unknown) => !isConnectionError(error),
      groupItemsMax: group.itemsMax,
      groupBytesMax: group.bytesMax,
      groupsInFlightMax: group.inFlightMax,
      waitingItemsMax: group.waitingMax,
      waitingBytesMax: group.waitingBytesMax,
    };
    return {
      optimistic: new GroupCommit({ ...options, commit: (group) => this.#commitOptimistic(group) }),
      checked: new GroupCommit({ ...options, commit: (group) => this.#commitChecked(group) }),
    };
  }

  /**
   * A repeated request must get its first result even when it would be rejected now (its
   * scheduled_at has passed, its template was deleted). The stored result is looked up only after a
   * rejection, so ordinary requests pay nothing for it.
   */
  async #withIdempotency(
    key: IdempotencyRequest | undefined,
    work: () => Promise<SubmitResult>,
  ): Promise<SubmitResult> {
    if (!key) return await work();
    const { idempotency } = this.#parts;
    idempotency.begin(key);
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof RefusedError)) throw error;
      const stored = await idempotency.findResult(key);
      if (stored !== undefined) return { stored };
      throw error;
    } finally {
      idempotency.end(key);
    }
  }

  async #prepareAll(
    caller: Caller,
    requests: readonly (SendRequest | RefusedError)[],
    itemsPointer: string,
  ): Promise<(PreparedMessage | RefusedError)[]> {
    const prepared: (PreparedMessage | RefusedError)[] = [];
    const options = { sharedWork: new SharedWork() };
    let sinceMs = performance.now();
    for (const request of requests) {
      try {
        if (request instanceof RefusedError) throw request;
        prepared.push(await prepareMessage(this.#parts, caller, request, options));
      } catch (error) {
        if (!(error instanceof RefusedError)) throw error;
        prepared.push(prefixPointers(error, `${itemsPointer}/${prepared.length}`));
      }
      // A large batch, or one that is expensive to render, must not keep other callers waiting.
      if (performance.now() - sinceMs < YIELD_AFTER_MS) continue;
      await eventLoopTurns.next(caller.workspaceId);
      sinceMs = performance.now();
    }
    return prepared;
  }

  async #submit(
    messages: PreparedMessage[],
    key: IdempotencyRequest | undefined,
    serialize: Submission['serialize'],
  ): Promise<SubmitResult> {
    const { idempotency, clock, quotas } = this.#parts;
    this.#pacer.pace(messages, clock.now());
    const submission: Submission = { key, serialize, messages, accepted: [], result: undefined };
    const bytes = messages.reduce((sum, message) => sum + message.bytes, 0);
    let outcome: InsertOutcome | undefined;
    try {
      const limited = quotas?.isLimited((messages[0] as PreparedMessage).workspaceId);
      outcome = await (limited
        ? this.#addWithinQuotas(submission, bytes, limited)
        : this.#add(submission, bytes));
    } finally {
      if (outcome !== 'written') this.#pacer.refund(messages);
    }
    if (outcome === 'written') return { written: submission };
    const stored = key && (await idempotency.findResult(key));
    if (stored !== undefined) return { stored };
    throw new Error('Broken invariant: a submission without a duplicate key is written');
  }

  async #addWithinQuotas(
    submission: Submission,
    bytes: number,
    limited: true | Promise<boolean>,
  ): Promise<InsertOutcome> {
    const send = (await limited) ? chargedSend(submission) : undefined;
    const charge = send && (await this.#parts.quotas?.charge(send));
    if (!charge) return await this.#add(submission, bytes);
    try {
      const outcome = await this.#add(submission, bytes);
      charge.settle(outcome === 'written');
      return outcome;
    } catch (error) {
      // After the loss of a connection, the commit may have succeeded.
      const isUnknown = isConnectionError(error) && !isNoConnection(error);
      charge.settle(isUnknown ? 'unknown' : false);
      throw error;
    }
  }

  async #add(submission: Submission, bytes: number): Promise<InsertOutcome> {
    const isLarge = bytes >= LARGE_BYTES_MIN;
    const writers = isLarge ? this.#large : this.#small;
    try {
      this.#checkCapacity(bytes, isLarge ? LARGE_QUEUE_SHARE : 1);
      if (canSkipSuppressionLookup(submission)) {
        const outcome = await writers.optimistic.add(submission, bytes);
        if (outcome === 'needs_address_hash') this.#rememberErasures(submission);
        else if (outcome !== 'has_suppression') return outcome;
      }
      return await writers.checked.add(submission, bytes);
    } catch (error) {
      if (error instanceof GroupCommitFullError) {
        const detail = 'Too many messages are waiting to be stored. Nothing was accepted.';
        throw new RefusedError('overloaded', detail, { retryAfterSeconds: 1 });
      }
      if (isMessageIdTaken(error)) throw messageIdInUse();
      throw error;
    }
  }

  /** All queues share one capacity. */
  #checkCapacity(bytes: number, share: number): void {
    const { waitingMax, waitingBytesMax } = this.#parts.group;
    let waiting = 0;
    let waitingBytes = 0;
    for (const group of this.#groups) {
      waiting += group.waiting;
      waitingBytes += group.waitingBytes;
    }
    const overBytes = waiting > 0 && waitingBytes + bytes > waitingBytesMax * share;
    if (waiting >= waitingMax || overBytes) {
      throw new GroupCommitFullError('Too many commits are waiting');
    }
  }

  /**
   * Recipients of these workspaces are hashed from now on, because one of their addresses was
   * erased.
   */
  #rememberErasures({ messages }: Submission): void {
    if (this.#workspacesWithErasures.size >= WORKSPACES_WITH_ERASURES_MAX)
      this.#workspacesWithErasures.clear();
    for (const { workspaceId } of messages) this.#workspacesWithErasures.add(workspaceId);
  }

  #commitOptimistic(submissions: Submission[]): Promise<InsertOutcome[]> {
    const recipients = recipientRefs(submissions, this.#parts.addressHash, (workspaceId) =>
      this.#workspacesWithErasures.has(workspaceId),
    );
    return this.#commit(submissions, assumeNoSuppressions(submissions), recipients);
  }

  async #commitChecked(submissions: Submission[]): Promise<InsertOutcome[]> {
    const { pool, clock, addressHash } = this.#parts;
    const suppressed = await resolveSuppressions(pool, submissions, addressHash, clock.now());
    return this.#commit(submissions, suppressed, []);
  }

  async #commit(
    submissions: Submission[],
    suppressed: SuppressionReasons,
    recipients: RecipientRef[],
  ): Promise<InsertOutcome[]> {
    const { pool, clock, handoff, encryptor } = this.#parts;
    const waiting = submissions.flatMap((one) => one.messages);
    const queued = waiting.filter(isDueNow);
    const lease = handoff.reserveCapacity(
      queued.reduce((sum, message) => sum + message.recipients.length, 0),
      queued.reduce((sum, message) => sum + message.bytes, 0),
    );
    try {
      const rows = groupRows(submissions, lease, encryptor);
      const { length: count } = submissions;
      const outcomes = await insertSubmissions(pool, rows, count, recipients, clock.now());
      if (lease) {
        const accepted = submissions.filter((_, index) => outcomes[index] === 'written');
        handoff.handOff(
          lease,
          accepted.flatMap((one) => messagesToHandOff(one, suppressed)),
        );
      }
      return outcomes;
    } catch (error) {
      if (lease) {
        handoff.handOff(lease, []);
        // A statement was sent, so the commit may have succeeded.
        if (isConnectionError(error) && !isNoConnection(error)) {
          this.#unconfirmed.add(
            lease,
            submissions.flatMap((one) => messagesToHandOff(one, suppressed)),
          );
        }
      }
      throw error;
    }
  }
}

function serializeFirst([accepted]: AcceptedMessage[]): string {
  return JSON.stringify(accepted);
}

/** Undefined if nothing is charged: mail of the service to its own users counts for no quota. */
function chargedSend({ messages }: Submission): ChargedSend | undefined {
  const charged = messages.filter(({ tags }) => !tags.includes(SYSTEM_TAG));
  const [first] = charged;
  if (!first) return undefined;
  return {
    workspaceId: first.workspaceId,
    messages: first.mode === 'live' ? charged.length : 0,
    recipientsMax: Math.max(...charged.map(({ recipients }) => recipients.length)),
    contentBytes: charged.reduce((sum, message) => sum + message.contentBytes, 0),
  };
}

function isPrepared(one: PreparedMessage | RefusedError): one is PreparedMessage {
  return !(one instanceof RefusedError);
}

function batchItems(
  prepared: readonly (PreparedMessage | RefusedError)[],
  accepted: readonly AcceptedMessage[],
): BatchItem[] {
  const messages = accepted.values();
  return prepared.map((one, index) =>
    one instanceof RefusedError
      ? { index, error: one }
      : { index, message: messages.next().value as AcceptedMessage },
  );
}

function batchRejected(refused: RefusedError[]): RefusedError {
  const errors = refused.flatMap((one) => one.errors);
  const codes = new Set(refused.map((one) => one.code));
  const code = codes.size === 1 ? (refused[0] as RefusedError).code : 'validation_failed';
  const detail =
    refused.length === 1
      ? `One message is invalid; nothing was accepted. ${refused[0]?.message ?? ''}`
      : `${refused.length} messages are invalid; nothing was accepted.`;
  return new RefusedError(code, detail, { errors });
}
