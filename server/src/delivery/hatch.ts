import type { Clock } from '../lib/clock.ts';
import type { Lease } from '../messages/handover.ts';
import type { EngineLimits } from './engine-limits.ts';
import { newLease } from './lease.ts';
import type { MutableStats } from './stats.ts';

/**
 * The accepting side of the hatch: a lease for what is about to be committed, as long as the engine
 * has room for it. It needs the figures alone, so that the engine may run in another thread.
 */
export function reserve(parts: HatchParts, count: number, bytes: number): Lease | undefined {
  const { stats, clock, limits } = parts;
  const waiting = stats.ready + stats.reserved - stats.settled + count;
  const inMemory = stats.contentBytes + stats.reservedBytes - stats.settledBytes + bytes;
  // A quarter stays free for claims: otherwise a flood at this door would hide what others wait for.
  const full = waiting > limits.readyMax * 0.75 || inMemory > limits.contentBytesMax;
  if (stats.open === 0 || full) return undefined;
  stats.reserved += count;
  stats.reservedBytes += bytes;
  return { token: newLease(), endsAtMs: clock.now() + limits.leaseMs, count, bytes };
}

export interface HatchParts {
  stats: MutableStats;
  clock: Clock;
  limits: Pick<EngineLimits, 'readyMax' | 'contentBytesMax' | 'leaseMs'>;
}

/** The engine's side: what was reserved has come, or will not come. */
export function settle(stats: MutableStats, lease: Lease): void {
  stats.settled += lease.count;
  stats.settledBytes += lease.bytes;
}
