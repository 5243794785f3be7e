import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { configurationTables } from '../server/src/config/variables.ts';
import { defaultDocument } from './openapi.ts';
import { ROOT } from './project-files.ts';

/** Files, or parts of files, that are made from the code; `npm run generate` writes them. */

interface Generated {
  file: string;
  /** The whole text as it should be, given what it is now. */
  make: (current: string) => string;
}

const GENERATED: Generated[] = [
  { file: 'openapi.json', make: () => `${JSON.stringify(defaultDocument(), null, 2)}\n` },
  {
    file: 'README.md',
    make: (current) => withBlock(current, 'configuration', configurationTables()),
  },
];

/** Writes what is stale; returns the names of the files it wrote. */
export function writeGenerated(): string[] {
  return stale().map(({ file, text }) => {
    writeFileSync(path.join(ROOT, file), text);
    return file;
  });
}

export function staleMistakes(): string[] {
  return stale().map(({ file }) => `${file} is not what the code makes of it: npm run generate`);
}

function stale(): { file: string; text: string }[] {
  return GENERATED.flatMap(({ file, make }) => {
    const place = path.join(ROOT, file);
    const current = existsSync(place) ? readFileSync(place, 'utf8') : '';
    const text = make(current);
    return text === current ? [] : [{ file, text }];
  });
}

/** Replaces what stands between two comments; the words around it are people's. */
function withBlock(current: string, name: string, block: string): string {
  const [start, end] = [`<!-- ${name}: generated -->`, `<!-- ${name}: end -->`];
  const [before, rest] = current.split(start);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined) {
    throw new Error(`README.md has no ${start} … ${end}`);
  }
  return `${before}${start}\n\n${block}\n\n${end}${after}`;
}
