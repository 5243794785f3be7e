import type { Caller } from '../../accounts/caller.ts';
import type { Pool } from '../../db/pool.ts';
import { isStorageGone } from '../../db/storage-gone.ts';
import type { Clock } from '../../lib/clock.ts';
import { GroupCommit, GroupCommitFullError } from '../../lib/group-commit.ts';
import { type FieldError, RefusedError } from '../../lib/refused-error.ts';
import type { Sealer } from '../../lib/sealer.ts';
import type { AddressHash } from '../../suppressions/erased-address.ts';
import { insertSubmissions, type Outcome, type RecipientRef } from './accept-store.ts';
import { faultsBeside } from './check-fields.ts';
import type { Handover } from './delivery-handoff.ts';
import { underPrefix } from './field-errors.ts';
import type { Idempotency, IdempotencyRequest, StoredAnswer } from './idempotency.ts';
import {
  type PreparedMessage,
  type PrepareOptions,
  type PrepareParts,
  prepareMessage,
} from './prepare-message.ts';
import type { AcceptedMessage, SendRequest } from './send-request.ts';
import {
  answerOf,
  handedOver,
  isUsual,
  recipientRefs,
  rowsOf,
  type Submission,
  type Suppressed,
  settle,
  settleUsual,
} from './submission.ts';

/**
 * Accepting messages: the front half of the house. In comes a send whose shape is right, from a
 * caller who may send; out goes the answer, after one commit that holds the message, its content,
 * one delivery per recipient, its events and its idempotency key. What is refused changes nothing.
 */

export type BatchItem =
  | { index: number; message: AcceptedMessage }
  | { index: number; error: RefusedError };

export interface AcceptParts extends PrepareParts {
  pool: Pool;
  clock: Clock;
  handover: Handover;
  idempotency: Idempotency;
  addressHash: AddressHash;
  /** Seals the words of messages that hold secret values. */
  sealer: Sealer;
  group: {
    itemsMax: number;
    bytesMax: number;
    inFlightMax: number;
    waitingMax: number;
    waitingBytesMax: number;
  };
}

export type Accepted = { answer: StoredAnswer; replayed: boolean };

/** How an answer is written; the door knows the status and the body's shape. */
export type AnswerWriter<T> = (accepted: T) => StoredAnswer;

/**
 * A commit of this size takes long by itself. It goes a way of its own, so that nobody who sends
 * little waits for somebody who sends much.
 */
const LARGE_BYTES_MIN = 256 * 1024;
/** What large ones leave of the room for those who wait. */
const LARGE_SHARE = 3 / 4;

/** How long a batch may hold everybody up before others have their turn. */
const TURN_MS = 5;

interface Writers {
  /** Sends that no suppression concerns, as far as we know. */
  usual: GroupCommit<Submission, Outcome>;
  /** Those that had to be looked up first. */
  lookedUp: GroupCommit<Submission, Outcome>;
}

/** Forgetting them costs each a second look. */
const HAVE_ERASED_MAX = 10_000;

export class MessageAcceptor {
  readonly #parts: AcceptParts;
  readonly #small: Writers;
  readonly #large: Writers;
  /** In the order in which they run dry: who is looked up has waited among the usual before. */
  readonly #all: readonly GroupCommit<Submission, Outcome>[];
  /** Workspaces that were found to have erased somebody. */
  readonly #haveErased = new Set<string>();

  constructor(parts: AcceptParts) {
    this.#parts = parts;
    this.#small = this.#openWriters();
    this.#large = this.#openWriters();
    this.#all = [this.#small, this.#large].flatMap(({ usual, lookedUp }) => [usual, lookedUp]);
  }

