import type { Domain, DomainStatus } from './domain.ts';
import type { RecordState } from './record-states.ts';

/**
 * Decides the status of a domain from the states of its records, and when to check them again. Pure
 * functions; no other file makes these decisions.
 *
 *   pending ──all found──▶ verified ──one missing──▶ degraded ──grace over──▶ failed
 *                             ▲────────────all found───────┴──────────────────────┘
 *
 * A degraded domain still sends; a failed one does not. A failed lookup changes nothing, because an
 * unresponsive name server does not mean that the record is missing. A trusted domain is always
 * verified.
 */

type DomainFacts = Pick<Domain, 'status' | 'trusted' | 'verifiedAtMs'>;

export function nextDomainStatus(
  domain: DomainFacts,
  records: readonly RecordState[],
  nowMs: number,
  graceMs: number,
): DomainStatus {
  if (domain.trusted) return 'verified';
  const notFound = blockingRecords(domain, records).filter((record) => record.status !== 'found');
  if (notFound.length === 0) return 'verified';
  const absent = notFound.filter(({ status }) => status === 'missing' || status === 'wrong');
  if (absent.length === 0) return domain.status;
  switch (domain.status) {
    case 'pending':
    case 'failed':
      return domain.status;
    case 'verified':
    case 'degraded':
      return absent.some((record) => nowMs >= graceEndsAtMs(record, graceMs))
        ? 'failed'
        : 'degraded';
  }
}

/** When a degraded domain will stop sending unless its records are restored; null if never. */
export function sendingStopsAtMs(
  domain: DomainFacts,
  records: readonly RecordState[],
  graceMs: number,
): number | null {
  if (domain.status !== 'degraded') return null;
  const deadlines = absentRecords(domain, records).map((record) => graceEndsAtMs(record, graceMs));
  const soonest = Math.min(...deadlines);
  return Number.isFinite(soonest) ? soonest : null;
}

/** Required records that are known to be missing or wrong. */
export function absentRecords(domain: DomainFacts, records: readonly RecordState[]): RecordState[] {
  return blockingRecords(domain, records).filter((record) => record.absentSinceMs !== null);
}

/**
 * A next key that a rotation created and that was never published does not count as missing: it is
 * needed for the next rotation, not for sending.
 */
function blockingRecords(domain: DomainFacts, records: readonly RecordState[]): RecordState[] {
  const isUnpublishedNextKey = (record: RecordState): boolean =>
    record.slot === 'next' && !record.everFound && domain.verifiedAtMs !== null;
  return records.filter((record) => record.required && !isUnpublishedNextKey(record));
}

/** Without its next key, a domain cannot rotate keys, but it can still send. */
function graceEndsAtMs(record: RecordState, graceMs: number): number {
  if (record.slot === 'next' || record.absentSinceMs === null) return Number.POSITIVE_INFINITY;
  return record.absentSinceMs + graceMs;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** No check is scheduled later than this; includes a margin for clock differences between nodes. */
export const CHECK_INTERVAL_MAX_MS = DAY_MS + HOUR_MS;

/**
 * When to check again. New domains are checked every minute, then at intervals of a twentieth of
 * their age, up to once a day. `jitter` (0 to 1) keeps domains that were added together from being
 * checked together forever.
 */
export function nextCheckAtMs(
  domain: DomainFacts & Pick<Domain, 'createdAtMs'>,
  records: readonly RecordState[],
  options: { nowMs: number; graceMs: number; jitter: number },
): number | null {
  const { nowMs, graceMs, jitter } = options;
  if (domain.trusted) return null;
  const dailyAtMs = nowMs + DAY_MS - jitter * (DAY_MS / 10);
  switch (domain.status) {
    case 'pending': {
      const ageMs = nowMs - domain.createdAtMs;
      return nowMs + Math.min(Math.max(MINUTE_MS, ageMs / 20), DAY_MS);
    }
    case 'verified': {
      const awaited = records.some((record) => record.required && record.status !== 'found');
      return awaited ? nowMs + HOUR_MS : dailyAtMs;
    }
    case 'degraded': {
      const endMs = sendingStopsAtMs(domain, records, graceMs) ?? Number.POSITIVE_INFINITY;
      return Math.max(nowMs + MINUTE_MS, Math.min(nowMs + HOUR_MS, endMs));
    }
    case 'failed':
      return dailyAtMs;
  }
}
