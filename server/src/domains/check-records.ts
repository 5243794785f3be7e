import { unreachable } from '../lib/assert.ts';
import type { DnsAnswer } from '../mail/dns/answer.ts';
import type { MxRecord } from '../mail/dns/dns-message.ts';
import { normalizeDnsName } from '../mail/dns/dns-name.ts';
import type { Resolver } from '../mail/dns/resolver.ts';
import { checkDkim } from './check-dkim.ts';
import { checkDmarc } from './check-dmarc.ts';
import {
  type CheckResult,
  type CheckTexts,
  invalid,
  isSplitAcrossRecords,
  MISSING,
  type Mistake,
  type MistakeCode,
  type RecordStatus,
  stripWhitespace,
  VALID,
} from './check-result.ts';
import { checkSpf } from './check-spf.ts';
import { type DomainRecord, OWNERSHIP_PREFIX } from './dns-records.ts';

/**
 * Checks the published DNS records of a domain against the expected ones. Each record comes back
 * with the values found and, if they do not match, the mistakes explained for the domain's owner.
 * Lookups bypass the cache, because the owner may just have changed the records. A failed lookup
 * says nothing about the record.
 */

export interface CheckedRecord extends DomainRecord {
  status: RecordStatus;
  /** The relevant values published at the name. */
  found: readonly string[];
  /** Why the record does not match; a matching record may have warnings. */
  mistakes: readonly Mistake[];
}

export async function checkRecords(
  records: readonly DomainRecord[],
  resolver: Resolver,
): Promise<CheckedRecord[]> {
  return Promise.all(
    records.map(async (record) => truncateRecord(await checkRecord(record, resolver))),
  );
}

async function checkRecord(record: DomainRecord, resolver: Resolver): Promise<CheckedRecord> {
  const lookup = await lookUpRecord(record.name, record, resolver);
  if (lookup.kind === 'failed') {
    const mistakes = [{ code: 'lookup_failed', detail: lookup.detail } as const];
    return { ...record, status: 'lookup_failed', found: [], mistakes };
  }
  const found = lookup.values;
  if (lookup.result.status === 'found') return { ...record, ...lookup.result, found };

  const isMissing = lookup.result.status === 'missing';
  // In parallel: an unresponsive name server costs one timeout, not one per lookup.
  const [parent, misplaced, cname] = await Promise.all([
    isMissing && record.purpose === 'dmarc' ? findParentDmarcPolicy(record, resolver) : undefined,
    isMissing ? findMisplacedRecord(record, resolver) : [],
    findConflictingCname(record, resolver),
  ]);
  if (parent) return { ...record, ...parent };
  const mistakes = [...lookup.result.mistakes, ...misplaced, ...cname];
  return { ...record, status: lookup.result.status, found, mistakes };
}

const FOUND_VALUES_MAX = 10;
const TEXT_LENGTH_MAX = 2000;

/** Bounds what a hostile zone can make us store and display; mistakes quote its values too. */
function truncateRecord(checked: CheckedRecord): CheckedRecord {
  return {
    ...checked,
    found: checked.found.slice(0, FOUND_VALUES_MAX).map(truncate),
    mistakes: checked.mistakes.map(({ code, detail }) => ({ code, detail: truncate(detail) })),
  };
}

/** PostgreSQL rejects JSON with half of a surrogate pair. */
function truncate(text: string): string {
  return text.slice(0, TEXT_LENGTH_MAX).toWellFormed();
}

type LookupResult =
  | { kind: 'answered'; values: readonly string[]; result: CheckResult }
  | { kind: 'failed'; detail: string };

async function lookUpRecord(
  name: string,
  record: DomainRecord,
  resolver: Resolver,
): Promise<LookupResult> {
  switch (record.type) {
    case 'TXT': {
      const answer = await resolver.lookup('TXT', name, { fresh: true });
      if (answer.kind === 'failed') return answer;
      // The strings of a TXT record are joined without a space (RFC 7208 section 3.3, RFC 6376
      // section 3.6.2.2).
      const texts = recordsOf(answer).map((strings) => strings.join(''));
      return { kind: 'answered', values: texts, result: checkTexts(record, texts) };
    }
    case 'MX': {
      const answer = await resolver.lookup('MX', name, { fresh: true });
      if (answer.kind === 'failed') return answer;
      const hosts = recordsOf(answer);
      const values = hosts.map(({ preference, host }) => `${preference} ${host || '.'}`);
      return { kind: 'answered', values, result: checkMx(record, hosts) };
    }
    case 'CNAME': {
      const answer = await resolver.lookup('CNAME', name, { fresh: true });
      if (answer.kind === 'failed') return answer;
      const targets = recordsOf(answer);
      return { kind: 'answered', values: targets, result: checkCname(record, targets) };
    }
    default:
      return unreachable(record.type);
  }
}

