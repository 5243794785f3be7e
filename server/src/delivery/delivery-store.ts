import type { Pool } from '../db/pool.ts';
import {
  type ClaimRequest,
  claimDue,
  findIdRange,
  disableNonIndexPlans,
  type ScanRequest,
  scanQueues,
} from './claim-store.ts';
import { type DecryptContent, readContents } from './content-store.ts';
import type { Delivery, Message, DeliveryOutcome } from './delivery.ts';
import { countSuspects, releaseLeases, renewLeases } from './lease-store.ts';
import { findRecorded, recordOutcomes } from './outcome-store.ts';

/** Everything the engine asks of the database. */
export type DeliveryStore = ReturnType<typeof openDeliveryStore>;

/** The pool must be the engine's own: its sessions are set up for these statements alone. */
export function openDeliveryStore(pool: Pool, openSealed: DecryptContent = withoutKey) {
  disableNonIndexPlans(pool);
  return {
    walk: (request: ScanRequest) => scanQueues(pool, request),
    claim: (request: ClaimRequest) => claimDue(pool, request),
    findRange: (nowMs: number) => findIdRange(pool, nowMs),
    renew: (held: readonly Delivery[], endsAtMs: number) => renewLeases(pool, held, endsAtMs),
    release: (held: readonly Delivery[], dueAtMs: number) => releaseLeases(pool, held, dueAtMs),
    countSuspects: (held: readonly Delivery[], endsAtMs: number) =>
      countSuspects(pool, held, endsAtMs),
    readContents: (messages: readonly Message[], bytesMax: number) =>
      readContents(pool, messages, bytesMax, openSealed),
    record: (outcomes: readonly DeliveryOutcome[]) => recordOutcomes(pool, outcomes),
    findRecorded: (outcomes: readonly DeliveryOutcome[]) => findRecorded(pool, outcomes),
  };
}

/** Never as it is stored: that would send the redacted words. */
function withoutKey(): never {
  throw new Error('Broken invariant: sealed words are read by who can open them');
}
