import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { scratchFolder } from '../server/test/harness/temp-dir.ts';
import { tidyMistakes } from './hygiene.ts';

/** Goal: each rule finds what it is for and leaves the innocent alone. Method: small trees on disk. */

function tree(root: string, files: Record<string, string>): string[] {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
    writeFileSync(path.join(root, name), text);
  }
  return tidyMistakes(root);
}

// Written apart, so that this file is tidy itself.
const LEFTOVER = ['TO', 'DO'].join('');
const ONLY = ['it', 'only'].join('.');
const ENVIRONMENT = ['process', 'env'].join('.');
const ELSEWHERE = ['', 'root', 'project', 'x.ts'].join('/');

it('finds what was left behind', async () => {
  await using folder = await scratchFolder();
  expect(
    tree(folder.path, {
      'server/src/a.ts': `const a = 1;\n// ${LEFTOVER}: b\nconst { HOME } = ${ENVIRONMENT};\n`,
      'server/src/a.test.ts': `${ONLY}('x', () => { ${ENVIRONMENT}; });\n`,
      'server/src/config/env.ts': `export const env = ${ENVIRONMENT};\n`,
      'docs/notes.md': `It lies in ${ELSEWHERE}.\n`,
      'node_modules/a/index.js': `// ${LEFTOVER}\n`,
    }),
  ).toEqual([
    `docs/notes.md:1: ${ELSEWHERE.slice(0, 7)}… is a path of one machine`,
    `server/src/a.test.ts:1: ${ONLY} leaves tests out`,
    `server/src/a.ts:2: "${LEFTOVER}" was left behind`,
    'server/src/a.ts:3: only server/src/config reads the environment',
  ]);
});

it('follows links between pages, and to headings', async () => {
  await using folder = await scratchFolder();
  expect(
    tree(folder.path, {
      'README.md':
        '# Top\n[a](docs/a.md) [b](docs/a.md#the-walk-of-one-message) [c](https://example.com/x) [d](#top)\n' +
        '```\n[not a link](nowhere.md)\n```\n[dead](docs/b.md) [half](docs/a.md#missing) <img src="docs/no.svg">\n',
      'docs/a.md': '# A\n## The walk of one message\n[back](../README.md)\n',
    }),
  ).toEqual([
    'README.md: the link to docs/b.md leads nowhere',
    'README.md: the link to docs/a.md#missing leads nowhere',
    'README.md: the link to docs/no.svg leads nowhere',
  ]);
});

it('wants packages from the public registry', async () => {
  await using folder = await scratchFolder();
  const packages = {
    '': {},
    'node_modules/a': { resolved: 'https://registry.npmjs.org/a/-/a-1.0.0.tgz' },
    'node_modules/server': { resolved: 'server', link: true },
    'node_modules/b': { resolved: 'http://mirror.example/b-1.0.0.tgz' },
  };
  expect(tree(folder.path, { 'package-lock.json': JSON.stringify({ packages }) })).toEqual([
    'package-lock.json: node_modules/b comes from http://mirror.example/b-1.0.0.tgz',
  ]);
});
