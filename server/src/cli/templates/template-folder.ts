import { RefusedError } from '../../lib/refused-error.ts';
import type {
  ContentKind,
  LocaleContent,
  StoredContent,
} from '../../templates/content/stored-content.ts';

/**
 * The layout of templates in a directory: one subdirectory per key, each text in a file of its own
 * that editors and reviewers can read, and the rest as JSON. `welcome/html.liquid`,
 * `welcome/locales/de/subject.txt`, `layouts/main/layout.json`, `partials/footer/text.liquid`.
 */

export interface TemplateItem {
  kind: ContentKind;
  key: string;
}

/** File contents by path, with slashes, relative to the directory. */
export type Files = Map<string, string>;

export const METADATA_FILES: Record<ContentKind, string> = {
  template: 'template.json',
  layout: 'layout.json',
  partial: 'partial.json',
};

export const CONTENT_FILES = {
  subject: 'subject.txt',
  html: 'html.liquid',
  text: 'text.liquid',
} as const satisfies Record<keyof LocaleContent, string>;

/**
 * The directories of layouts and partials; a template with such a key gets a suffix that keys
 * cannot have.
 */
export const PIECE_FOLDERS = { layouts: 'layout', partials: 'partial' } as const;
const MARK = '~';

export function folderOf({ kind, key }: TemplateItem): string {
  if (kind !== 'template') return `${kind}s/${key}`;
  return Object.hasOwn(PIECE_FOLDERS, key) ? `${key}${MARK}` : key;
}

export function keyOfFolder(name: string): string {
  return name.endsWith(MARK) ? name.slice(0, -MARK.length) : name;
}

export function filesOf(item: TemplateItem & { name: string; content: StoredContent }): Files {
  const folder = folderOf(item);
  const { content } = item;
  const files: Files = new Map([
    [`${folder}/${METADATA_FILES[item.kind]}`, `${JSON.stringify(metadataOf(item), null, 2)}\n`],
  ]);
  addContent(files, folder, content);
  for (const [locale, localized] of Object.entries(content.locales)) {
    addContent(files, `${folder}/locales/${locale}`, localized);
  }
  return files;
}

/** The fields of an item from its files; the JSON is passed as written. */
export function fieldsOf(
  metadata: Record<string, unknown>,
  content: LocaleContent,
  locales: ReadonlyMap<string, LocaleContent>,
): Record<string, unknown> {
  return {
    ...metadata,
    ...content,
    ...(locales.size > 0 ? { locales: Object.fromEntries(locales) } : {}),
  };
}

/** The file for a JSON pointer such as `/templates/welcome/locales/de/html`. */
export function fileOfPointer(pointer: string): string {
  const [, plural = '', key = '', ...field] = pointer.split('/');
  const kind = plural.replace(/s$/, '') as ContentKind;
  const folder = folderOf({ kind, key });
  const isVariant = field[0] === 'locales' && field[1] !== undefined;
  const name = isVariant ? field[2] : field[0];
  const parent = isVariant ? `${folder}/locales/${field[1]}` : folder;
  if (name !== undefined && Object.hasOwn(CONTENT_FILES, name)) {
    return `${parent}/${CONTENT_FILES[name as keyof LocaleContent]}`;
  }
  return isVariant ? parent : `${folder}/${METADATA_FILES[kind]}`;
}

function metadataOf({
  kind,
  name,
  content,
}: TemplateItem & { name: string; content: StoredContent }) {
  if (kind !== 'template') return { name };
  const { from, reply_to, stream, layout, variables } = content;
  return {
    name,
    ...(from ? { from } : {}),
    ...(reply_to.length > 0 ? { reply_to } : {}),
    ...(stream == null ? {} : { stream }),
    ...(layout === null ? {} : { layout }),
    ...(variables.length > 0 ? { variables } : {}),
  };
}

function addContent(
  files: Files,
  folder: string,
  content: { [field in keyof LocaleContent]?: string | null },
): void {
  for (const field of ['subject', 'html', 'text'] as const) {
    const text = content[field];
    // The subject file ends with a newline; other texts are kept byte for byte.
    if (text != null)
      files.set(`${folder}/${CONTENT_FILES[field]}`, field === 'subject' ? `${text}\n` : text);
  }
}

/** Rethrows a refusal with its errors attributed to files. */
export function rethrowWithFileNames(error: unknown): never {
  if (!(error instanceof RefusedError) || error.errors.length === 0) throw error;
  const errors = error.errors.map((each) => ({
    ...each,
    pointer: fileOfPointer(each.pointer ?? ''),
  }));
  const { fix } = error;
  throw new RefusedError(error.code, error.message, {
    errors,
    ...(fix === undefined ? {} : { fix }),
  });
}
