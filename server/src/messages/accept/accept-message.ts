import type { Caller } from '../../accounts/caller.ts';
import type { Mode } from '../../accounts/tenant-scope.ts';
import { isConnectionError, isNoConnection } from '../../db/connections/database-errors.ts';
import { type FieldError, RefusedError } from '../../lib/refused-error.ts';
import { eventLoopTurns } from '../../lib/scheduling/turns.ts';
import type { ChargedSend, SendQuotas } from '../../quotas/send-quotas.ts';
import { SharedWork } from '../../templates/template-engine.ts';
import { SYSTEM_TAG } from '../system-tag.ts';
import type { InsertOutcome } from './accept-store.ts';
import type { AcceptedMessage } from './accepted-message.ts';
import {
  type BatchItem,
  batchItems,
  batchRejected,
  isPrepared,
  parseBatch,
  serializeBatch,
} from './batch-result.ts';
import { checkRemainingFields } from './check-fields.ts';
import { prefixPointers } from './field-errors.ts';
import type { Idempotency, IdempotencyRequest } from './idempotency.ts';
import { MessageIds, messageIdInUse } from './message-ids.ts';
import {
  type PreparedMessage,
  type PrepareOptions,
  type PrepareParts,
  prepareMessage,
} from './prepare-message.ts';
import type { SendRequest } from './send-request.ts';
import { StreamPacer } from './stream-pacer.ts';
import type { Submission } from './submission.ts';
import { SubmissionWriter, type SubmissionWriterParts } from './submission-writer.ts';

/**
 * Accepts messages. In comes a send whose shape is valid, from a caller that may send; out goes the
 * accepted message, after one commit that contains the message, its content, one delivery per
 * recipient, its events and its idempotency key. A rejected send throws a RefusedError and changes
 * nothing.
 */

export interface AcceptParts extends PrepareParts, SubmissionWriterParts {
  idempotency: Idempotency;
  /** Undefined for sends of the operator, which are counted but not limited. */
  quotas: SendQuotas | undefined;
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

/** A batch waits for its next turn after this long, so that other requests are served. */
const YIELD_AFTER_MS = 5;

/** `stored` is the result of the first request with the same idempotency key. */
type SubmitResult = { written: Submission } | { stored: string };

export class MessageAcceptor {
  readonly #parts: AcceptParts;
  readonly #messageIds: MessageIds;
  readonly #pacer = new StreamPacer();
  readonly #writer: SubmissionWriter;

  constructor(parts: AcceptParts) {
    this.#parts = parts;
    this.#messageIds = new MessageIds(parts.pool);
    this.#writer = new SubmissionWriter(parts);
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
  checkRemainingFields(
    faulty: ReadonlySet<string>,
    request: Partial<SendRequest>,
    mode?: Mode,
  ): FieldError[] {
    const { limits, clock } = this.#parts;
    return checkRemainingFields(faulty, request, limits, clock.now(), mode);
  }

  /** Does everything except storing and sending. */
  dryRun(caller: Caller, request: SendRequest): Promise<PreparedMessage> {
    return prepareMessage(this.#parts, caller, request, { preview: true });
  }

  /** Resolves when everything accepted so far is committed. */
  drained(): Promise<void> {
    return this.#writer.drained();
  }

  get waiting(): number {
    return this.#writer.waiting;
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
        ? this.#writeWithinQuotas(submission, bytes, limited)
        : this.#writer.write(submission, bytes));
    } finally {
      if (outcome !== 'written') this.#pacer.refund(messages);
    }
    if (outcome === 'written') return { written: submission };
    const stored = key && (await idempotency.findResult(key));
    if (stored !== undefined) return { stored };
    throw new Error('Broken invariant: a submission without a duplicate key is written');
  }

  async #writeWithinQuotas(
    submission: Submission,
    bytes: number,
    limited: true | Promise<boolean>,
  ): Promise<InsertOutcome> {
    const send = (await limited) ? chargedSend(submission) : undefined;
    const charge = send && (await this.#parts.quotas?.charge(send));
    if (!charge) return await this.#writer.write(submission, bytes);
    try {
      const outcome = await this.#writer.write(submission, bytes);
      charge.settle(outcome === 'written');
      return outcome;
    } catch (error) {
      // After the loss of a connection, the commit may have succeeded.
      const isUnknown = isConnectionError(error) && !isNoConnection(error);
      charge.settle(isUnknown ? 'unknown' : false);
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
