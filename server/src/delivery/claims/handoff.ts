import type { Clock } from '../../lib/time/clock.ts';
import type { Lease } from '../../messages/accept/delivery-handoff.ts';
import { newLeaseToken } from '../../queue/lease.ts';
import type { EngineLimits } from '../engine-limits.ts';
import type { MutableEngineStats } from '../engine-stats.ts';

/**
 * Handoff of accepted messages to the engine in memory, without a claim. Before the commit, the
 * accepting side reserves capacity and gets a lease for the rows; without capacity they are stored
 * unleased and claimed later. The reservation needs only the shared stats, so that the engine can run
 * in another thread.
 */
export function reserveCapacity(
  parts: HandoffParts,
  count: number,
  bytes: number,
): Lease | undefined {
  const { stats, clock, limits } = parts;
  const ready = stats.ready + stats.reserved - stats.released + count;
  const contentBytes = stats.contentBytes + stats.reservedBytes - stats.releasedBytes + bytes;
  // A quarter stays free for claims. Otherwise a flood of sends would starve deliveries due now.
  const full = ready > stats.readyLimit * 0.75 || contentBytes > limits.contentBytesMax;
  if (stats.accepting === 0 || full) return undefined;
  stats.reserved += count;
  stats.reservedBytes += bytes;
  const token = newLeaseToken(stats.holderId);
  return { token, endsAtMs: clock.now() + limits.leaseMs, count, bytes };
}

export interface HandoffParts {
  stats: MutableEngineStats;
  clock: Clock;
  limits: Pick<EngineLimits, 'contentBytesMax' | 'leaseMs'>;
}

/** Called by the engine when reserved messages have arrived, or will not arrive. */
export function releaseReservation(stats: MutableEngineStats, lease: Lease): void {
  stats.released += lease.count;
  stats.releasedBytes += lease.bytes;
}
