import { unreachable } from '../lib/assert.ts';
import { normalName } from '../mail/dns/dns-name.ts';
import type { Answer, MxRecord, Resolver } from '../mail/dns/resolver.ts';
import { judgeDkim } from './check-dkim.ts';
import { judgeDmarc } from './check-dmarc.ts';
import {
  isCutUp,
  type Judgement,
  type JudgeTexts,
  MISSING,
  type Mistake,
  type MistakeCode,
  type RecordStatus,
  RIGHT,
  withoutSpaces,
  wrong,
} from './check-result.ts';
import { judgeSpf } from './check-spf.ts';
import { type DomainRecord, OWNERSHIP_PREFIX } from './dns-records.ts';

/**
 * The records that a domain should publish come in; each leaves with what was really found and, when
 * that is not right, with the mistake named in plain words. Answers are always asked for anew,
 * because somebody has just changed them. A look-up that failed says nothing about the record.
 */

export type { Mistake, MistakeCode, RecordStatus } from './check-result.ts';

export interface CheckedRecord extends DomainRecord {
  status: RecordStatus;
  /** The values published at the name, as far as they matter here. */
  found: readonly string[];
  /** Why it is not right; a right record may have remarks too. */
  mistakes: readonly Mistake[];
}

export async function checkRecords(
  records: readonly DomainRecord[],
  resolver: Resolver,
): Promise<CheckedRecord[]> {
  return Promise.all(records.map(async (record) => bounded(await checkRecord(record, resolver))));
}

async function checkRecord(record: DomainRecord, resolver: Resolver): Promise<CheckedRecord> {
  const seen = await lookAt(record.name, record, resolver);
  if (seen.kind === 'failed') {
    const mistakes = [{ code: 'lookup_failed', detail: seen.detail } as const];
    return { ...record, status: 'lookup_failed', found: [], mistakes };
  }
  const found = seen.values;
  if (seen.judgement.status === 'found') return { ...record, ...seen.judgement, found };

  const isMissing = seen.judgement.status === 'missing';
  // All at once: a name server that is silent costs one wait, not one for each place to look at.
  const [parent, elsewhere, alias] = await Promise.all([
    isMissing && record.purpose === 'dmarc' ? parentPolicy(record, resolver) : undefined,
    isMissing ? lookElsewhere(record, resolver) : [],
    aliasInTheWay(record, resolver),
  ]);
  if (parent) return { ...record, ...parent };
  const mistakes = [...seen.judgement.mistakes, ...elsewhere, ...alias];
  return { ...record, status: seen.judgement.status, found, mistakes };
}

const VALUES_MAX = 10;
const TEXT_LENGTH_MAX = 2000;

/** What a strange zone can make us keep and show: mistakes quote it too. */
function bounded(checked: CheckedRecord): CheckedRecord {
  return {
    ...checked,
    found: checked.found.slice(0, VALUES_MAX).map(short),
    mistakes: checked.mistakes.map(({ code, detail }) => ({ code, detail: short(detail) })),
  };
}

/** The database cannot read a character of which only one half is left. */
function short(text: string): string {
  return text.slice(0, TEXT_LENGTH_MAX).toWellFormed();
}

type Seen =
  | { kind: 'seen'; values: readonly string[]; judgement: Judgement }
  | { kind: 'failed'; detail: string };

