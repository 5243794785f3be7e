import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, symlink } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildServer, SERVER_PACKAGE } from '../../../../scripts/build-server.ts';
import { runPostrider } from '../../harness/cli-process.ts';
import { createServerProcess } from '../../harness/server-process.ts';
import { createTempDir } from '../../harness/temp-dir.ts';

/**
 * What npm would publish works outside the repository: the packed server is unpacked into an empty
 * folder, next to the packages that it depends on, and started. `npm run test:packages` installs both
 * packages with npm instead.
 */

const ROOT = path.resolve(import.meta.dirname, '../../../..');
const run = promisify(execFile);

let scratch: Awaited<ReturnType<typeof createTempDir>>;

beforeAll(async () => {
  scratch = await createTempDir();
  await buildServer();
});
afterAll(() => scratch[Symbol.asyncDispose]());

interface Packed {
  filename: string;
  files: { path: string }[];
}

/** What npm packs from a folder, as it is now. */
async function pack(folder: string, ...options: string[]): Promise<Packed> {
  const args = ['pack', folder, '--ignore-scripts', '--json', ...options];
  const { stdout } = await run('npm', args, { cwd: ROOT });
  return Object.values(JSON.parse(stdout) as Record<string, Packed>)[0] as Packed;
}

function names({ files }: Packed): string[] {
  return files.map((file) => file.path);
}

test('the package of the client contains its code, types, README and license only', async () => {
  const files = names(await pack('./sdk', '--dry-run'));
  expect(files).toEqual(expect.arrayContaining(['LICENSE', 'README.md', 'package.json']));
  const others = files.filter((file) => !/^(LICENSE|README\.md|package\.json|dist\/)/.test(file));
  expect(others).toEqual([]);
});

test('the package of the server starts in an empty folder, without tests or TypeScript', async () => {
  const packed = await pack(SERVER_PACKAGE, '--pack-destination', scratch.path);
  const files = names(packed);
  expect(files).toEqual(expect.arrayContaining(['LICENSE', 'README.md', 'package.json']));
  expect(files.filter((file) => /\.ts$|\.test\.|(^|\/)test\//.test(file))).toEqual([]);
  const modules = path.join(scratch.path, 'node_modules');
  const own = path.join(modules, 'postrider');
  await mkdir(own, { recursive: true });
  const archive = path.join(scratch.path, packed.filename);
  await run('tar', ['-xzf', archive, '--strip-components=1', '-C', own]);
  for (const name of await readdir(path.join(ROOT, 'node_modules'))) {
    if (name === 'postrider' || name === 'postrider-client') continue;
    await symlink(path.join(ROOT, 'node_modules', name), path.join(modules, name));
  }
  const { bin } = JSON.parse(await readFile(path.join(own, 'package.json'), 'utf8'));
  const main = path.join(own, bin.postrider);
  const dataDir = path.join(scratch.path, 'data');
  const server = await createServerProcess({ dataDir, main });
  await server.start();
  try {
    const env = { POSTRIDER_URL: server.url, POSTRIDER_API_KEY: await server.printedKey() };
    const fields = ['--to', 'jane@example.com', '--from', 'a@example.org', '--subject', 'Packed'];
    const sent = await runPostrider(['send', ...fields, '--text', 'Hi', '--json'], { env, main });
    expect(sent).toMatchObject({ code: 0, stderr: '' });
    const waiting = `${server.url}/api/v1/test/inbox/wait?to=jane@example.com&timeout=20`;
    const headers = { authorization: `Bearer ${env.POSTRIDER_API_KEY}` };
    const mail = await (await fetch(waiting, { headers })).json();
    expect(mail).toMatchObject({ message: { subject: 'Packed' } });
    for (const page of ['/app', '/docs']) {
      expect([page, (await fetch(`${server.url}${page}`)).status]).toEqual([page, 200]);
    }
  } finally {
    expect(await server.stop()).toBe(0);
  }
});
