import type { Dirent } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { RefusedError } from '../../lib/refused-error.ts';
import type { PushedTemplate } from '../../templates/push-templates.ts';
import type { ContentKind, LocaleContent } from '../../templates/stored-content.ts';
import { UsageError } from '../command.ts';
import {
  ABOUT_FILES,
  type Files,
  fieldsOf,
  folderOf,
  keyOfFolder,
  PIECE_FOLDERS,
  WORD_FILES,
} from './folder-format.ts';

export interface ReadFolder {
  items: ReadItem[];
  /** Every file that belongs to an item, as it stands. */
  files: Files;
}

interface ReadItem {
  kind: ContentKind;
  key: string;
  about: string | undefined;
  words: LocaleContent;
  locales: ReadonlyMap<string, LocaleContent>;
}

/** Reads what lies in a folder. Files that are none of ours, such as sources, are left alone. */
export async function readFolder(directory: string): Promise<ReadFolder> {
  const files: Files = new Map();
  const items: ReadItem[] = [];
  for (const name of await foldersIn(directory, '')) {
    const kind =
      Object.hasOwn(PIECE_FOLDERS, name) && PIECE_FOLDERS[name as keyof typeof PIECE_FOLDERS];
    if (kind) {
      for (const key of await foldersIn(directory, name)) {
        await readItem(directory, { kind, key }, files, items);
      }
    } else await readItem(directory, { kind: 'template', key: keyOfFolder(name) }, files, items);
  }
  return { items, files };
}

/** The items with their fields, as they would be pushed. */
export function pushedOf({ items }: ReadFolder): PushedTemplate[] {
  return items.map(({ about, words, locales, ...item }) => {
    const file = `${folderOf(item)}/${ABOUT_FILES[item.kind]}`;
    const given = about === undefined ? {} : objectOf(file, about);
    return { ...item, fields: fieldsOf(given, words, locales) };
  });
}

async function readItem(
  directory: string,
  item: { kind: ContentKind; key: string },
  files: Files,
  items: ReadItem[],
): Promise<void> {
  const folder = folderOf(item);
  const about = await textOf(directory, `${folder}/${ABOUT_FILES[item.kind]}`, files);
  const words = await wordsOf(directory, folder, files);
  // Any other folder may lie here too: one of sources, or of what a tool made.
  if (about === undefined && Object.keys(words).length === 0) return;
  const locales = new Map<string, LocaleContent>();
  for (const locale of await foldersIn(directory, `${folder}/locales`)) {
    const variant = await wordsOf(directory, `${folder}/locales/${locale}`, files);
    if (Object.keys(variant).length > 0) locales.set(locale, variant);
  }
  items.push({ ...item, about, words, locales });
}

async function wordsOf(directory: string, folder: string, files: Files): Promise<LocaleContent> {
  const words: LocaleContent = {};
  for (const [field, file] of Object.entries(WORD_FILES) as [keyof LocaleContent, string][]) {
    const text = await textOf(directory, `${folder}/${file}`, files);
    if (text !== undefined) words[field] = field === 'subject' ? text.replace(/\r?\n$/, '') : text;
  }
  return words;
}

async function foldersIn(directory: string, folder: string): Promise<string[]> {
  let entries: Dirent[];
  try {
    entries = await readdir(path.join(directory, folder), { withFileTypes: true });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (folder !== '' && (code === 'ENOENT' || code === 'ENOTDIR')) return [];
    throw new UsageError(`${directory} cannot be read: ${message}.`);
  }
  return entries
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort();
}

async function textOf(directory: string, file: string, files: Files): Promise<string | undefined> {
  try {
    const place = path.join(directory, file);
    // Reading a pipe or a device would wait for whoever writes to it.
    if (!(await stat(place)).isFile()) throw broken(file, 'This is not a file.');
    const bytes = await readFile(place);
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    files.set(file, text);
    return text;
  } catch (error) {
    if (error instanceof RefusedError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA') throw broken(file, 'The file is not UTF-8.');
    throw broken(file, `${(error as Error).message}.`);
  }
}

function objectOf(file: string, text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw broken(file, (error as Error).message);
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return value as Record<string, unknown>;
  }
  throw broken(file, 'The file does not hold a JSON object.');
}

function broken(file: string, detail: string): RefusedError {
  return new RefusedError('validation_failed', 'A file cannot be used; nothing was pushed.', {
    errors: [{ pointer: file, code: 'invalid_file', detail }],
  });
}
