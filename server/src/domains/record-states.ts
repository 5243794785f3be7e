import type { CheckedRecord, Mistake, RecordStatus } from './check-records.ts';
import { type DomainRecord, recordsToPublish } from './dns-records.ts';
import type { Domain, DomainKey, KeySlot, MailHosts } from './domain.ts';

/**
 * The records a domain should publish, joined with what is remembered of each. What was found is
 * kept under type, name and value: a record whose wanted value changes starts anew, and a DKIM key
 * keeps its history when it moves from next to current.
 */

/** What is stored of the last look at one record. */
export interface RecordCheck {
  type: DomainRecord['type'];
  name: string;
  value: string;
  status: RecordStatus;
  found: readonly string[];
  mistakes: readonly Mistake[];
  /** The last answer that told something: a failed look-up leaves it as it was. */
  lastKnown: KnownStatus | null;
  everFound: boolean;
  /** Since when it is known not to be there. */
  goneSinceMs: number | null;
}

export type KnownStatus = Exclude<RecordStatus, 'lookup_failed'>;

export interface RecordState extends DomainRecord {
  /** Of a DKIM record: what its key is for now. */
  slot: KeySlot | null;
  /** `pending`: not looked up yet. */
  status: RecordStatus | 'pending';
  found: readonly string[];
  mistakes: readonly Mistake[];
  lastKnown: KnownStatus | null;
  everFound: boolean;
  goneSinceMs: number | null;
}

export function recordStates(domain: Domain, hosts: MailHosts, nowMs: number): RecordState[] {
  const known = new Map(domain.checks.map((check) => [identity(check), check]));
  const keys = publishedKeys(domain, nowMs);
  const slots = new Map(keys.map((key) => [keyRecordName(domain, key), key.slot]));
  return recordsToPublish({
    domain: domain.name,
    ownershipToken: domain.ownershipToken,
    keys,
    returnPathHost: domain.returnPathHost,
    bounceHost: hosts.bounceHost,
    spfMechanism: hosts.spfMechanism,
    ...(domain.trackingHost === null
      ? {}
      : { tracking: { host: domain.trackingHost, target: hosts.trackingTarget } }),
  }).map((record) => {
    const check = known.get(identity(record));
    return {
      ...record,
      slot: slots.get(record.name) ?? null,
      status: check?.status ?? 'pending',
      found: check?.found ?? [],
      mistakes: check?.mistakes ?? [],
      lastKnown: check?.lastKnown ?? null,
      everFound: check?.everFound ?? false,
      goneSinceMs: check?.goneSinceMs ?? null,
    };
  });
}

/** What is remembered after a check. Records that are no longer wanted are forgotten. */
export function noteChecks(
  states: readonly RecordState[],
  checked: readonly CheckedRecord[],
  nowMs: number,
): RecordCheck[] {
  const fresh = new Map(checked.map((record) => [identity(record), record]));
  return states.flatMap((state) => {
    const seen = fresh.get(identity(state));
    const status = seen?.status ?? state.status;
    if (status === 'pending') return [];
    const { type, name, value } = state;
    const lastKnown = status === 'lookup_failed' ? state.lastKnown : status;
    const isGone = lastKnown === 'missing' || lastKnown === 'wrong';
    return {
      type,
      name,
      value,
      status,
      found: seen?.found ?? state.found,
      mistakes: seen?.mistakes ?? state.mistakes,
      lastKnown,
      everFound: state.everFound || status === 'found',
      goneSinceMs: isGone ? (state.goneSinceMs ?? nowMs) : null,
    };
  });
}

/** Whether the key's own record was there when it could last be told. */
export function isKeyFound(domain: Domain, key: Pick<DomainKey, 'selector' | 'dnsValue'>): boolean {
  const name = keyRecordName(domain, key);
  return domain.checks.some(
    (check) => check.name === name && check.value === key.dnsValue && check.lastKnown === 'found',
  );
}

/** The keys in the order in which their records are listed. */
export function publishedKeys(domain: Domain, nowMs: number): DomainKey[] {
  return domain.keys.filter((key) => isPublished(key, nowMs)).sort(inOrder);
}

/** Mail signed with a retired key may be checked by its receiver as late as this. */
const OVERLAP_MS = 7 * 24 * 3_600_000;

/** Retired keys stay published for a while: their mail is still on its way. */
export function isPublished(key: DomainKey, nowMs: number): boolean {
  return key.retiredAtMs === null || nowMs < key.retiredAtMs + OVERLAP_MS;
}

function keyRecordName(domain: Pick<Domain, 'name'>, key: { selector: string }): string {
  return `${key.selector}._domainkey.${domain.name}`;
}

function identity(record: { type: string; name: string; value: string }): string {
  return `${record.type} ${record.name} ${record.value}`;
}

const SLOT_ORDER: Readonly<Record<KeySlot, number>> = { current: 0, next: 1, retired: 2 };

/** RSA before Ed25519, what signs before what will, what did at the end. */
function inOrder(a: DomainKey, b: DomainKey): number {
  const retired = Number(a.slot === 'retired') - Number(b.slot === 'retired');
  if (retired !== 0) return retired;
  if (a.algorithm !== b.algorithm) return a.algorithm === 'rsa' ? -1 : 1;
  return SLOT_ORDER[a.slot] - SLOT_ORDER[b.slot] || (a.selector < b.selector ? -1 : 1);
}
