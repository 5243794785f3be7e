/** Counters and gauges of the engine, for whoever exports them. */
export interface EngineStats {
  /** Deliveries in memory that wait for their turn. */
  readonly ready: number;
  /** Transactions being prepared or on the wire. */
  readonly inFlight: number;
  /** Outcomes that are known and not yet in storage. */
  readonly unrecorded: number;
  /** Bytes of message contents held in memory. */
  readonly contentBytes: number;
  readonly handedOff: number;
  readonly claimed: number;
  readonly delivered: number;
  readonly deferred: number;
  readonly bounced: number;
  readonly failed: number;
  readonly expired: number;
  readonly suppressed: number;
  /** Results that came too late, and rows whose lease ran out while they waited here. */
  readonly leasesLost: number;
  /** Faults of ours while preparing or trying. */
  readonly errors: number;
  /** 1 while what is accepted may be handed over in memory: see hatch.ts. */
  readonly accepting: number;
  /** Room that was ever asked for by acceptance, and what of it has been settled since. */
  readonly reserved: number;
  readonly released: number;
  readonly reservedBytes: number;
  readonly releasedBytes: number;
}

export type MutableEngineStats = { -readonly [Name in keyof EngineStats]: number };

const NAMES = [
  'ready',
  'onWire',
  'unrecorded',
  'contentBytes',
  'handedOver',
  'claimed',
  'delivered',
  'deferred',
  'bounced',
  'failed',
  'expired',
  'suppressed',
  'leaseLost',
  'faults',
  'open',
  'reserved',
  'settled',
  'reservedBytes',
  'settledBytes',
] as const satisfies readonly (keyof EngineStats)[];

/** Memory for the figures, for two threads to look at. */
export function allocateStatsMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer(NAMES.length * Float64Array.BYTES_PER_ELEMENT);
}

/**
 * Figures in memory that threads may share. Each has one writer, so that none is lost: whoever
 * accepts writes what it has reserved, the engine all the others.
 */
export function sharedStats(memory: SharedArrayBuffer): MutableEngineStats {
  const figures = new Float64Array(memory);
  const stats = {} as MutableEngineStats;
  NAMES.forEach((name, place) => {
    Object.defineProperty(stats, name, {
      enumerable: true,
      get: () => figures[place],
      set: (value: number) => {
        figures[place] = value;
      },
    });
  });
  return stats;
}
