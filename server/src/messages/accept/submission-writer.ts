import { isConnectionError, isNoConnection } from '../../db/connections/database-errors.ts';
import type { Pool } from '../../db/connections/pool.ts';
import type { Encryptor } from '../../lib/crypto/encryption.ts';
import { RefusedError } from '../../lib/refused-error.ts';
import { GroupCommit, GroupCommitFullError } from '../../lib/scheduling/group-commit.ts';
import type { Clock } from '../../lib/time/clock.ts';
import type { AddressHash } from '../../suppressions/erased-address.ts';
import { type InsertOutcome, insertSubmissions, type RecipientRef } from './accept-store.ts';
import type { DeliveryHandoff } from './delivery-handoff.ts';
import { isMessageIdTaken } from './message-id-store.ts';
import { messageIdInUse } from './message-ids.ts';
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
 * Writes submissions to the database. Concurrent ones share a commit. Those that were written are handed
 * to the delivery engine if it has capacity. Memory is bounded: a submission is refused if too much is
 * waiting.
 */

export interface SubmissionWriterParts {
  pool: Pool;
  clock: Clock;
  handoff: DeliveryHandoff;
  addressHash: AddressHash;
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

/**
 * Commits of at least this size are slow. They have queues of their own, so that small sends do not
 * wait for them.
 */
const LARGE_BYTES_MIN = 256 * 1024;
/** The share of the queue that large submissions may fill. */
const LARGE_QUEUE_SHARE = 3 / 4;

interface Writers {
  /** Submissions whose recipients are assumed not to be suppressed. */
  optimistic: GroupCommit<Submission, InsertOutcome>;
  /** Submissions whose recipients were looked up in the suppression list first. */
  checked: GroupCommit<Submission, InsertOutcome>;
}

/** Clearing the set costs each workspace in it one extra lookup. */
const WORKSPACES_WITH_ERASURES_MAX = 10_000;

export class SubmissionWriter {
  readonly #parts: SubmissionWriterParts;
  readonly #unconfirmed: UnconfirmedLeases;
  readonly #small: Writers;
  readonly #large: Writers;
  /** In draining order: a checked submission may have waited in an optimistic queue before. */
  readonly #groups: readonly GroupCommit<Submission, InsertOutcome>[];
  /** Workspaces that are known to have erased an address. */
  readonly #workspacesWithErasures = new Set<string>();

  constructor(parts: SubmissionWriterParts) {
    this.#parts = parts;
    this.#unconfirmed = new UnconfirmedLeases(parts.pool, parts.clock);
    this.#small = this.#createWriters();
    this.#large = this.#createWriters();
    this.#groups = [this.#small, this.#large].flatMap(({ optimistic, checked }) => [
      optimistic,
      checked,
    ]);
  }

  /** Resolves when the commit of the submission has ended. `bytes` is the size of its messages. */
  async write(submission: Submission, bytes: number): Promise<InsertOutcome> {
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

  /** Resolves when everything added so far is committed. */
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
      } else if (queued.length > 0 && outcomes.includes('written')) handoff.leave();
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
