import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { configurationTables } from '../server/src/config/settings.ts';
import { RESOURCES_FILE, resourcesFile } from './client-resources.ts';
import { commandReference } from './command-reference.ts';
import { ROOT } from './project-files.ts';
import { ROUTES_FILE, routesFile } from './routes.ts';
import { TABLES_FILE, tablesFile } from './table-rows.ts';

/** Files, or parts of files, that are generated from the code by `npm run generate`. */

interface Generated {
  file: string;
  /** Returns the whole text of the file, given its current text. */
  make: (current: string) => string | Promise<string>;
}

/** In this order: the document is made by the code that the list of routes is part of. */
const GENERATED: Generated[] = [
  { file: TABLES_FILE, make: tablesFile },
  { file: ROUTES_FILE, make: routesFile },
  { file: 'openapi.json', make: openapiFile },
  { file: RESOURCES_FILE, make: resourcesFile },
  {
    file: 'docs/configuration.md',
    make: (current) => withBlock(current, 'configuration', configurationTables()),
  },
  { file: 'docs/cli.md', make: (current) => withBlock(current, 'commands', commandReference()) },
];

/** Writes the stale files; returns their names. */
export async function writeGenerated(): Promise<string[]> {
  const written: string[] = [];
  for (const generated of GENERATED) {
    const text = await freshText(generated);
    if (text === undefined) continue;
    writeFileSync(path.join(ROOT, generated.file), text);
    written.push(generated.file);
  }
  return written;
}

export async function staleFileErrors(): Promise<string[]> {
  const errors: string[] = [];
  for (const generated of GENERATED) {
    if ((await freshText(generated)) === undefined) continue;
    errors.push(`${generated.file} is out of date. Run: npm run generate`);
  }
  return errors;
}

/** The text that the file should have, or undefined if it has it already. */
async function freshText({ file, make }: Generated): Promise<string | undefined> {
  const location = path.join(ROOT, file);
  const current = existsSync(location) ? readFileSync(location, 'utf8') : '';
  const text = await make(current);
  return text === current ? undefined : text;
}

/** Imported only now, after the list of routes that it depends on has been written. */
async function openapiFile(): Promise<string> {
  const { defaultDocument } = await import('./openapi.ts');
  return `${JSON.stringify(defaultDocument(), null, 2)}\n`;
}

/** Replaces the text between two marker comments; the text around them is written by hand. */
function withBlock(current: string, name: string, block: string): string {
  const [start, end] = [`<!-- ${name}: generated -->`, `<!-- ${name}: end -->`];
  const [before, rest] = current.split(start);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined) {
    throw new Error(`There is no ${start} … ${end}`);
  }
  return `${before}${start}\n\n${block}\n\n${end}${after}`;
}
