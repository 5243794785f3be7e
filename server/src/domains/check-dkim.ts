import {
  type CheckResult,
  invalid,
  isSplitAcrossRecords,
  MISSING,
  parseTags,
  stripWhitespace,
  type Tag,
  tagValue,
  VALID,
} from './check-result.ts';

/**
 * Checks a DKIM key record (RFC 6376 section 3.6.1): the key must match; additional tags are
 * allowed.
 */
export function checkDkim(expected: string, texts: readonly string[]): CheckResult {
  if (texts.length === 0) return MISSING;
  if (isSplitAcrossRecords(expected, texts)) {
    return invalid(
      'split_into_records',
      'The value was split across several TXT records. Publish it as one record; a long value is one record made of several strings.',
    );
  }
  const keys = texts.filter((text) => /\bDKIM1\b|(^|;)\s*p\s*=/i.test(text));
  if (keys.length > 1) {
    return invalid(
      'several_records',
      `There are ${keys.length} DKIM records at this name, and receivers may use any of them. Remove all but the one shown here.`,
    );
  }
  const text = keys[0];
  if (text === undefined) {
    // Often a wildcard record of the zone answers for a name that does not exist: the key is
    // missing.
    const detail = 'The TXT record at this name is not a DKIM key.';
    return { status: 'missing', mistakes: [{ code: 'other_value', detail }] };
  }
  return checkKey(expected, text);
}

function checkKey(expected: string, text: string): CheckResult {
  const tags = parseTags(text);
  const key = tags && tagValue(tags, 'p');
  if (!tags || key === undefined) {
    return invalid(
      'broken_syntax',
      'The record is malformed: it must be a list of tag=value pairs.',
    );
  }
  const expectedTags = parseTags(expected) ?? [];
  const expectedKey = tagValue(expectedTags, 'p') ?? '';
  if (key === expectedKey) return checkOtherTags(expectedTags, tags);
  if (key === '')
    return invalid('key_revoked', 'The key is empty, which means that it was revoked.');
  if (stripWhitespace(key) === expectedKey) {
    return invalid(
      'split_with_spaces',
      'There are spaces inside the key, where its parts were joined. Remove them.',
    );
  }
  if (expectedKey.startsWith(stripWhitespace(key))) {
    return invalid(
      'value_cut_off',
      `The key is truncated after ${stripWhitespace(key).length} of ${expectedKey.length} characters. Some DNS providers limit a string to 255 characters: enter the value as two quoted strings.`,
    );
  }
  return invalid(
    'other_key',
    'The record contains a different key: an old one, or the key of another service.',
  );
}

/** Tags that make receivers ignore a matching key. */
function checkOtherTags(expectedTags: readonly Tag[], tags: readonly Tag[]): CheckResult {
  const version = tags.findIndex(({ name }) => name === 'v');
  if (version > 0 || (version === 0 && tags[0]?.value !== 'DKIM1')) {
    return invalid('broken_syntax', 'The record must start with v=DKIM1.');
  }
  const expectedAlgorithm = tagValue(expectedTags, 'k') ?? 'rsa';
  if ((tagValue(tags, 'k') ?? 'rsa') !== expectedAlgorithm) {
    return invalid('broken_syntax', `The record must contain k=${expectedAlgorithm}.`);
  }
  if (!listAllows(tagValue(tags, 'h'), ['sha256'])) {
    return invalid(
      'broken_syntax',
      'The h= tag does not allow sha256, which our signatures use. Remove the tag.',
    );
  }
  if (!listAllows(tagValue(tags, 's'), ['*', 'email'])) {
    return invalid(
      'broken_syntax',
      'The s= tag does not allow using the key for email. Remove the tag.',
    );
  }
  return VALID;
}

function listAllows(value: string | undefined, accepted: readonly string[]): boolean {
  if (value === undefined) return true;
  return value.split(':').some((item) => accepted.includes(item.trim()));
}
