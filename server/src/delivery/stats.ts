/** Counters and gauges of the engine, for whoever exports them. */
export interface DeliveryStats {
  /** Deliveries in memory that wait for their turn. */
  readonly ready: number;
  /** Transactions being prepared or on the wire. */
  readonly onWire: number;
  /** Outcomes that are known and not yet in storage. */
  readonly unrecorded: number;
  /** Bytes of message contents held in memory. */
  readonly contentBytes: number;
  readonly handedOver: number;
  readonly claimed: number;
  readonly delivered: number;
  readonly deferred: number;
  readonly bounced: number;
  readonly failed: number;
  readonly expired: number;
  readonly suppressed: number;
  /** Results that came too late, and rows whose lease ran out while they waited here. */
  readonly leaseLost: number;
  /** Faults of ours while preparing or trying. */
  readonly faults: number;
}

export type MutableStats = { -readonly [Name in keyof DeliveryStats]: number };

export function newStats(): MutableStats {
  return {
    ready: 0,
    onWire: 0,
    unrecorded: 0,
    contentBytes: 0,
    handedOver: 0,
    claimed: 0,
    delivered: 0,
    deferred: 0,
    bounced: 0,
    failed: 0,
    expired: 0,
    suppressed: 0,
    leaseLost: 0,
    faults: 0,
  };
}
