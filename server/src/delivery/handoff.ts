import type { Clock } from '../lib/clock.ts';
import type { Lease } from '../messages/accept/delivery-handoff.ts';
import type { EngineLimits } from './engine-limits.ts';
import { newLeaseToken } from './lease.ts';
import type { MutableEngineStats } from './engine-stats.ts';

/**
 * The accepting side of the hatch: a lease for what is about to be committed, as long as the engine
 * has room for it. It needs the figures alone, so that the engine may run in another thread.
 */
export function reserveCapacity(parts: HandoffParts, count: number, bytes: number): Lease | undefined {
  const { stats, clock, limits } = parts;
  const waiting = stats.ready + stats.reserved - stats.released + count;
  const inMemory = stats.contentBytes + stats.reservedBytes - stats.releasedBytes + bytes;
  // A quarter stays free for claims: otherwise a flood at this door would hide what others wait for.
  const full = waiting > limits.readyMax * 0.75 || inMemory > limits.contentBytesMax;
  if (stats.accepting === 0 || full) return undefined;
  stats.reserved += count;
  stats.reservedBytes += bytes;
  return { token: newLeaseToken(), endsAtMs: clock.now() + limits.leaseMs, count, bytes };
}

export interface HandoffParts {
  stats: MutableEngineStats;
  clock: Clock;
  limits: Pick<EngineLimits, 'readyMax' | 'contentBytesMax' | 'leaseMs'>;
}

/** The engine's side: what was reserved has come, or will not come. */
export function releaseReservation(stats: MutableEngineStats, lease: Lease): void {
  stats.released += lease.count;
  stats.releasedBytes += lease.bytes;
}
