import type { Pool } from '../db/pool.ts';
import {
  type ClaimRequest,
  claimDue,
  findIdRange,
  type ScanRequest,
  scanQueues,
} from '../messages/deliveries/claim-store.ts';
import { countSuspects, releaseLeases, renewLeases } from '../messages/deliveries/lease-store.ts';
import { findRecorded, recordOutcomes } from '../messages/deliveries/outcome-store.ts';
import { type DecryptContent, readContents } from './content-store.ts';
import type { Delivery, DeliveryOutcome, Message } from './delivery.ts';
import { outcomeKey, outcomeRow } from './outcome-row.ts';

/** All database statements of the engine. */
export type DeliveryStore = ReturnType<typeof openDeliveryStore>;

/** The pool must be the engine's own, because its sessions are configured for these statements. */
export function openDeliveryStore(pool: Pool, decrypt: DecryptContent = withoutKey) {
  disableNonIndexPlans(pool);
  return {
    scan: (request: ScanRequest) => scanQueues(pool, request),
    claim: (request: ClaimRequest) => claimDue(pool, request),
    findRange: (nowMs: number) => findIdRange(pool, nowMs),
    renew: (deliveries: readonly Delivery[], endsAtMs: number) =>
      renewLeases(pool, deliveries, endsAtMs),
    release: (deliveries: readonly Delivery[], dueAtMs: number) =>
      releaseLeases(pool, deliveries, dueAtMs),
    countSuspects: (deliveries: readonly Delivery[], endsAtMs: number) =>
      countSuspects(pool, deliveries, endsAtMs),
    readContents: (messages: readonly Message[], bytesMax: number) =>
      readContents(pool, messages, bytesMax, decrypt),
    record: (outcomes: readonly DeliveryOutcome[]) =>
      recordOutcomes(pool, outcomes.map(outcomeRow)),
    findRecorded: (outcomes: readonly DeliveryOutcome[]) =>
      findRecorded(pool, outcomes.map(outcomeKey)),
  };
}

/**
 * Plans are cached for a long time while tables grow from nothing to millions of rows, and a plan
 * that suited an empty table (read everything, then sort) would be ruinous an hour later. Every
 * statement of the engine is a few lookups by key in index order, so these sessions allow nothing
 * else. Generic plans are forced, because planning each call took longer than executing it.
 */
export function disableNonIndexPlans(pool: Pool): void {
  pool.on('connect', (client) => {
    client.query(PLANNER_SETTINGS).catch(() => {});
  });
}

const PLANNER_SETTINGS = [
  'seqscan',
  'material',
  'bitmapscan',
  'hashjoin',
  'mergejoin',
  'sort',
  'incremental_sort',
]
  .map((method) => `set enable_${method} = off`)
  .concat('set plan_cache_mode = force_generic_plan')
  .join('; ');

/** Fails rather than returning the stored content, which would send the redacted text. */
function withoutKey(): never {
  throw new Error('Broken invariant: encrypted content is read only where it can be decrypted');
}
