import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { startApp } from '../../server/test/harness/app.ts';
import { buildClient } from '../build.ts';

const PACKAGE = path.resolve(import.meta.dirname, '..');
const manifest = JSON.parse(readFileSync(path.join(PACKAGE, 'package.json'), 'utf8'));
const entry = path.join(PACKAGE, manifest.exports['.'].default);

beforeAll(buildClient);

test('plain Node sends a message with the built files, and nothing else', async () => {
  await using app = await startApp();
  const program = `
    import { Postrider } from ${JSON.stringify(entry)};
    const postrider = new Postrider({ apiKey: process.env.KEY, baseUrl: process.env.URL });
    const { id } = await postrider.send({
      to: { email: 'jane@example.com' }, from: { email: 'hello@example.org' },
      subject: 'Hello', html: '<p>Hello!</p>',
    });
    const mail = await postrider.testInbox.wait({ to: 'jane@example.com' });
    console.log(JSON.stringify({ sent: id, arrived: mail.id, text: mail.text }));`;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--no-experimental-strip-types', '--input-type=module', '--eval', program],
    { cwd: path.parse(PACKAGE).root, env: { KEY: app.testKey, URL: app.url } },
  );
  const { sent, arrived, text } = JSON.parse(stdout);
  expect(sent).toMatch(/^msg_/);
  expect({ arrived, text }).toEqual({ arrived: sent, text: 'Hello!' });
});

test('programs of CommonJS find it, and compilers that do not read exports', async () => {
  const { default: main, types } = manifest.exports['.'];
  expect(manifest).toMatchObject({ main, types });
  const program = `console.log(typeof require(${JSON.stringify(PACKAGE)}).Postrider)`;
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--input-type=commonjs',
    ...['--eval', program],
  ]);
  expect(stdout).toBe('function\n');
});

test('the built files import one another, and no package', () => {
  const files = readdirSync(path.dirname(entry)).filter((file) => file.endsWith('.js'));
  expect(files).toContain('index.js');
  const imported = files.flatMap((file) =>
    [
      ...readFileSync(path.join(path.dirname(entry), file), 'utf8').matchAll(/ from '([^']+)'/g),
    ].map((match) => match[1]),
  );
  expect(imported.filter((name) => !/^\.\/[a-z-]+\.js$/.test(name ?? ''))).toEqual([]);
  expect(manifest.dependencies).toBeUndefined();
});