function recordsOf<R>(
  answer: { kind: 'found'; records: readonly R[] } | { kind: string },
): readonly R[] {
  return 'records' in answer ? answer.records : [];
}

/** Ways in which DNS providers corrupt a value, each with the edit that undoes it. */
const VALUE_CORRUPTIONS: readonly {
  code: MistakeCode;
  detail: string;
  repair: (text: string) => string;
}[] = [
  {
    code: 'quotes_in_value',
    detail: 'The value contains quotation marks. Enter it without them.',
    repair: (text) => text.replace(/["“”„‟«»']\s*["“”„‟«»']|["“”„‟«»']/g, ''),
  },
  {
    code: 'backslashes_in_value',
    detail: 'The value contains backslashes. Enter it without them.',
    repair: (text) => text.replaceAll('\\', ''),
  },
  {
    code: 'quotes_in_value',
    detail: 'The value contains quotation marks and backslashes. Enter it without them.',
    repair: (text) => text.replace(/[\\"]+\s*[\\"]+|[\\"“”„‟«»']/g, ''),
  },
];

function checkTexts(record: DomainRecord, texts: readonly string[]): CheckResult {
  const check = checkerFor(record);
  const result = check(record.value, texts);
  if (result.status === 'found' || texts.length === 0) return result;
  for (const { code, detail, repair: cure } of VALUE_CORRUPTIONS) {
    if (check(record.value, texts.map(cure)).status === 'found') return invalid(code, detail);
  }
  return result;
}

function checkerFor({ purpose }: DomainRecord): CheckTexts {
  switch (purpose) {
    case 'dkim':
      return checkDkim;
    case 'return_path_spf':
      return checkSpf;
    case 'dmarc':
      return checkDmarc;
    case 'ownership':
    case 'return_path':
    case 'tracking':
    case 'receiving':
      return checkOwnershipToken;
    default:
      return unreachable(purpose);
  }
}

function checkOwnershipToken(expected: string, texts: readonly string[]): CheckResult {
  if (texts.some((text) => text.trim() === expected)) return VALID;
  if (texts.some((text) => stripWhitespace(text) === expected)) {
    return invalid('split_with_spaces', 'The value contains spaces. Enter it without them.');
  }
  if (isSplitAcrossRecords(expected, texts)) {
    return invalid(
      'split_into_records',
      'The value was split across several TXT records. Publish it as one record.',
    );
  }
  if (texts.some((text) => text.includes(OWNERSHIP_PREFIX))) {
    return invalid(
      'other_value',
      'The record contains a different token: an old one, or the token of another workspace.',
    );
  }
  return MISSING;
}

function checkMx(record: DomainRecord, hosts: readonly MxRecord[]): CheckResult {
  if (hosts.length === 0) return MISSING;
  const expectedHost = record.value.split(' ').at(-1) ?? '';
  const isOurs = ({ host }: MxRecord): boolean => normalizeDnsName(host) === expectedHost;
  const ours = hosts.filter(isOurs).map(({ preference }) => preference);
  if (ours.length === 0) {
    const doubled = findDoubledTarget(
      expectedHost,
      hosts.map(({ host }) => host),
    );
    const other = hosts[0]?.host || 'no server (null MX)';
    return doubled ?? invalid('other_mx', otherMxTexts(record).instead(other));
  }
  const best = Math.min(...ours);
  const others = hosts.filter((host) => !isOurs(host));
  const competitor = others.find(({ preference }) => preference <= best);
  const texts = otherMxTexts(record);
  if (competitor) return invalid('other_mx', texts.beside(competitor.host));
  const [backup] = others;
  if (!backup || !texts.backup) return VALID;
  return { ...VALID, mistakes: [{ code: 'other_mx', detail: texts.backup(backup.host) }] };
}

interface OtherMxTexts {
  /** Instead of our host. */
  instead: (host: string) => string;
  /** Preferred, or chosen as often as our host. */
  beside: (host: string) => string;
  /** Used when our host is not reachable. Absent if that does no harm. */
  backup?: (host: string) => string;
}

function otherMxTexts({ purpose, name }: DomainRecord): OtherMxTexts {
  if (purpose !== 'receiving') return BOUNCE_MX_TEXTS;
  return {
    instead: (host) =>
      `Mail to ${name} is delivered to ${host} instead of this server. If that is where your mailboxes are, keep the record and receive mail at a subdomain.`,
    beside: (host) =>
      `Some or all mail to ${name} is delivered to ${host}. Remove that record, or receive mail at a subdomain if your mailboxes are there.`,
    backup: (host) =>
      `Mail is delivered to ${host} whenever this server is unreachable, and does not arrive here later unless that host forwards it. Senders retry for days, so you can remove that record.`,
  };
}

const BOUNCE_MX_TEXTS: OtherMxTexts = {
  instead: (host) => `Bounces would be delivered to ${host} instead of this server.`,
  beside: (host) => `Bounces would also be delivered to ${host}. Remove that record.`,
};

function checkCname(record: DomainRecord, targets: readonly string[]): CheckResult {
  if (targets.length === 0) return MISSING;
  if (targets.some((target) => normalizeDnsName(target) === record.value)) return VALID;
  const doubled = findDoubledTarget(record.value, targets);
  return doubled ?? invalid('other_value', `The name points to ${targets[0]} instead.`);
}

/** Many DNS providers treat a target without a trailing dot as a name inside the zone. */
function findDoubledTarget(expected: string, targets: readonly string[]): CheckResult | undefined {
  const doubled = targets.find((target) => normalizeDnsName(target)?.startsWith(`${expected}.`));
  if (doubled === undefined) return undefined;
  return invalid(
    'target_doubled',
    `The DNS provider appended the domain to the value: it became ${doubled}. Enter it with a trailing dot: ${expected}.`,
  );
}

/** RFC 9989 section 4.10: for long names, the lookup skips to the ancestor with seven labels. */
const DMARC_LABELS_MAX = 7;

/**
 * A subdomain is covered by the DMARC record of a parent domain (RFC 9989 section 4.10). Records of
 * public suffix operators (psd=y) do not count, because the owner does not control them.
 */
async function findParentDmarcPolicy(
  record: DomainRecord,
  resolver: Resolver,
): Promise<Pick<CheckedRecord, 'status' | 'found' | 'mistakes'> | undefined> {
  const parents = candidateZones(record.name, Number.POSITIVE_INFINITY)
    .slice(1)
    .filter((zone) => zone.split('.').length <= DMARC_LABELS_MAX);
  const lookups = parents.map((zone) => lookUpRecord(`_dmarc.${zone}`, record, resolver));
  for (const [at, lookup] of (await Promise.all(lookups)).entries()) {
    if (lookup.kind === 'failed' || lookup.result.status === 'missing') continue;
    if (lookup.values.some((value) => /;\s*psd\s*=\s*y/i.test(value))) continue;
    if (lookup.result.status !== 'found') return undefined;
    const found = lookup.values.map((value) => `_dmarc.${parents[at]}: ${value}`);
    return { ...lookup.result, found };
  }
  return undefined;
}

/** Checks the names at which a record ends up when its name was entered incorrectly. */
async function findMisplacedRecord(record: DomainRecord, resolver: Resolver): Promise<Mistake[]> {
  const zones = candidateZones(record.name);
  const [domain] = zones;
  const [doubled, atApex] = await Promise.all([
    Promise.all(zones.map((zone) => isFoundAt(`${record.name}.${zone}`, record, resolver))),
    record.purpose === 'ownership' && domain ? isFoundAt(domain, record, resolver) : false,
  ]);
  const zone = zones[doubled.indexOf(true)];
  if (zone !== undefined) {
    const short = record.name.slice(0, -zone.length - 1);
    const detail = `The record was found at ${record.name}.${zone}: the DNS provider appends the domain automatically. Enter only ${short || '@'} as the name.`;
    return [{ code: 'name_doubled', detail }];
  }
  if (atApex) {
    const detail = `The record was found at ${domain}. Its name must be ${record.name}.`;
    return [{ code: 'wrong_name', detail }];
  }
  return [];
}

async function isFoundAt(name: string, record: DomainRecord, resolver: Resolver): Promise<boolean> {
  const lookup = await lookUpRecord(name, record, resolver);
  return lookup.kind === 'answered' && lookup.result.status === 'found';
}

const ZONES_MAX = 4;

/** The domains that a name may belong to: the one after its service labels, and its parents. */
function candidateZones(name: string, zonesMax = ZONES_MAX): string[] {
  const labels = name.split('.');
  const service = labels.findLastIndex((label) => label.startsWith('_'));
  const zones: string[] = [];
  for (let at = service + 1; at < labels.length - 1 && zones.length < zonesMax; at++) {
    zones.push(labels.slice(at).join('.'));
  }
  return zones;
}

async function findConflictingCname(record: DomainRecord, resolver: Resolver): Promise<Mistake[]> {
  if (record.type === 'CNAME') return [];
  const answer: DnsAnswer<'CNAME'> = await resolver.lookup('CNAME', record.name, { fresh: true });
  if (answer.kind !== 'found') return [];
  const detail = `The name is a CNAME of ${answer.records[0]}, which hides all other records at this name. Remove the CNAME.`;
  return [{ code: 'cname_in_the_way', detail }];
}
