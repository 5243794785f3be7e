import {
  type CheckResult,
  invalid,
  isSplitAcrossRecords,
  MISSING,
  type Mistake,
  parseTags,
  type Tag,
  tagValue,
} from './check-result.ts';

/**
 * Checks a DMARC record (RFC 9989): it must be valid. The policy is the owner's choice, so any
 * policy is accepted.
 */
export function checkDmarc(expected: string, texts: readonly string[]): CheckResult {
  if (isSplitAcrossRecords(expected, texts)) {
    return invalid(
      'split_into_records',
      'The value was split across several TXT records. Publish it as one record.',
    );
  }
  const policies = texts.filter((text) => /^v\s*=\s*DMARC1\s*(;|$)/.test(text));
  const policy = policies[0];
  if (policy === undefined) return checkNearMiss(texts);
  if (policies.length > 1) {
    return invalid(
      'several_records',
      `There are ${policies.length} DMARC records at this name, so receivers ignore all of them. Keep only one.`,
    );
  }
  const tags = parseTags(policy);
  if (!tags) {
    return invalid(
      'broken_syntax',
      'The record is malformed: it must be a list of tag=value pairs separated by semicolons, with no tag repeated.',
    );
  }
  const invalidTag = tags.find(({ name, value }) => !isValid(name, value));
  if (invalidTag) return invalid('broken_syntax', invalidTagDetail(invalidTag));
  return { status: 'found', mistakes: findWarnings(tags) };
}

function checkNearMiss(texts: readonly string[]): CheckResult {
  if (texts.some((text) => /DMARC1/i.test(text))) {
    return invalid('broken_syntax', 'The record must start with v=DMARC1, in capital letters.');
  }
  return MISSING;
}

const POLICIES = /^(none|quarantine|reject)$/i;
const REPORT_ADDRESSES = /^mailto:[^\s,@]+@[^\s,@]+(\s*,\s*mailto:[^\s,@]+@[^\s,@]+)*$/i;

/** Tags that are not listed are not checked: receivers ignore tags they do not know. */
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
    return `"${shown}" is not valid: report addresses must be written as mailto:name@example.com.`;
  }
  if (/^[sn]?p$/i.test(name)) {
    return `"${shown}" is not valid: the policy must be none, quarantine or reject.`;
  }
  return `"${shown}" is not valid; receivers will ignore it.`;
}

const OBSOLETE_TAGS: Readonly<Record<string, string>> = {
  pct: 'Receivers no longer apply a policy to a percentage of the mail; use t=y while testing.',
  rf: 'Receivers choose the report format.',
  ri: 'Receivers choose the report interval.',
};

function findWarnings(tags: readonly Tag[]): Mistake[] {
  const found: Mistake[] = [];
  for (const { name } of tags) {
    const why = OBSOLETE_TAGS[name.toLowerCase()];
    if (why) {
      found.push({
        code: 'obsolete_tag',
        detail: `The ${name}= tag is no longer part of DMARC (RFC 9989). ${why} Remove the tag.`,
      });
    }
  }
  if (tagValue(tags, 'p') === undefined) {
    const detail =
      'The record has no policy. Some receivers treat it as p=none, others ignore it. Add p=none.';
    found.push({ code: 'broken_syntax', detail });
  }
  return found;
}
