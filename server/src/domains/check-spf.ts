import { isSplitAcrossRecords, type CheckResult, MISSING, VALID, stripWhitespace, invalid } from './check-result.ts';

/** An SPF record (RFC 7208) is right when it is the only one and lets our servers through. */
export function checkSpf(expected: string, texts: readonly string[]): CheckResult {
  if (isSplitAcrossRecords(expected, texts)) {
    return invalid(
      'split_into_records',
      'The value was split into several records. It must be one record.',
    );
  }
  const policies = texts.filter((text) => /^v=spf1(\s|$)/i.test(text));
  const policy = policies[0];
  if (policy === undefined) return MISSING;
  if (policies.length > 1) {
    return invalid(
      'several_records',
      `There are ${policies.length} SPF records at this name, and receivers then accept none of them. Join them into one: ${mergePolicies(policies, expected)}`,
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
        `${mechanism} stands behind "${terms[all]}", where receivers stop reading. Put it before.`,
      );
    }
  }
  if (/^\+?all$/i.test(terms[all] ?? '')) {
    const detail = `"${terms[all]}" lets everybody send in your name. Use ~all instead.`;
    return { status: 'found', mistakes: [{ code: 'spf_allows_everyone', detail }] };
  }
  return VALID;
}

function explainMissingMechanism(mechanism: string, policy: string, terms: readonly string[]): CheckResult {
  const negated = terms.find(
    (term) => /^[-~?]/.test(term) && sameMechanism(term.slice(1), mechanism),
  );
  if (negated) {
    return invalid(
      'spf_mechanism_missing',
      `The record says "${negated}", which turns our servers away. Remove the first character.`,
    );
  }
  if (stripWhitespace(policy).toLowerCase().includes(mechanism.toLowerCase())) {
    return invalid('split_with_spaces', `There is a space inside "${mechanism}". Remove it.`);
  }
  return invalid(
    'spf_mechanism_missing',
    `The record does not name our servers. Add "${mechanism}" after v=spf1.`,
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
