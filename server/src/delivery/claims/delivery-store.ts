import type { Pool } from '../../db/connections/pool.ts';
import { disableNonIndexPlans } from '../../db/schema/index-plans.ts';
import {
  type ClaimRequest,
  claimDue,
  findIdRange,
  type ScanRequest,
  scanQueues,
} from '../../messages/deliveries/claim-store.ts';
import { countSuspects, DELIVERIES } from '../../messages/deliveries/delivery-lease-store.ts';
import { findRecorded, recordOutcomes } from '../../messages/deliveries/outcome-store.ts';
import { releaseLeases, renewLeases } from '../../queue/lease-store.ts';
import type { Delivery, DeliveryOutcome, Message } from '../delivery.ts';
import { outcomeKey, outcomeRow } from '../outcomes/outcome-row.ts';
import { type DecryptContent, readContents } from './content-store.ts';

/** All database statements of the engine. */
export type DeliveryStore = ReturnType<typeof openDeliveryStore>;

/** The pool must be the engine's own, because its sessions are configured for these statements. */
export function openDeliveryStore(pool: Pool, decrypt: DecryptContent = withoutKey) {
  disableNonIndexPlans(pool, ENGINE_PLANS);
  return {
    scan: (request: ScanRequest) => scanQueues(pool, request),
    claim: (request: ClaimRequest) => claimDue(pool, request),
    findRange: (nowMs: number) => findIdRange(pool, nowMs),
    renew: (deliveries: readonly Delivery[], endsAtMs: number) =>
      renewLeases(pool, DELIVERIES, deliveries, endsAtMs),
    release: (deliveries: readonly Delivery[], dueAtMs: number) =>
      releaseLeases(pool, DELIVERIES, deliveries, dueAtMs),
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

/** Generic plans are forced, because planning each call took longer than executing it. */
export const ENGINE_PLANS = [
  'set enable_material = off',
  'set enable_sort = off',
  'set enable_incremental_sort = off',
  'set plan_cache_mode = force_generic_plan',
];

/** Fails rather than returning the stored content, which would send the redacted text. */
function withoutKey(): never {
  throw new Error('Broken invariant: encrypted content is read only where it can be decrypted');
}
