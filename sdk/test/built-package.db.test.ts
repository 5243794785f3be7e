import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startApp, type TestApp, validMessage } from '../../server/test/harness/app.ts';
import { buildClient } from '../build.ts';

/**
 * The built package works in plain Node, and the README's snippets compile and run. The snippets are
 * joined into one program after the declarations they rely on, compiled with settings other than ours,
 * and run against a server.
 */

const PACKAGE = path.resolve(import.meta.dirname, '..');
const manifest = JSON.parse(readFileSync(path.join(PACKAGE, 'package.json'), 'utf8'));
const entry = path.join(PACKAGE, manifest.exports['.'].default);
const tsc = fileURLToPath(import.meta.resolve('typescript/bin/tsc'));
const run = promisify(execFile);

/** Declarations that readers of the README supply. Following events never ends, so saving a cursor stops it. */
const OWN = `
import { readFile } from 'node:fs/promises';
const order = { id: 7 };
const receipt = ${JSON.stringify(validMessage({ subject: 'Receipt' }))};
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

test('the snippets run', { timeout: 60_000 }, async () => {
  await app.call('POST', '/templates', {
    body: { key: 'welcome', subject: 'S', html: '<p>x</p>' },
  });
  await app.call('POST', '/transactional/send', {
    body: validMessage({ subject: 'Your code: 4711' }),
  });
  const env = { ...process.env, POSTRIDER_API_KEY: app.testKey };
  await run(process.execPath, ['program.ts'], { cwd: folder, env });
  const { data } = (await app.call('GET', '/messages')).json as { data: { subject: string }[] };
  const sent = data.map(({ subject }) => subject);
  expect(sent).toEqual(expect.arrayContaining(['Hello Jane', 'Receipt']));
  expect((await app.call('GET', '/suppressions?email=old@example.com')).json.data).toHaveLength(1);
  const imported = async () => (await app.call('GET', '/contacts/imported@example.com')).status;
  await expect.poll(imported).toBe(200);
});

test('plain Node sends a message with the built files only', async () => {
  const program = `
    import { Postrider } from ${JSON.stringify(entry)};
    const postrider = new Postrider({ apiKey: process.env.KEY, baseUrl: process.env.URL });
    const { id } = await postrider.send({
      to: { email: 'joe@example.com' }, from: { email: 'hello@example.org' },
      subject: 'Hello', html: '<p>Hello!</p>',
    });
    const mail = await postrider.testInbox.wait({ to: 'joe@example.com' });
    console.log(JSON.stringify({ sent: id, arrived: mail.id, text: mail.text }));`;
  const { stdout } = await run(
    process.execPath,
    ['--no-experimental-strip-types', '--input-type=module', '--eval', program],
    { cwd: path.parse(PACKAGE).root, env: { KEY: app.testKey, URL: app.url } },
  );
  const { sent, arrived, text } = JSON.parse(stdout);
  expect(sent).toMatch(/^msg_/);
  expect({ arrived, text }).toEqual({ arrived: sent, text: 'Hello!' });
});

test('CommonJS programs and compilers without support for exports find it', async () => {
  const { default: main, types } = manifest.exports['.'];
  expect(manifest).toMatchObject({ main, types });
  const program = `console.log(typeof require(${JSON.stringify(PACKAGE)}).Postrider)`;
  const { stdout } = await run(process.execPath, ['--input-type=commonjs', ...['--eval', program]]);
  expect(stdout).toBe('function\n');
});

test('the built files import no packages', () => {
  const files = readdirSync(path.dirname(entry)).filter((file) => file.endsWith('.js'));
  expect(files).toContain('index.js');
  const imported = files.flatMap((file) =>
    [
      ...readFileSync(path.join(path.dirname(entry), file), 'utf8').matchAll(
        / from (['"])(.+?)\1/g,
      ),
    ].map((match) => match[2]),
  );
  expect(imported).toContain('./errors.js');
  expect(imported.filter((name) => !/^\.\/[a-z.-]+\.js$/.test(name ?? ''))).toEqual([]);
  expect(manifest.dependencies).toBeUndefined();
});
