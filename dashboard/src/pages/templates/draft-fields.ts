import type { Template, TemplateChange } from './content-api.ts';

/** What people write in a draft, as the editor holds it: an empty text is '' and not null. */
export interface DraftFields {
  name: string;
  subject: string;
  html: string;
  text: string;
  layout: string | null;
  from: Template['from'];
  locales: Template['locales'];
  variables: Template['variables'];
}

export type FieldName = keyof DraftFields;

export function toDraftFields(template: Template): DraftFields {
  return {
    name: template.name,
    subject: template.subject ?? '',
    html: template.html ?? '',
    text: template.text ?? '',
    layout: template.layout ?? null,
    from: template.from ?? null,
    locales: template.locales,
    variables: template.variables ?? [],
  };
}

/** An emptied text is none: the text part is then made from the html. */
export function toTemplateChange(fields: Partial<DraftFields>): TemplateChange {
  const change: Record<string, unknown> = { ...fields };
  for (const name of ['subject', 'html', 'text']) {
    if (change[name] === '') change[name] = null;
  }
  // Only a name that people can read: an empty one is a slip while typing.
  if (change.name === '') delete change.name;
  return change as TemplateChange;
}

export function isEmpty(change: Partial<DraftFields>): boolean {
  return Object.keys(change).length === 0;
}

/**
 * What was written here and elsewhere at the same time, each in its own way. All else goes together:
 * one wrote the subject and the other the html, or both the same.
 */
export function conflictingFields(
  base: DraftFields,
  mine: Partial<DraftFields>,
  theirs: DraftFields,
): FieldName[] {
  return (Object.keys(mine) as FieldName[]).filter((name) => {
    const written = contentOf(name, theirs);
    return written !== contentOf(name, base) && written !== contentOf(name, mine);
  });
}

/** Variables that nobody wrote down follow from the other fields. */
function contentOf(name: FieldName, fields: Partial<DraftFields>): string {
  if (name !== 'variables') return JSON.stringify(fields[name]);
  return JSON.stringify(fields.variables?.filter(({ inferred }) => !inferred));
}
