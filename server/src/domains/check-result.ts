/** The result of comparing the records found at a name with the expected one. */

export type RecordStatus = 'found' | 'missing' | 'wrong' | 'lookup_failed';

/** Codes of the common mistakes; the `detail` beside a code explains it to a person. */
export type MistakeCode =
  | 'name_doubled'
  | 'wrong_name'
  | 'target_doubled'
  | 'cname_in_the_way'
  | 'quotes_in_value'
  | 'backslashes_in_value'
  | 'split_with_spaces'
  | 'split_into_records'
  | 'several_records'
  | 'value_cut_off'
  | 'other_value'
  | 'other_key'
  | 'key_revoked'
  | 'other_mx'
  | 'spf_mechanism_missing'
  | 'spf_mechanism_unread'
  | 'spf_allows_everyone'
  | 'obsolete_tag'
  | 'broken_syntax'
  | 'lookup_failed';

export interface Mistake {
  code: MistakeCode;
  detail: string;
}

export interface CheckResult {
  status: Exclude<RecordStatus, 'lookup_failed'>;
  mistakes: readonly Mistake[];
}

/** Checks the values of all TXT records at one name. */
export type CheckTexts = (expected: string, texts: readonly string[]) => CheckResult;

export const VALID: CheckResult = { status: 'found', mistakes: [] };
export const MISSING: CheckResult = { status: 'missing', mistakes: [] };

export function invalid(code: MistakeCode, detail: string): CheckResult {
  return { status: 'wrong', mistakes: [{ code, detail }] };
}

export interface Tag {
  name: string;
  value: string;
}

/**
 * Parses a tag list, `name=value` pairs separated by semicolons (RFC 6376 section 3.2). Whitespace
 * around names and values is ignored. Undefined when the text is not a tag list.
 */
export function parseTags(text: string): Tag[] | undefined {
  const parts = text.split(';').map((part) => part.trim());
  if (parts.at(-1) === '') parts.pop();
  const tags: Tag[] = [];
  const names = new Set<string>();
  for (const part of parts) {
    const match = /^([A-Za-z][A-Za-z0-9_]*)\s*=\s*(.*)$/s.exec(part);
    if (!match) return undefined;
    const [, name = '', value = ''] = match;
    if (names.has(name)) return undefined;
    names.add(name);
    tags.push({ name, value });
  }
  return tags;
}

export function tagValue(tags: readonly Tag[], name: string): string | undefined {
  return tags.find((tag) => tag.name === name)?.value;
}

export function stripWhitespace(text: string): string {
  return text.replace(/\s+/g, '');
}

/** Whether the records together are one value whose parts were published separately. */
export function isSplitAcrossRecords(expected: string, texts: readonly string[]): boolean {
  let rest = stripWhitespace(expected);
  const parts = texts.map(stripWhitespace).filter((part) => part !== '');
  if (parts.length < 2 || parts.join('').length !== rest.length) return false;
  while (parts.length > 0) {
    const index = parts.findIndex((part) => rest.startsWith(part));
    if (index < 0) return false;
    rest = rest.slice(parts[index]?.length);
    parts.splice(index, 1);
  }
  return true;
}
