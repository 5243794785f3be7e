import {
  isSplitAcrossRecords,
  type CheckResult,
  MISSING,
  type Mistake,
  parseTags,
  type Tag,
  tagValue,
  invalid,
} from './check-result.ts';

/**
 * A DMARC record (RFC 9989) is right when receivers can read it: the policy is its owner's to
 * choose, so another one than we propose is as good.
 */
export function checkDmarc(expected: string, texts: readonly string[]): CheckResult {
  if (isSplitAcrossRecords(expected, texts)) {
    return invalid('split_into_records', 'The value was split into several records. It must be one.');
  }
  const policies = texts.filter((text) => /^v\s*=\s*DMARC1\s*(;|$)/.test(text));
  const policy = policies[0];
  if (policy === undefined) return checkNearMiss(texts);
  if (policies.length > 1) {
    return invalid(
      'several_records',
      `There are ${policies.length} DMARC records at this name, and receivers then accept none of them. Keep one.`,
    );
  }
  const tags = parseTags(policy);
  if (!tags) {
    return invalid(
      'broken_syntax',
      'The record cannot be read: its tags are tag=value pairs separated by semicolons, each once.',
    );
  }
  const invalidTag = tags.find(({ name, value }) => !isValid(name, value));
  if (invalidTag) return invalid('broken_syntax', invalidTagDetail(invalidTag));
  return { status: 'found', mistakes: findWarnings(tags) };
}

function checkNearMiss(texts: readonly string[]): CheckResult {
  if (texts.some((text) => /DMARC1/i.test(text))) {
    return invalid('broken_syntax', 'The record must begin with v=DMARC1, in capital letters.');
  }
  return MISSING;
}

const POLICIES = /^(none|quarantine|reject)$/i;
const REPORT_ADDRESSES = /^mailto:[^\s,@]+@[^\s,@]+(\s*,\s*mailto:[^\s,@]+@[^\s,@]+)*$/i;

/** Tags that are not listed are not for us to judge: receivers pass over what they do not know. */
const VALID_VALUES: Readonly<Record<string, RegExp>> = {
  p: POLICIES,
  sp: POLICIES,
  np: POLICIES,
  adkim: /^[rs]$/i,
  aspf: /^[rs]$/i,
  t: /^[yn]$/i,
  psd: /^[ynu]$/i,
  fo: /^[01ds](\s*:\s*[01ds])*$/i,
  rua: REPORT_ADDRESSES,
  ruf: REPORT_ADDRESSES,
};

function isValid(name: string, value: string): boolean {
  return VALID_VALUES[name.toLowerCase()]?.test(value) ?? true;
}

function invalidTagDetail({ name, value }: Tag): string {
  const shown = `${name}=${value.slice(0, 60)}`;
  if (/^ru[af]$/i.test(name)) {
    return `"${shown}" is not valid: report addresses are written mailto:name@example.com.`;
  }
  if (/^[sn]?p$/i.test(name)) {
    return `"${shown}" is not valid: the policy is none, quarantine or reject.`;
  }
  return `"${shown}" is not valid, and receivers will pass over it.`;
}

const OBSOLETE_TAGS: Readonly<Record<string, string>> = {
  pct: 'Receivers no longer apply a policy to a part of the mail; t=y says that you are testing.',
  rf: 'Receivers choose the form of reports.',
  ri: 'Receivers choose how often they report.',
};

function findWarnings(tags: readonly Tag[]): Mistake[] {
  const found: Mistake[] = [];
  for (const { name } of tags) {
    const why = OBSOLETE_TAGS[name.toLowerCase()];
    if (why) {
      found.push({
        code: 'obsolete_tag',
        detail: `The tag ${name}= is no longer part of DMARC (RFC 9989). ${why} Remove it.`,
      });
    }
  }
  if (tagValue(tags, 'p') === undefined) {
    const detail = 'The record has no policy. Receivers take it for p=none; some pass over it.';
    found.push({ code: 'broken_syntax', detail });
  }
  return found;
}
