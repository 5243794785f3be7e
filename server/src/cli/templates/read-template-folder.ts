import type { Dirent } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { RefusedError } from '../../lib/refused-error.ts';
import type { ContentKind, LocaleContent } from '../../templates/content/stored-content.ts';
import type { PushedTemplate } from '../../templates/push-templates.ts';
import { UsageError } from '../command.ts';
import {
  CONTENT_FILES,
  type Files,
  fieldsOf,
  folderOf,
  keyOfFolder,
  METADATA_FILES,
  PIECE_FOLDERS,
} from './template-folder.ts';

export interface TemplateFolder {
  items: FolderItem[];
  /** Every file that belongs to an item, as read. */
  files: Files;
}

interface FolderItem {
  kind: ContentKind;
  key: string;
  metadata: string | undefined;
  content: LocaleContent;
  locales: ReadonlyMap<string, LocaleContent>;
}

/** Reads the templates in a directory. Unrelated files, such as sources, are ignored. */
export async function readTemplateFolder(directory: string): Promise<TemplateFolder> {
  const files: Files = new Map();
  const items: FolderItem[] = [];
  for (const name of await listFolders(directory, '')) {
    const kind =
      Object.hasOwn(PIECE_FOLDERS, name) && PIECE_FOLDERS[name as keyof typeof PIECE_FOLDERS];
    if (kind) {
      for (const key of await listFolders(directory, name)) {
        await readItem(directory, { kind, key }, files, items);
      }
    } else await readItem(directory, { kind: 'template', key: keyOfFolder(name) }, files, items);
  }
  return { items, files };
}

/** The items with their fields, as they would be pushed. */
export function toPushItems({ items }: TemplateFolder): PushedTemplate[] {
  return items.map(({ metadata, content, locales, ...item }) => {
    const file = `${folderOf(item)}/${METADATA_FILES[item.kind]}`;
    const fields = metadata === undefined ? {} : parseObject(file, metadata);
    return { ...item, fields: fieldsOf(fields, content, locales) };
  });
}

async function readItem(
  directory: string,
  item: { kind: ContentKind; key: string },
  files: Files,
  items: FolderItem[],
): Promise<void> {
  const folder = folderOf(item);
  const metadata = await readText(directory, `${folder}/${METADATA_FILES[item.kind]}`, files);
  const content = await readContent(directory, folder, files);
  // Other directories may be here too, for sources or build output.
  if (metadata === undefined && Object.keys(content).length === 0) return;
  const locales = new Map<string, LocaleContent>();
  for (const locale of await listFolders(directory, `${folder}/locales`)) {
    const variant = await readContent(directory, `${folder}/locales/${locale}`, files);
    if (Object.keys(variant).length > 0) locales.set(locale, variant);
  }
  items.push({ ...item, metadata, content, locales });
}

async function readContent(
  directory: string,
  folder: string,
  files: Files,
): Promise<LocaleContent> {
  const content: LocaleContent = {};
  for (const [field, file] of Object.entries(CONTENT_FILES) as [keyof LocaleContent, string][]) {
    const text = await readText(directory, `${folder}/${file}`, files);
    if (text !== undefined)
      content[field] = field === 'subject' ? text.replace(/\r?\n$/, '') : text;
  }
  return content;
}

async function listFolders(directory: string, folder: string): Promise<string[]> {
  let entries: Dirent[];
  try {
    entries = await readdir(path.join(directory, folder), { withFileTypes: true });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (folder !== '' && (code === 'ENOENT' || code === 'ENOTDIR')) return [];
    throw new UsageError(`Cannot read ${directory}: ${message}.`);
  }
  return entries
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort();
}

async function readText(
  directory: string,
  file: string,
  files: Files,
): Promise<string | undefined> {
  try {
    const location = path.join(directory, file);
    // Reading a pipe or a device would block.
    if (!(await stat(location)).isFile()) throw invalidFile(file, 'Not a regular file.');
    const bytes = await readFile(location);
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    files.set(file, text);
    return text;
  } catch (error) {
    if (error instanceof RefusedError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA')
      throw invalidFile(file, 'The file is not valid UTF-8.');
    throw invalidFile(file, `${(error as Error).message}.`);
  }
}

function parseObject(file: string, text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw invalidFile(file, (error as Error).message);
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return value as Record<string, unknown>;
  }
  throw invalidFile(file, 'The file is not a JSON object.');
}

function invalidFile(file: string, detail: string): RefusedError {
  return new RefusedError('validation_failed', 'A file is invalid; nothing was pushed.', {
    errors: [{ pointer: file, code: 'invalid_file', detail }],
  });
}
