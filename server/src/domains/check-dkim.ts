import {
  isSplitAcrossRecords,
  type CheckResult,
  MISSING,
  parseTags,
  VALID,
  type Tag,
  tagValue,
  stripWhitespace,
  invalid,
} from './check-result.ts';

/** A DKIM key record (RFC 6376 section 3.6.1) is right when its key is, whatever tags are beside it. */
export function checkDkim(expected: string, texts: readonly string[]): CheckResult {
  if (texts.length === 0) return MISSING;
  if (isSplitAcrossRecords(expected, texts)) {
    return invalid(
      'split_into_records',
      'The value was split into several records. It must be one record; a long value is one record of several strings.',
    );
  }
  const keys = texts.filter((text) => /\bDKIM1\b|(^|;)\s*p\s*=/i.test(text));
  if (keys.length > 1) {
    return invalid(
      'several_records',
      `There are ${keys.length} DKIM records at this name. Receivers may take either: remove all but the one shown here.`,
    );
  }
  const text = keys[0];
  if (text === undefined) {
    // Often a wildcard of the zone answers for names that do not exist: the key itself is missing.
    const detail = 'The text record at this name is not a DKIM key.';
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
      'The record cannot be read: it is not a list of tag=value pairs.',
    );
  }
  const expectedTags = parseTags(expected) ?? [];
  const expectedKey = tagValue(expectedTags, 'p') ?? '';
  if (key === expectedKey) return checkOtherTags(expectedTags, tags);
  if (key === '')
    return invalid('key_revoked', 'The key is empty, which tells receivers that it was withdrawn.');
  if (stripWhitespace(key) === expectedKey) {
    return invalid(
      'split_with_spaces',
      'There are spaces inside the key, where its parts were joined. The parts must follow each other without a space.',
    );
  }
  if (expectedKey.startsWith(stripWhitespace(key))) {
    return invalid(
      'value_cut_off',
      `The key is cut off after ${stripWhitespace(key).length} of ${expectedKey.length} characters. Some DNS panels take no more than 255 at once: enter the value in two quoted parts.`,
    );
  }
  return invalid('other_key', 'The record holds another key: an old one, or one of another service.');
}

/** Tags that would make receivers pass over a key that is right. */
function checkOtherTags(expectedTags: readonly Tag[], tags: readonly Tag[]): CheckResult {
  const version = tags.findIndex(({ name }) => name === 'v');
  if (version > 0 || (version === 0 && tags[0]?.value !== 'DKIM1')) {
    return invalid('broken_syntax', 'The record must begin with v=DKIM1.');
  }
  const expectedAlgorithm = tagValue(expectedTags, 'k') ?? 'rsa';
  if ((tagValue(tags, 'k') ?? 'rsa') !== expectedAlgorithm) {
    return invalid('broken_syntax', `The record must say k=${expectedAlgorithm}.`);
  }
  if (!listAllows(tagValue(tags, 'h'), ['sha256'])) {
    return invalid(
      'broken_syntax',
      'The tag h= does not allow sha256, which we sign with. Remove it.',
    );
  }
  if (!listAllows(tagValue(tags, 's'), ['*', 'email'])) {
    return invalid(
      'broken_syntax',
      'The tag s= does not allow the key to be used for e-mail. Remove it.',
    );
  }
  return VALID;
}

function listAllows(value: string | undefined, wanted: readonly string[]): boolean {
  if (value === undefined) return true;
  return value.split(':').some((item) => wanted.includes(item.trim()));
}
