import type { Log } from '../../lib/log.ts';
import type { Clock } from '../../lib/time/clock.ts';
import type { ClaimedRow, Queue } from '../../messages/deliveries/claim-store.ts';
import { type ClaimCapacity, ClaimLoop } from '../../queue/claim-loop.ts';
import type { LeaseTerms } from '../../queue/lease.ts';
import { type LeaseHolder, soleHolder } from '../../queue/lease-holder.ts';
import type { LeaseKeeper } from '../../queue/lease-keeper.ts';
import type { ReadyQueue } from '../../queue/ready-queue.ts';
import type { WithheldWorkspaces } from '../../queue/withheld-workspaces.ts';
import type { Delivery } from '../delivery.ts';
import type { EngineLimits } from '../engine-limits.ts';
import type { MutableEngineStats } from '../engine-stats.ts';
import { outcomeAtClaim } from '../outcomes/delivery-outcome.ts';
import type { OutcomeRecorder } from '../outcomes/outcome-recorder.ts';
import type { DeliveryStore } from './delivery-store.ts';
import type { LeasedMessages } from './leased-messages.ts';
import { UnfinishedRange } from './unfinished-range.ts';

export interface DeliveryClaimsParts {
  store: Pick<DeliveryStore, 'findRange' | 'scan' | 'claim'>;
  clock: Clock;
  log: Log;
  nodeName: string;
  limits: EngineLimits;
  stats: MutableEngineStats;
  holder: LeaseHolder;
  leased: LeasedMessages;
  leases: LeaseKeeper<Delivery>;
  ready: ReadyQueue<Delivery>;
  withheld: WithheldWorkspaces;
  recorder: OutcomeRecorder;
  isRunning: () => boolean;
  /** Deliveries were put into the ready queue. */
  onAdmitted: () => void;
}

const POLL_REST_MS = 5_000;

/**
 * Claims due deliveries as far as there is capacity. Each claimed row ends in one of four ways: it waits
 * in the ready queue, an outcome that needs no attempt is recorded, an earlier outcome of it gets the
 * new lease, or its lease is released.
 */
export class DeliveryClaims {
  readonly #parts: DeliveryClaimsParts;
  readonly #range: UnfinishedRange;
  readonly #loop: ClaimLoop<Queue, ClaimedRow>;
  /** More is claimed when the ready queue shrinks to this size. */
  #refillBelow = 0;

  constructor(parts: DeliveryClaimsParts) {
    this.#parts = parts;
    const { store, clock, log, limits, holder } = parts;
    this.#range = new UnfinishedRange(store.findRange, clock);
    this.#loop = new ClaimLoop({
      what: 'deliveries',
      clock,
      stopwatchMs: () => performance.now(),
      log,
      queueId: ({ workspaceId, shard }) => `${workspaceId}/${shard}`,
      queueIdOfRow: (row) => `${row.workspace_id}/${row.shard}`,
      scan: async (after, queuesMax) => {
        if (!after) await this.#range.refresh();
        return store.scan({ after, queuesMax, range: this.#range.current });
      },
      claim: (queues, terms) =>
        store.claim({
          queues,
          terms,
          range: this.#range.current,
          retryWindowMs: limits.retryWindowMs,
        }),
      probe: () => this.#range.probe(),
      capacity: () => this.#capacity(),
      admit: (rows, terms) => this.#admit(rows, terms),
      holderId: () => holder.id,
      leaseMs: limits.leaseMs,
      pollMs: limits.pollMs,
      pollRestMs: holder === soleHolder ? POLL_REST_MS : limits.pollMs,
    });
  }

  start(): void {
    this.#loop.start();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /** Rows may have become due. */
  notifyDue(): void {
    this.#range.notifyDue();
    this.#loop.notifyDue();
  }

  /** There is capacity again. */
  wake(): void {
    this.#loop.wake();
  }

  /** Rows were inserted that this engine need not claim, or not yet. */
  expectRows(): void {
    this.#loop.expectRows();
  }

  /** Resolves when the rows of a claim in progress, if there is one, have been admitted. */
  claimed(): Promise<void> {
    return this.#loop.claimed();
  }

  /** Claims more if the ready queue has shrunk. */
  refill(): void {
    if (this.#loop.hasBacklog && this.#parts.ready.size <= this.#refillBelow) this.#loop.wake();
  }

  #capacity(): ClaimCapacity<Queue> {
    const { stats, limits, recorder, holder, ready, withheld } = this.#parts;
    const { readyLimit } = stats;
    const blocked = recorder.stalled || !holder.isAlive || stats.unrecorded >= limits.unrecordedMax;
    const reserved = stats.reserved - stats.released;
    const free = readyLimit - ready.size - reserved;
    // A nearly full queue is not refilled: many small claims cost more than a few large ones.
    if (blocked || free < readyLimit / 8) return { rowsMax: 0, perQueue: () => 0 };
    const full = new Set(ready.workspacesHolding(Math.floor(readyLimit / 4)));
    // Rows are locked while they are claimed, so a claim stays small whatever the limit.
    const rowsMax = Math.min(free, Math.floor(limits.readyMax / 4));
    return {
      rowsMax,
      perQueue: ({ workspaceId }) =>
        full.has(workspaceId) || withheld.has(workspaceId) ? 0 : rowsMax,
    };
  }

  #admit(rows: ClaimedRow[], { lease, leaseEndsAtMs }: LeaseTerms): void {
    const { clock, nodeName, log, stats, holder, leased, leases, ready } = this.#parts;
    const nowMs = clock.now();
    const wanted = this.#parts.isRunning() && holder.issued(lease);
    stats.claimed += rows.length;
    leases.added();
    const unwanted: Delivery[] = [];
    for (const row of rows) {
      const unrecorded = leased.findUnrecorded(row);
      if (unrecorded) {
        // Sending it again would be a duplicate: the outcome is written under the new lease.
        unrecorded.lease = row.lease;
        unrecorded.leaseEndsAtMs = leaseEndsAtMs;
        continue;
      }
      const delivery = leased.addClaimed(row, leaseEndsAtMs, nowMs);
      const ended = outcomeAtClaim(delivery, row, nowMs, nodeName);
      if (ended) this.#parts.recorder.record(ended);
      else if (wanted && !this.#parts.withheld.has(row.workspace_id)) ready.add(delivery);
      else unwanted.push(delivery);
      if (ended?.reason === 'internal_error') {
        const { message_id: messageId, ordinal } = row;
        log.error({ messageId, ordinal }, 'delivery failed: no node survived attempting it');
      }
    }
    if (unwanted.length > 0) void leases.release(unwanted);
    this.#refillBelow = ready.size - this.#parts.limits.readyMax / 8;
    this.#parts.onAdmitted();
  }
}
