import type { ContentKind, StoredContent, LocaleContent } from '../../templates/stored-content.ts';

/**
 * How templates lie in a folder: one folder a key, each text in a file of its own that editors and
 * reviews can read, and the rest as JSON. `welcome/html.liquid`, `welcome/locales/de/subject.txt`,
 * `layouts/main/layout.json`, `partials/footer/text.liquid`.
 */

export interface FolderItem {
  kind: ContentKind;
  key: string;
}

/** Texts by path, with slashes, from the top of the folder. */
export type Files = Map<string, string>;

export const ABOUT_FILES: Record<ContentKind, string> = {
  template: 'template.json',
  layout: 'layout.json',
  partial: 'partial.json',
};

export const WORD_FILES = {
  subject: 'subject.txt',
  html: 'html.liquid',
  text: 'text.liquid',
} as const satisfies Record<keyof LocaleContent, string>;

/** Where layouts and partials are; a template of such a name gets a mark that no key has. */
export const PIECE_FOLDERS = { layouts: 'layout', partials: 'partial' } as const;
const MARK = '~';

export function folderOf({ kind, key }: FolderItem): string {
  if (kind !== 'template') return `${kind}s/${key}`;
  return Object.hasOwn(PIECE_FOLDERS, key) ? `${key}${MARK}` : key;
}

export function keyOfFolder(name: string): string {
  return name.endsWith(MARK) ? name.slice(0, -MARK.length) : name;
}

export function filesOf(item: FolderItem & { name: string; content: StoredContent }): Files {
  const folder = folderOf(item);
  const { content } = item;
  const files: Files = new Map([
    [`${folder}/${ABOUT_FILES[item.kind]}`, `${JSON.stringify(aboutOf(item), null, 2)}\n`],
  ]);
  addWords(files, folder, content);
  for (const [locale, words] of Object.entries(content.locales)) {
    addWords(files, `${folder}/locales/${locale}`, words);
  }
  return files;
}

/** The fields of an item out of its files; the JSON is what its author wrote. */
export function fieldsOf(
  about: Record<string, unknown>,
  words: LocaleContent,
  locales: ReadonlyMap<string, LocaleContent>,
): Record<string, unknown> {
  return {
    ...about,
    ...words,
    ...(locales.size > 0 ? { locales: Object.fromEntries(locales) } : {}),
  };
}

/** The file that holds what a pointer such as `/templates/welcome/locales/de/html` leads to. */
export function fileOfPointer(pointer: string): string {
  const [, plural = '', key = '', ...field] = pointer.split('/');
  const kind = plural.replace(/s$/, '') as ContentKind;
  const folder = folderOf({ kind, key });
  const isVariant = field[0] === 'locales' && field[1] !== undefined;
  const word = isVariant ? field[2] : field[0];
  const place = isVariant ? `${folder}/locales/${field[1]}` : folder;
  if (word !== undefined && Object.hasOwn(WORD_FILES, word)) {
    return `${place}/${WORD_FILES[word as keyof LocaleContent]}`;
  }
  return isVariant ? place : `${folder}/${ABOUT_FILES[kind]}`;
}

function aboutOf({ kind, name, content }: FolderItem & { name: string; content: StoredContent }) {
  if (kind !== 'template') return { name };
  const { from, reply_to, layout, variables } = content;
  return {
    name,
    ...(from ? { from } : {}),
    ...(reply_to.length > 0 ? { reply_to } : {}),
    ...(layout === null ? {} : { layout }),
    ...(variables.length > 0 ? { variables } : {}),
  };
}

function addWords(
  files: Files,
  folder: string,
  words: { [field in keyof LocaleContent]?: string | null },
): void {
  for (const field of ['subject', 'html', 'text'] as const) {
    const text = words[field];
    // A line in a file ends; the texts are kept to the byte.
    if (text != null)
      files.set(`${folder}/${WORD_FILES[field]}`, field === 'subject' ? `${text}\n` : text);
  }
}