async function lookAt(name: string, record: DomainRecord, resolver: Resolver): Promise<Seen> {
  switch (record.type) {
    case 'TXT': {
      const answer = await resolver.lookup('TXT', name, { fresh: true });
      if (answer.kind === 'failed') return answer;
      // RFC 7208 section 3.3 and its like: the strings of one record join without a space.
      const texts = recordsOf(answer).map((strings) => strings.join(''));
      return { kind: 'seen', values: texts, judgement: judgeTexts(record, texts) };
    }
    case 'MX': {
      const answer = await resolver.lookup('MX', name, { fresh: true });
      if (answer.kind === 'failed') return answer;
      const hosts = recordsOf(answer);
      const values = hosts.map(({ preference, host }) => `${preference} ${host || '.'}`);
      return { kind: 'seen', values, judgement: judgeMx(record, hosts) };
    }
    case 'CNAME': {
      const answer = await resolver.lookup('CNAME', name, { fresh: true });
      if (answer.kind === 'failed') return answer;
      const targets = recordsOf(answer);
      return { kind: 'seen', values: targets, judgement: judgeAlias(record, targets) };
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

/** What a DNS panel does to a value, each way with the cure that makes the value right again. */
const SPOILED: readonly { code: MistakeCode; detail: string; cure: (text: string) => string }[] = [
  {
    code: 'quotes_in_value',
    detail: 'There are quotation marks inside the value. Enter it without them.',
    cure: (text) => text.replace(/["“”„‟«»']\s*["“”„‟«»']|["“”„‟«»']/g, ''),
  },
  {
    code: 'backslashes_in_value',
    detail: 'There are backslashes inside the value. Enter it without them.',
    cure: (text) => text.replaceAll('\\', ''),
  },
  {
    code: 'quotes_in_value',
    detail: 'There are quotation marks and backslashes inside the value. Enter it without them.',
    cure: (text) => text.replace(/[\\"]+\s*[\\"]+|[\\"“”„‟«»']/g, ''),
  },
];

function judgeTexts(record: DomainRecord, texts: readonly string[]): Judgement {
  const judge = judgeOf(record);
  const judgement = judge(record.value, texts);
  if (judgement.status === 'found' || texts.length === 0) return judgement;
  for (const { code, detail, cure } of SPOILED) {
    if (judge(record.value, texts.map(cure)).status === 'found') return wrong(code, detail);
  }
  return judgement;
}

function judgeOf({ purpose }: DomainRecord): JudgeTexts {
  switch (purpose) {
    case 'dkim':
      return judgeDkim;
    case 'return_path_spf':
      return judgeSpf;
    case 'dmarc':
      return judgeDmarc;
    case 'ownership':
    case 'return_path':
    case 'tracking':
      return judgeToken;
    default:
      return unreachable(purpose);
  }
}

function judgeToken(expected: string, texts: readonly string[]): Judgement {
  if (texts.some((text) => text.trim() === expected)) return RIGHT;
  if (texts.some((text) => withoutSpaces(text) === expected)) {
    return wrong('split_with_spaces', 'There are spaces inside the value. Enter it without them.');
  }
  if (isCutUp(expected, texts)) {
    return wrong('split_into_records', 'The value was split into several records. It must be one.');
  }
  if (texts.some((text) => text.includes(OWNERSHIP_PREFIX))) {
    return wrong(
      'other_value',
      'The record holds another token: of another workspace, or an old one.',
    );
  }
  return MISSING;
}

function judgeMx(record: DomainRecord, hosts: readonly MxRecord[]): Judgement {
  if (hosts.length === 0) return MISSING;
  const wanted = record.value.split(' ').at(-1) ?? '';
  const isOurs = ({ host }: MxRecord): boolean => normalName(host) === wanted;
  const ours = hosts.filter(isOurs).map(({ preference }) => preference);
  if (ours.length === 0) {
    const doubled = doubledTarget(
      wanted,
      hosts.map(({ host }) => host),
    );
    return (
      doubled ??
      wrong('other_mx', `Bounces would go to ${hosts[0]?.host || 'nobody'} instead of us.`)
    );
  }
  const best = Math.min(...ours);
  const rival = hosts.find((other) => !isOurs(other) && other.preference <= best);
  if (rival) {
    return wrong('other_mx', `Bounces would also go to ${rival.host}. Remove that record.`);
  }
  return RIGHT;
}

function judgeAlias(record: DomainRecord, targets: readonly string[]): Judgement {
  if (targets.length === 0) return MISSING;
  if (targets.some((target) => normalName(target) === record.value)) return RIGHT;
  const doubled = doubledTarget(record.value, targets);
  return doubled ?? wrong('other_value', `The name leads to ${targets[0]} instead.`);
}

/** Many panels take a target without a trailing dot for a name inside the zone. */
function doubledTarget(wanted: string, targets: readonly string[]): Judgement | undefined {
  const doubled = targets.find((target) => normalName(target)?.startsWith(`${wanted}.`));
  if (doubled === undefined) return undefined;
  return wrong(
    'target_doubled',
    `The DNS panel added the domain to the value: it became ${doubled}. Enter it with a dot at the end: ${wanted}.`,
  );
}

/** RFC 9989 section 4.10: a name of many labels is left for one of seven after its own. */
const DMARC_LABELS_MAX = 7;

/**
 * A subdomain is covered by the DMARC record of a domain above it (RFC 9989 section 4.10). One that
 * a registry publishes for everybody below it (psd=y) is nobody's own.
 */
async function parentPolicy(
  record: DomainRecord,
  resolver: Resolver,
): Promise<Pick<CheckedRecord, 'status' | 'found' | 'mistakes'> | undefined> {
  const above = zonesOf(record.name, Number.POSITIVE_INFINITY)
    .slice(1)
    .filter((zone) => zone.split('.').length <= DMARC_LABELS_MAX);
  const looks = above.map((zone) => lookAt(`_dmarc.${zone}`, record, resolver));
  for (const [at, seen] of (await Promise.all(looks)).entries()) {
    if (seen.kind === 'failed' || seen.judgement.status === 'missing') continue;
    if (seen.values.some((value) => /;\s*psd\s*=\s*y/i.test(value))) continue;
    if (seen.judgement.status !== 'found') return undefined;
    const found = seen.values.map((value) => `_dmarc.${above[at]}: ${value}`);
    return { ...seen.judgement, found };
  }
  return undefined;
}

/** The places where a record ends up when its name was entered wrongly. */
async function lookElsewhere(record: DomainRecord, resolver: Resolver): Promise<Mistake[]> {
  const zones = zonesOf(record.name);
  const [domain] = zones;
  const [doubled, plain] = await Promise.all([
    Promise.all(zones.map((zone) => isRightAt(`${record.name}.${zone}`, record, resolver))),
    record.purpose === 'ownership' && domain ? isRightAt(domain, record, resolver) : false,
  ]);
  const zone = zones[doubled.indexOf(true)];
  if (zone !== undefined) {
    const short = record.name.slice(0, -zone.length - 1);
    const detail = `The record is at ${record.name}.${zone}: the DNS panel adds the domain by itself. Enter only ${short || '@'} as the name.`;
    return [{ code: 'name_doubled', detail }];
  }
  if (plain) {
    const detail = `The record is at ${domain} itself. Its name must be ${record.name}.`;
    return [{ code: 'wrong_name', detail }];
  }
  return [];
}

async function isRightAt(name: string, record: DomainRecord, resolver: Resolver): Promise<boolean> {
  const seen = await lookAt(name, record, resolver);
  return seen.kind === 'seen' && seen.judgement.status === 'found';
}

const ZONES_MAX = 4;

/** The domains that a name may belong to: what follows its service labels, and those above. */
function zonesOf(name: string, zonesMax = ZONES_MAX): string[] {
  const labels = name.split('.');
  const service = labels.findLastIndex((label) => label.startsWith('_'));
  const zones: string[] = [];
  for (let at = service + 1; at < labels.length - 1 && zones.length < zonesMax; at++) {
    zones.push(labels.slice(at).join('.'));
  }
  return zones;
}

async function aliasInTheWay(record: DomainRecord, resolver: Resolver): Promise<Mistake[]> {
  if (record.type === 'CNAME') return [];
  const answer: Answer<'CNAME'> = await resolver.lookup('CNAME', record.name, { fresh: true });
  if (answer.kind !== 'found') return [];
  const detail = `The name is an alias (CNAME) of ${answer.records[0]}, and everything else at it is passed over. Remove the alias.`;
  return [{ code: 'cname_in_the_way', detail }];
}
