import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { createTempDir } from '../server/test/harness/temp-dir.ts';
import { languageErrors } from './language.ts';

async function errorsFor(file: string, text: string): Promise<string[]> {
  await using folder = await createTempDir();
  mkdirSync(path.dirname(path.join(folder.path, file)), { recursive: true });
  writeFileSync(path.join(folder.path, file), text);
  return languageErrors(folder.path);
}

it.each([
  ['a comment', 'a.ts', '// The client is told.\n', 'a.ts:1: "told"'],
  [
    'a later line of a comment',
    'a.ts',
    '/**\n * First.\n * By itself.\n */\n',
    'a.ts:3: "By itself"',
  ],
  ['a string', 'a.ts', "throw new Error('Somebody called.');\n", 'a.ts:1: "Somebody"'],
  ['a template literal', 'a.ts', 'log(`${n} e-mails sent`);\n', 'a.ts:1: "e-mails"'],
  ['JSX text', 'a.tsx', 'const a = <p>Nobody is here</p>;\n', 'a.tsx:1: "Nobody"'],
  ['a test title', 'a.test.ts', "test('what waits is sent', () => {});\n", 'a.test.ts:1: "what"'],
  ['part of an identifier', 'a.ts', 'const askedAtMs = 1;\n', 'a.ts:1: "askedAtMs"'],
  ['a retired name', 'a.ts', 'takeTurn();\n', 'a.ts:1: "takeTurn"'],
  ['an SQL comment', 'a.sql', 'select 1; -- goes on later\n', 'a.sql:1: "goes on"'],
  ['an SQL name', 'a.sql', 'create table t (told int);\n', 'a.sql:1: "told"'],
  ['a CSS comment', 'a.css', '/* The colour of links. */\n', 'a.css:1: "colour"'],
  ['documentation', 'docs/a.md', '# A\n\nIt stands here.\n', 'docs/a.md:3: "stands"'],
  [
    'a description',
    'openapi.json',
    '{\n"description": "Whoever asks."\n}\n',
    'openapi.json:2: "Whoever"',
  ],
  ['a file name', 'docs/the-house.md', 'Text.\n', 'docs/the-house.md:1: "the-house.md"'],
])('finds %s', async (_, file, text, found) => {
  const errors = await errorsFor(file, text);
  expect(errors).toHaveLength(1);
  expect(errors[0]).toMatch(new RegExp(`^${found.replaceAll('.', '\\.')} -> `));
});

it.each([
  ['there is no', 'a.md', 'There is no limit, and it is no longer used.\n'],
  ['letters of the alphabet', 'a.md', 'Use letters and digits.\n'],
  ['code in Markdown', 'a.md', '`told` and\n```\nsomebody\n```\n'],
  ['code in comments', 'a.ts', '// The column `told` was renamed.\n'],
  ['room for', 'a.md', 'There is room for more.\n'],
  ['wall clock', 'a.md', 'The wall clock may jump.\n'],
  ['look it up', 'a.md', 'Look it up in the table.\n'],
  ['an address', 'a.ts', "send('mail to nobody@example.com');\n"],
  ['single words in code', 'a.ts', "const locale = 'he';\n"],
])('accepts %s', async (_, file, text) => {
  expect(await errorsFor(file, text)).toEqual([]);
});
