import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { goodSend, startApp, type TestApp } from '../../server/test/harness/app.ts';
import { buildClient } from '../build.ts';

/**
 * Goal: whoever copies the code from the README has a program that compiles and works.
 * Method: its snippets are joined to one program, behind what they take for granted, compiled against
 * the built library with settings that are not ours, and run against a server.
 */

const PACKAGE = path.resolve(import.meta.dirname, '..');
const tsc = fileURLToPath(import.meta.resolve('typescript/bin/tsc'));
const run = promisify(execFile);

/** What readers have of their own. The ledger has no end: here it is enough when a cursor is kept. */
const OWN = `
import { readFile } from 'node:fs/promises';
const order = { id: 7 };
const receipt = ${JSON.stringify(goodSend({ subject: 'Receipt' }))};
const enough = new Error('enough');
async function lastCursor(): Promise<string | undefined> { return undefined; }
async function keepCursor(_cursor: string): Promise<void> { throw enough; }
async function forget(_recipient: string, _reason: string): Promise<void> {}
`;

const SETTINGS = {
  compilerOptions: {
    ...{ target: 'es2022', module: 'nodenext', lib: ['es2022', 'dom', 'dom.asynciterable'] },
    ...{ types: ['node'], strict: true, noEmit: true },
  },
  include: ['*.ts'],
};

let app: TestApp;
let folder: string;
beforeAll(async () => {
  [app] = await Promise.all([startApp(), buildClient()]);
  folder = await mkdtemp(path.join(tmpdir(), 'postrider-readme-'));
  await mkdir(path.join(folder, 'node_modules'));
  await symlink(PACKAGE, path.join(folder, 'node_modules/postrider-client'));
  const typesOfNode = path.dirname(fileURLToPath(import.meta.resolve('@types/node/package.json')));
  await symlink(path.dirname(typesOfNode), path.join(folder, 'node_modules/@types'));
  await writeFile(path.join(folder, 'package.json'), '{"type":"module"}');
  await writeFile(path.join(folder, 'tsconfig.json'), JSON.stringify(SETTINGS));
  await writeFile(path.join(folder, 'contacts.csv'), 'email\nimported@example.com\n');
  await writeFile(path.join(folder, 'program.ts'), await program());
}, 120_000);
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

async function program(): Promise<string> {
  const readme = await readFile(path.join(PACKAGE, 'README.md'), 'utf8');
  const snippets = [...readme.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code = '']) => code);
  const imports = snippets.flatMap((code) => code.match(/^import .*$/gm) ?? []);
  const blocks = snippets
    .map((code) => code.replaceAll(/^import .*$/gm, ''))
    .map((code) =>
      /^(export|const postrider)\b/m.test(code)
        ? code
        : `try {\n${code}\n} catch (error) { if (error !== enough) throw error; }`,
    );
  return [...imports, OWN, ...blocks].join('\n').replace('https://mail.example.com', app.url);
}

test('the snippets compile', { timeout: 120_000 }, async () => {
  const { stdout } = await run(process.execPath, [tsc, '-p', folder]).catch((error) => error);
  expect(stdout).toBe('');
});

test('the snippets do what they say', { timeout: 60_000 }, async () => {
  await app.call('POST', '/templates', {
    body: { key: 'welcome', subject: 'S', html: '<p>x</p>' },
  });
  await app.call('POST', '/transactional/send', { body: goodSend({ subject: 'Your code: 4711' }) });
  const env = { ...process.env, POSTRIDER_KEY: app.testKey };
  await run(process.execPath, ['program.ts'], { cwd: folder, env });
  const { data } = (await app.call('GET', '/messages')).json as { data: { subject: string }[] };
  const sent = data.map(({ subject }) => subject);
  expect(sent.sort()).toEqual(['Hello Jane', 'Receipt', 'Your code: 4711']);
  expect((await app.call('GET', '/suppressions?email=old@example.com')).json.data).toHaveLength(1);
  const imported = async () => (await app.call('GET', '/contacts/imported@example.com')).status;
  await expect.poll(imported).toBe(200);
});
