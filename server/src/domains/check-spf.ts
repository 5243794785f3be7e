import {
  type CheckResult,
  invalid,
  isSplitAcrossRecords,
  MISSING,
  stripWhitespace,
  VALID,
} from './check-result.ts';

/** Checks an SPF record (RFC 7208): it must be the only one and allow our servers. */
export function checkSpf(expected: string, texts: readonly string[]): CheckResult {
  if (isSplitAcrossRecords(expected, texts)) {
    return invalid(
      'split_into_records',
      'The value was split across several TXT records. Publish it as one record.',
    );
  }
  const policies = texts.filter((text) => /^v=spf1(\s|$)/i.test(text));
  const policy = policies[0];
  if (policy === undefined) return MISSING;
  if (policies.length > 1) {
    return invalid(
      'several_records',
      `There are ${policies.length} SPF records at this name, so receivers ignore all of them. Merge them into one: ${mergePolicies(policies, expected)}`,
    );
  }
  return checkPolicy(expected, policy);
}

function checkPolicy(expected: string, policy: string): CheckResult {
  const terms = termsOf(policy);
  const all = terms.findIndex((term) => /^[-+~?]?all$/i.test(term));
  for (const mechanism of mechanismsOf(expected)) {
    const at = terms.findIndex((term) => sameMechanism(term, mechanism));
    if (at < 0) return explainMissingMechanism(mechanism, policy, terms);
    if (all >= 0 && at > all) {
      return invalid(
        'spf_mechanism_unread',
        `${mechanism} comes after "${terms[all]}", where receivers stop evaluating. Move it before.`,
      );
    }
  }
  if (/^\+?all$/i.test(terms[all] ?? '')) {
    const detail = `"${terms[all]}" allows anyone to send as your domain. Use ~all instead.`;
    return { status: 'found', mistakes: [{ code: 'spf_allows_everyone', detail }] };
  }
  return VALID;
}

function explainMissingMechanism(
  mechanism: string,
  policy: string,
  terms: readonly string[],
): CheckResult {
  const negated = terms.find(
    (term) => /^[-~?]/.test(term) && sameMechanism(term.slice(1), mechanism),
  );
  if (negated) {
    return invalid(
      'spf_mechanism_missing',
      `The record contains "${negated}", which rejects our servers. Remove its first character.`,
    );
  }
  if (stripWhitespace(policy).toLowerCase().includes(mechanism.toLowerCase())) {
    return invalid('split_with_spaces', `There is a space inside "${mechanism}". Remove it.`);
  }
  return invalid(
    'spf_mechanism_missing',
    `The record does not include our servers. Add "${mechanism}" after v=spf1.`,
  );
}

function sameMechanism(term: string, mechanism: string): boolean {
  return term.replace(/^\+/, '').toLowerCase() === mechanism.toLowerCase();
}

function termsOf(policy: string): string[] {
  return policy.trim().split(/\s+/).slice(1);
}

function mechanismsOf(policy: string): string[] {
  return termsOf(policy).filter((term) => !/^[-+~?]?all$/i.test(term));
}

function mergePolicies(policies: readonly string[], expected: string): string {
  const mechanisms = [...new Set([...policies, expected].flatMap(mechanismsOf))];
  return `v=spf1 ${mechanisms.join(' ')} ~all`;
}
