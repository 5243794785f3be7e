import type { Domain, DomainStatus } from './domain.ts';
import type { RecordState } from './record-states.ts';

/**
 * The one file that decides what a domain's records make of it, and when to look again. Pure: the
 * domain and the states of its records come in, its next status leaves.
 *
 *   pending ──all found──▶ verified ──one vanished──▶ degraded ──grace over──▶ failed
 *                             ▲────────────all found────────┴──────────────────────┘
 *
 * A degraded domain goes on sending; a failed one does not. A look-up that failed changes nothing:
 * a name server that is silent has not said that the record is gone. A trusted domain is verified
 * whatever its records say.
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
      return absent.some((record) => nowMs >= graceEndsAtMs(record, graceMs)) ? 'failed' : 'degraded';
  }
}

/** When a degraded domain will stop sending unless its records come back; null: not at all. */
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

/** What keeps the domain from being verified, as far as is known. */
export function absentRecords(domain: DomainFacts, records: readonly RecordState[]): RecordState[] {
  return blockingRecords(domain, records).filter((record) => record.absentSinceMs !== null);
}

/**
 * A next key that was made by a rotation and never published yet is no loss: it is needed for the
 * next rotation, not for what is sent until then.
 */
function blockingRecords(domain: DomainFacts, records: readonly RecordState[]): RecordState[] {
  const isUnpublishedNextKey = (record: RecordState): boolean =>
    record.slot === 'next' && !record.everFound && domain.verifiedAtMs !== null;
  return records.filter((record) => record.required && !isUnpublishedNextKey(record));
}

/** Without its next key a domain cannot rotate, but what it sends is as good as before. */
function graceEndsAtMs(record: RecordState, graceMs: number): number {
  if (record.slot === 'next' || record.absentSinceMs === null) return Number.POSITIVE_INFINITY;
  return record.absentSinceMs + graceMs;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** No look is further ahead; with room for the clocks of nodes that differ. */
export const CHECK_INTERVAL_MAX_MS = DAY_MS + HOUR_MS;

/**
 * When to look again. Somebody who has just added a domain waits for it: every minute at first, and
 * then each time a twentieth of its age later, down to once a day. `spread` between 0 and 1 keeps
 * domains that were added together from being checked together for ever.
 */
export function nextCheckAtMs(
  domain: DomainFacts & Pick<Domain, 'createdAtMs'>,
  records: readonly RecordState[],
  options: { nowMs: number; graceMs: number; jitter: number },
): number | null {
  const { nowMs, graceMs, jitter: spread } = options;
  if (domain.trusted) return null;
  const dailyAtMs = nowMs + DAY_MS - spread * (DAY_MS / 10);
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
