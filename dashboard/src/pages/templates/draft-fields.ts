import type { Template, TemplateChange } from './content-api.ts';

/** The editable fields of a draft, as the editor holds them: empty text is '' instead of null. */
export interface DraftFields {
  name: string;
  subject: string;
  html: string;
  text: string;
  layout: string | null;
  from: Template['from'];
  reply_to: Template['reply_to'];
  stream: string | null;
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
    reply_to: template.reply_to ?? [],
    stream: template.stream ?? null,
    locales: template.locales,
    variables: template.variables ?? [],
  };
}

/** Converts empty text to null; without a text part, it is generated from the HTML. */
export function toTemplateChange(fields: Partial<DraftFields>): TemplateChange {
  const change: Record<string, unknown> = { ...fields };
  for (const name of ['subject', 'html', 'text']) {
    if (change[name] === '') change[name] = null;
  }
  // The API requires a name; an empty one occurs only while typing.
  if (change.name === '') delete change.name;
  // The API rejects a language without content, which is how every new language starts.
  if (fields.locales) {
    change.locales = Object.fromEntries(
      Object.entries(fields.locales).filter(([, content]) => Object.keys(content).length > 0),
    );
  }
  return change as TemplateChange;
}

export function isEmpty(change: Partial<DraftFields>): boolean {
  return Object.keys(change).length === 0;
}

/** Fields that were edited both here and elsewhere, with different results. */
export function conflictingFields(
  base: DraftFields,
  mine: Partial<DraftFields>,
  theirs: DraftFields,
): FieldName[] {
  return (Object.keys(mine) as FieldName[]).filter((name) => {
    const remote = contentOf(name, theirs);
    return remote !== contentOf(name, base) && remote !== contentOf(name, mine);
  });
}

/** The comparable content of a field. Inferred variables are ignored: they follow from other fields. */
function contentOf(name: FieldName, fields: Partial<DraftFields>): string {
  if (name !== 'variables') return JSON.stringify(fields[name]);
  return JSON.stringify(fields.variables?.filter(({ inferred }) => !inferred));
}
