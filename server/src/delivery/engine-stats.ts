/** Counters and gauges of the engine. */
export interface EngineStats {
  /** Deliveries in memory that wait to be attempted. */
  readonly ready: number;
  /** How many may wait at the current pace (ready-limit.ts). */
  readonly readyLimit: number;
  /** Transactions in preparation or in flight. */
  readonly inFlight: number;
  /** Outcomes that are not written to the database yet. */
  readonly unrecorded: number;
  /** Bytes of message content in memory. */
  readonly contentBytes: number;
  readonly handedOff: number;
  readonly claimed: number;
  readonly delivered: number;
  readonly deferred: number;
  readonly bounced: number;
  readonly failed: number;
  readonly expired: number;
  readonly suppressed: number;
  /** Outcomes that came too late, and rows whose lease expired while they waited here. */
  readonly leasesLost: number;
  /** Internal errors while preparing or attempting. */
  readonly errors: number;
  /** Receivers that limit us at the moment. */
  readonly throttled: number;
  /** 1 while accepted messages may be handed off in memory: see handoff.ts. */
  readonly accepting: number;
  /** The holder of this engine's leases, for those of the handoff (queue/lease-holder.ts). */
  readonly holderId: number;
  /** Deliveries ever reserved by acceptance, and how many of them were released since. */
  readonly reserved: number;
  readonly released: number;
  readonly reservedBytes: number;
  readonly releasedBytes: number;
}

export type MutableEngineStats = { -readonly [Name in keyof EngineStats]: number };

const NAMES = [
  'ready',
  'readyLimit',
  'inFlight',
  'unrecorded',
  'contentBytes',
  'handedOff',
  'claimed',
  'delivered',
  'deferred',
  'bounced',
  'failed',
  'expired',
  'suppressed',
  'leasesLost',
  'errors',
  'throttled',
  'accepting',
  'holderId',
  'reserved',
  'released',
  'reservedBytes',
  'releasedBytes',
] as const satisfies readonly (keyof EngineStats)[];

/** Shared memory for the stats. */
export function allocateStatsMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer(NAMES.length * Float64Array.BYTES_PER_ELEMENT);
}

/**
 * Stats in memory that threads may share. Each field has a single writer, so that no update is
 * lost: the accepting side writes the reservations, the engine everything else.
 */
export function sharedStats(memory: SharedArrayBuffer): MutableEngineStats {
  const values = new Float64Array(memory);
  const stats = {} as MutableEngineStats;
  NAMES.forEach((name, index) => {
    Object.defineProperty(stats, name, {
      enumerable: true,
      get: () => values[index],
      set: (value: number) => {
        values[index] = value;
      },
    });
  });
  return stats;
}