  /** One message. `write` makes the answer that is also kept for repeated requests. */
  acceptOne(
    caller: Caller,
    request: SendRequest,
    key: IdempotencyRequest | undefined,
    write: AnswerWriter<AcceptedMessage>,
    options: PrepareOptions = {},
  ): Promise<Accepted> {
    return this.#repeatable(key, async () => {
      const message = await prepareMessage(this.#parts, caller, request, options);
      const writeOne = (messages: AcceptedMessage[]) => write(messages[0] as AcceptedMessage);
      return await this.#submit([message], key, writeOne);
    });
  }

  /**
   * Several messages in one commit. Strict: one that is bad and nothing is accepted. A message whose
   * shape is wrong comes as its refusal.
   */
  acceptBatch(
    caller: Caller,
    requests: readonly (SendRequest | RefusedError)[],
    strict: boolean,
    key: IdempotencyRequest | undefined,
    write: AnswerWriter<BatchItem[]>,
  ): Promise<Accepted> {
    return this.#repeatable(key, async () => {
      const prepared = await this.#prepareAll(caller, requests);
      const refused = prepared.filter((one) => one instanceof RefusedError);
      if (refused.length === prepared.length || (strict && refused.length > 0)) {
        throw nothingAccepted(refused);
      }
      const good = prepared.filter((one): one is PreparedMessage => !(one instanceof RefusedError));
      return this.#submit(good, key, (messages) => {
        const answers = messages.values();
        return write(
          prepared.map((one, index) =>
            one instanceof RefusedError
              ? { index, error: one }
              : { index, message: answers.next().value as AcceptedMessage },
          ),
        );
      });
    });
  }

  /** What else is wrong with a request of a wrong shape, in the fields that it is not about. */
  faultsBeside(faulty: ReadonlySet<string>, request: Partial<SendRequest>): FieldError[] {
    const { limits, clock } = this.#parts;
    return faultsBeside(faulty, request, limits, clock.now());
  }

  /** Everything but storing and sending. */
  dryRun(caller: Caller, request: SendRequest): Promise<PreparedMessage> {
    return prepareMessage(this.#parts, caller, request);
  }

  /** Resolves when all that was taken is committed. */
  async drained(): Promise<void> {
    for (const group of this.#all) await group.drained();
  }

  get waiting(): number {
    return this.#all.reduce((sum, { waiting }) => sum + waiting, 0);
  }

  #openWriters(): Writers {
    const { group } = this.#parts;
    const options = {
      isItemFault: (error: unknown) => !isStorageGone(error),
      groupItemsMax: group.itemsMax,
      groupBytesMax: group.bytesMax,
      groupsInFlightMax: group.inFlightMax,
      waitingItemsMax: group.waitingMax,
      waitingBytesMax: group.waitingBytesMax,
    };
    return {
      usual: new GroupCommit({ ...options, commit: (group) => this.#commitUsual(group) }),
      lookedUp: new GroupCommit({ ...options, commit: (group) => this.#commitLookedUp(group) }),
    };
  }

  /**
   * A repeated request must get its first answer even when it would be refused now (its
   * scheduled_at has passed, its template is gone). So a refusal asks for the first answer, and the
   * usual request pays nothing for it.
   */
  async #repeatable(
    key: IdempotencyRequest | undefined,
    work: () => Promise<Accepted>,
  ): Promise<Accepted> {
    if (!key) return await work();
    const { idempotency } = this.#parts;
    idempotency.begin(key);
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof RefusedError)) throw error;
      const first = await idempotency.firstAnswer(key);
      if (first) return { answer: first, replayed: true };
      throw error;
    } finally {
      idempotency.end(key);
    }
  }

  async #prepareAll(
    caller: Caller,
    requests: readonly (SendRequest | RefusedError)[],
  ): Promise<(PreparedMessage | RefusedError)[]> {
    const prepared: (PreparedMessage | RefusedError)[] = [];
    let sinceMs = performance.now();
    for (const request of requests) {
      try {
        if (request instanceof RefusedError) throw request;
        prepared.push(await prepareMessage(this.#parts, caller, request));
      } catch (error) {
        if (!(error instanceof RefusedError)) throw error;
        prepared.push(underPrefix(error, `/messages/${prepared.length}`));
      }
      // A large batch, or one that is hard to render, must not keep other callers waiting.
      if (performance.now() - sinceMs < TURN_MS) continue;
      await new Promise((resolve) => setImmediate(resolve));
      sinceMs = performance.now();
    }
    return prepared;
  }

  async #submit(
    messages: PreparedMessage[],
    key: IdempotencyRequest | undefined,
    write: AnswerWriter<AcceptedMessage[]>,
  ): Promise<Accepted> {
    const { idempotency } = this.#parts;
    const submission: Submission = {
      key: key && { ...key, requestHash: idempotency.keptHash(key.requestHash) },
      messages,
      answer: undefined,
      write: (suppressed) => write(messages.map((message) => answerOf(message, suppressed))),
    };
    const bytes = messages.reduce((sum, message) => sum + message.bytes, 0);
    const outcome = await this.#add(submission, bytes);
    if (outcome === 'written' && submission.answer) {
      return { answer: submission.answer, replayed: false };
    }
    const first = key && (await idempotency.firstAnswer(key));
    if (first) return { answer: first, replayed: true };
    throw new Error('Broken invariant: a submission without a taken key is written');
  }

  async #add(submission: Submission, bytes: number): Promise<Outcome> {
    const isLarge = bytes >= LARGE_BYTES_MIN;
    const writers = isLarge ? this.#large : this.#small;
    try {
      this.#refuseWithoutRoom(bytes, isLarge ? LARGE_SHARE : 1);
      if (isUsual(submission)) {
        const outcome = await writers.usual.add(submission, bytes);
        if (outcome === 'unhashed') this.#hash(submission);
        else if (outcome !== 'concerned') return outcome;
      }
      return await writers.lookedUp.add(submission, bytes);
    } catch (error) {
      if (error instanceof GroupCommitFullError) {
        const detail =
          'More messages are waiting to be stored than we can hold. Nothing was accepted.';
        throw new RefusedError('overloaded', detail, { retryAfterSeconds: 1 });
      }
      throw error;
    }
  }

  /** The room is one, whichever way they go. */
  #refuseWithoutRoom(bytes: number, share: number): void {
    const { waitingMax, waitingBytesMax } = this.#parts.group;
    let waiting = 0;
    let waitingBytes = 0;
    for (const group of this.#all) {
      waiting += group.waiting;
      waitingBytes += group.waitingBytes;
    }
    const overBytes = waiting > 0 && waitingBytes + bytes > waitingBytesMax * share;
    if (waiting >= waitingMax || overBytes) {
      throw new GroupCommitFullError('Too many commits are waiting');
    }
  }

  /** From now on: who has erased one address will be asked about others. */
  #hash({ messages }: Submission): void {
    if (this.#haveErased.size >= HAVE_ERASED_MAX) this.#haveErased.clear();
    for (const { workspaceId } of messages) this.#haveErased.add(workspaceId);
  }

  #commitUsual(submissions: Submission[]): Promise<Outcome[]> {
    const recipients = recipientRefs(submissions, this.#parts.addressHash, (workspaceId) =>
      this.#haveErased.has(workspaceId),
    );
    return this.#commit(submissions, settleUsual(submissions), recipients);
  }

  async #commitLookedUp(submissions: Submission[]): Promise<Outcome[]> {
    const { pool, clock, addressHash } = this.#parts;
    const suppressed = await settle(pool, submissions, addressHash, clock.now());
    return this.#commit(submissions, suppressed, []);
  }

  async #commit(
    submissions: Submission[],
    suppressed: Suppressed,
    recipients: RecipientRef[],
  ): Promise<Outcome[]> {
    const { pool, clock, handover, sealer } = this.#parts;
    const waiting = submissions.flatMap((one) => one.messages);
    const queued = waiting.filter((message) => message.schedule.scheduledAtMs === null);
    const lease = handover.reserve(
      queued.reduce((sum, message) => sum + message.recipients.length, 0),
      queued.reduce((sum, message) => sum + message.bytes, 0),
    );
    try {
      const rows = submissions.map((one, place) => rowsOf(one, place, suppressed, lease, sealer));
      const outcomes = await insertSubmissions(pool, rows, recipients, clock.now());
      if (lease) {
        const accepted = submissions.filter((_, index) => outcomes[index] === 'written');
        handover.take(
          lease,
          accepted.flatMap((one) => handedOver(one, suppressed)),
        );
      }
      return outcomes;
    } catch (error) {
      // The commit may have happened all the same: then the lease runs out and the row is claimed.
      if (lease) handover.take(lease, []);
      throw error;
    }
  }
}

function nothingAccepted(refused: RefusedError[]): RefusedError {
  const errors = refused.flatMap((one) => one.errors);
  const codes = new Set(refused.map((one) => one.code));
  const code = codes.size === 1 ? (refused[0] as RefusedError).code : 'validation_failed';
  const detail =
    refused.length === 1
      ? `One message is not valid; nothing was accepted. ${refused[0]?.message ?? ''}`
      : `${refused.length} messages are not valid; nothing was accepted.`;
  return new RefusedError(code, detail, { errors });
}
