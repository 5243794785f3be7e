import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import net, { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { buildServer, SERVER_PACKAGE } from './build-server.ts';
import { ROOT } from './project-files.ts';

/**
 * `npm run test:packages` packs both packages, installs them with npm into an empty folder, starts
 * the server with the Node of the system, and sends a message with the client. It also checks that
 * npm would publish both without a warning. It needs the registry, or npm's cache of it.
 */

const START_TIMEOUT_MS = 60_000;

/** Sends with the packed client. */
const PROGRAM = `
import { Postrider } from 'postrider-client';
const postrider = new Postrider();
const to = { email: 'jane@example.com' };
await postrider.send({ to, from: { email: 'a@example.org' }, subject: 'Packed', text: 'Hi', html: '' });
const mail = await postrider.testInbox.wait({ to: to.email });
if (mail?.subject !== 'Packed') throw new Error('The message did not arrive.');
console.log('Sent and read in the test inbox with Node ' + process.version);
`;

const folder = mkdtempSync(path.join(tmpdir(), 'postrider-packages-'));
try {
  await testPackages();
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function testPackages(): Promise<void> {
  const environment = withoutOwnTools();
  step(`The Node of the system is ${run('node', ['--version'], folder, environment).trim()}`);
  await buildServer();
  for (const source of [SERVER_PACKAGE, path.join(ROOT, 'sdk')]) {
    run('npm', ['pack', source, '--pack-destination', folder], ROOT);
    const publish = ['publish', source, '--dry-run', '--ignore-scripts'];
    const { status, stderr } = spawnSync('npm', publish, { cwd: ROOT, encoding: 'utf8' });
    // The configuration and the login of the user are not about the package.
    const complaints = stderr
      .split('\n')
      .filter((line) => /^npm (warn (?!Unknown|.*logged in)|error)/.test(line));
    if (status !== 0 || complaints.length > 0)
      throw new Error(`npm publish of ${source} is not clean:\n${complaints.join('\n')}`);
  }
  const tarballs = readdirSync(folder).map((file) => `./${file}`);
  step(`Packed ${tarballs.join(' and ')}`);
  writeFileSync(
    path.join(folder, 'package.json'),
    '{"name":"empty","private":true,"type":"module"}',
  );
  run(
    'npm',
    ['install', '--prefer-offline', '--no-audit', '--no-fund', ...tarballs],
    folder,
    environment,
  );
  step('Installed');
  await startAndSend(environment);
  step('Done');
}

/** npm puts the tools of this repository, Node 24 among them, first in PATH. */
function withoutOwnTools(): NodeJS.ProcessEnv {
  const own = (entry: string): boolean =>
    entry.includes('node_modules') || entry.includes('npm-lifecycle');
  const PATH = (process.env.PATH ?? '').split(path.delimiter).filter((entry) => !own(entry));
  const { HOME } = process.env;
  return { HOME, PATH: PATH.join(path.delimiter) };
}

async function startAndSend(environment: NodeJS.ProcessEnv): Promise<void> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const server = spawn('node', ['node_modules/.bin/postrider', 'start'], {
    cwd: folder,
    env: { ...environment, PORT: String(port), SUBMISSION_PORT: 'off', RETURN_PATH_PORT: 'off' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  server.stdout.on('data', (chunk: Buffer) => {
    output += chunk;
  });
  try {
    const endsAtMs = Date.now() + START_TIMEOUT_MS;
    while (!/pr_test_\w+/.test(output)) {
      if (Date.now() > endsAtMs || server.exitCode !== null)
        throw new Error(`No start:\n${output}`);
      await sleep(100);
    }
    step('Started');
    const [apiKey = ''] = /pr_test_\w+/.exec(output) ?? [];
    const env = { ...environment, POSTRIDER_URL: url, POSTRIDER_API_KEY: apiKey };
    writeFileSync(path.join(folder, 'send.js'), PROGRAM);
    step(run('node', ['send.js'], folder, env).trim());
    step(run('npx', ['postrider', 'messages', 'list'], folder, env).trim());
  } finally {
    server.kill('SIGTERM');
    await once(server, 'exit');
  }
}

async function freePort(): Promise<number> {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

function run(command: string, args: string[], cwd: string, env = process.env): string {
  return execFileSync(command, args, {
    cwd,
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

function step(text: string): void {
  console.log(`${performance.now().toFixed(0).padStart(7)} ms  ${text}`);
}
