import type { CheckedRecord } from './check-records.ts';
import type { Mistake, RecordStatus } from './check-result.ts';
import { type DomainRecord, recordsToPublish } from './dns-records.ts';
import type { Domain, DomainKey, KeySlot, KnownStatus, MailHosts, RecordCheck } from './domain.ts';

/**
 * The records that a domain should publish, joined with the stored results of past checks. Results
 * are keyed by type, name and value: a record whose expected value changes starts over, and a DKIM
 * key keeps its history when it moves from next to current.
 */

export interface RecordState extends DomainRecord {
  /** The role of the key, for DKIM records. */
  slot: KeySlot | null;
  /** `pending`: not checked yet. */
  status: RecordStatus | 'pending';
  found: readonly string[];
  mistakes: readonly Mistake[];
  lastKnown: KnownStatus | null;
  everFound: boolean;
  absentSinceMs: number | null;
}

export function recordStates(domain: Domain, hosts: MailHosts, nowMs: number): RecordState[] {
  const checks = new Map(domain.checks.map((check) => [recordKey(check), check]));
  const keys = keysToPublish(domain, nowMs);
  const slots = new Map(keys.map((key) => [keyRecordName(domain, key), key.slot]));
  return recordsToPublish({
    domain: domain.name,
    ownershipToken: domain.ownershipToken,
    keys,
    returnPathHost: domain.returnPathHost,
    bounceHost: hosts.bounceHost,
    spfMechanism: hosts.spfMechanism,
    receiving: domain.receiving,
    ...(domain.trackingHost === null
      ? {}
      : { tracking: { host: domain.trackingHost, target: hosts.trackingTarget } }),
  }).map((record) => {
    const check = checks.get(recordKey(record));
    return {
      ...record,
      slot: slots.get(record.name) ?? null,
      status: check?.status ?? 'pending',
      found: check?.found ?? [],
      mistakes: check?.mistakes ?? [],
      lastKnown: check?.lastKnown ?? null,
      everFound: check?.everFound ?? false,
      absentSinceMs: check?.absentSinceMs ?? null,
    };
  });
}

/** The results to store after a check. Records that are no longer expected are dropped. */
export function mergeChecks(
  states: readonly RecordState[],
  checked: readonly CheckedRecord[],
  nowMs: number,
): RecordCheck[] {
  const checkedByKey = new Map(checked.map((record) => [recordKey(record), record]));
  return states.flatMap((state) => {
    const result = checkedByKey.get(recordKey(state));
    const status = result?.status ?? state.status;
    if (status === 'pending') return [];
    const { type, name, value } = state;
    const lastKnown = status === 'lookup_failed' ? state.lastKnown : status;
    const isAbsent = lastKnown === 'missing' || lastKnown === 'wrong';
    return {
      type,
      name,
      value,
      status,
      found: result?.found ?? state.found,
      mistakes: result?.mistakes ?? state.mistakes,
      lastKnown,
      everFound: state.everFound || status === 'found',
      absentSinceMs: isAbsent ? (state.absentSinceMs ?? nowMs) : null,
    };
  });
}

/** Whether the key's record was found by the last conclusive check. */
export function isKeyRecordFound(
  domain: Pick<Domain, 'name' | 'checks'>,
  key: Pick<DomainKey, 'selector' | 'dnsValue'>,
): boolean {
  const name = keyRecordName(domain, key);
  return domain.checks.some(
    (check) => check.name === name && check.value === key.dnsValue && check.lastKnown === 'found',
  );
}

/** The keys in the order in which their records are listed. */
export function keysToPublish(domain: Domain, nowMs: number): DomainKey[] {
  return domain.keys.filter((key) => shouldBePublished(key, nowMs)).sort(byListOrder);
}

/** Receivers may verify mail signed with a retired key until this much later. */
const RETIRED_KEY_OVERLAP_MS = 7 * 24 * 3_600_000;

/** Retired keys stay published while their mail is in transit. */
export function shouldBePublished(key: DomainKey, nowMs: number): boolean {
  return key.retiredAtMs === null || nowMs < key.retiredAtMs + RETIRED_KEY_OVERLAP_MS;
}

function keyRecordName(domain: Pick<Domain, 'name'>, key: { selector: string }): string {
  return `${key.selector}._domainkey.${domain.name}`;
}

function recordKey(record: { type: string; name: string; value: string }): string {
  return `${record.type} ${record.name} ${record.value}`;
}

const SLOT_ORDER: Readonly<Record<KeySlot, number>> = { current: 0, next: 1, retired: 2 };

/** RSA before Ed25519, current before next, retired last. */
function byListOrder(a: DomainKey, b: DomainKey): number {
  const retired = Number(a.slot === 'retired') - Number(b.slot === 'retired');
  if (retired !== 0) return retired;
  if (a.algorithm !== b.algorithm) return a.algorithm === 'rsa' ? -1 : 1;
  return SLOT_ORDER[a.slot] - SLOT_ORDER[b.slot] || (a.selector < b.selector ? -1 : 1);
}
