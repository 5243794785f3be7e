import { isDeepStrictEqual } from 'node:util';
import { baseContent, type StoredContent } from './stored-content.ts';
import { unifiedDiff } from './unified-diff.ts';

/** A field that differs between two contents. */
export interface FieldChange {
  /** For example `html`, `locales.de.subject` or `variables.order.id`. */
  field: string;
  before: unknown;
  after: unknown;
  /** For text fields, the changed lines in unified diff format. */
  diff: string | null;
}

/** Lists differences field by field, in reading order. */
export function compareContents(before: StoredContent, after: StoredContent): FieldChange[] {
  const [a, b] = [fieldsOf(before), fieldsOf(after)];
  const names = new Set([...a.keys(), ...b.keys()]);
  return [...names].flatMap((field) => {
    const [previous = null, updated = null] = [a.get(field), b.get(field)];
    if (isDeepStrictEqual(previous, updated)) return [];
    const texts = [previous ?? '', updated ?? ''];
    const areTexts = texts.every((text) => typeof text === 'string');
    const diff = areTexts ? unifiedDiff(texts[0] as string, texts[1] as string) : null;
    return [{ field, before: previous, after: updated, diff }];
  });
}

function fieldsOf(content: StoredContent): Map<string, unknown> {
  const { from, reply_to, stream, layout, locales, variables } = content;
  const fields = new Map<string, unknown>(Object.entries(baseContent(content)));
  if (from) fields.set('from', from);
  if (reply_to.length > 0) fields.set('reply_to', reply_to);
  if (stream != null) fields.set('stream', stream);
  if (layout !== null) fields.set('layout', layout);
  for (const [locale, localized] of Object.entries(locales)) {
    for (const [field, text] of Object.entries(localized))
      fields.set(`locales.${locale}.${field}`, text);
  }
  for (const variable of variables) fields.set(`variables.${variable.name}`, variable);
  return fields;
}
