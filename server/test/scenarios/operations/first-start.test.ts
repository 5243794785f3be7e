import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { isReachableByEveryone } from '../../../src/db/embedded/run-as.ts';
import { childProgram } from '../../harness/child-programs.ts';
import { LAUNCHER, runPostrider } from '../../harness/cli-process.ts';
import { createTestDatabase } from '../../harness/database/database.ts';
import { freePort } from '../../harness/free-port.ts';
import { createServerProcess } from '../../harness/server-process.ts';
import { createTempDir } from '../../harness/temp-dir.ts';
import { until } from '../../harness/until.ts';

/**
 * In an empty folder, one command starts a server and prints a request that works when pasted; a second
 * server or a port in use ends with one sentence and leaves nothing running; SIGTERM shuts down cleanly.
 * Real processes run with their own embedded database.
 */

it('creates a key, prints it once, and rejects a second server', async () => {
  await using folder = await createTempDir();
  const server = await createServerProcess({
    dataDir: folder.path,
    env: { WEBHOOKS_ALLOW_PRIVATE: 'true' },
  });
  await server.start();
  expect(server.output).toContain('Did you mean WEBHOOK_ALLOW_PRIVATE?');
  await expect.poll(() => server.output).toContain('/test/inbox/wait');
  expect(server.output).toMatch(/\/app\/setup#[\w-]{43}\n/);
  const [sending, reading] = pastedRequests(server.output);
  const sent = await fetch(sending.url, { method: 'POST', ...sending });
  expect(sent.status).toBe(202);
  const read = await fetch(reading.url, reading);
  expect(await read.json()).toMatchObject({
    message: { subject: 'Hello Jane', text: 'Welcome, Jane!' },
  });
  // The key can do what the guides do, but cannot create keys.
  const keys = await fetch(new URL('/api/v1/api-keys', reading.url), reading);
  expect(await keys.json()).toMatchObject({ code: 'insufficient_scope' });

  const metrics = await (await fetch(new URL('/metrics', reading.url))).text();
  expect(metrics).toMatch(/^postrider_disk_free_bytes [1-9][0-9]+$/m);

  const second = await runPostrider(['start'], { env: { DATA_DIR: folder.path, PORT: '0' } });
  expect(second.code).toBe(1);
  expect(second.stderr).toMatch(/^Another Postrider server .* is already using DATA_DIR .*\n$/);

  expect(await server.stop()).toBe(0);
  expect(isRunning(folder.path)).toBe(false);
  const printed = server.output.length;
  await server.start();
  await expect.poll(() => server.output.slice(printed)).toContain('Postrider is running at');
  expect(server.output.slice(printed)).not.toContain('pr_test_');
  await server.stop();

  // Otherwise a data folder without its key would only be noticed at the first signature.
  await rm(path.join(folder.path, 'secret.key'));
  for (const command of [['start'], ['keys', 'list']]) {
    const keyless = await runPostrider(command, { env: { DATA_DIR: folder.path, PORT: '0' } });
    expect(keyless).toMatchObject({ code: 1, stderr: expect.stringMatching(/different key.*\n$/) });
  }
});

it('creates no key where the output is kept in a log', async () => {
  await using folder = await createTempDir();
  const server = await createServerProcess({
    dataDir: folder.path,
    env: { PRINT_FIRST_KEY: 'false' },
  });
  await server.start();
  await expect.poll(() => server.output).toContain('API key: postrider keys create');
  expect(server.output).not.toContain('pr_test_');
  await server.stop();
  const keys = await runPostrider(['keys', 'list', '--json'], { env: { DATA_DIR: folder.path } });
  expect([keys.code, keys.stdout]).toEqual([0, expect.not.stringContaining('token_hint')]);
});

it('reports a port in use and stops the database that it started', async () => {
  await using folder = await createTempDir();
  const otherServer = createServer();
  otherServer.listen(0, '127.0.0.1');
  await once(otherServer, 'listening');
  const { port } = otherServer.address() as AddressInfo;
  const noPorts = { SUBMISSION_PORT: 'off', RETURN_PATH_PORT: 'off' };
  const { code, stdout, stderr } = await runPostrider(['start'], {
    main: LAUNCHER,
    env: { DATA_DIR: folder.path, PORT: String(port), LOG_LEVEL: 'warn', ...noPorts },
  });
  otherServer.close();
  expect(code).toBe(1);
  // Nothing keeps running that could log errors about the stopped database.
  expect(stdout).toBe('');
  expect(stderr).toBe(
    `127.0.0.1:${port} is already in use. Stop the other program, or set PORT.\n`,
  );
  expect(isRunning(folder.path)).toBe(false);
});

it('reports a data folder of another user', async () => {
  await using folder = await createTempDir();
  const isRoot = process.getuid?.() === 0;
  // Root may write anywhere, so it runs as user nobody, which must be able to read the program.
  if (isRoot && !(await isReachableByEveryone(process.execPath))) return;
  if (!isRoot) await chmod(folder.path, 0o500);
  const asOtherUser = (args: string[]) =>
    runPostrider(args, {
      // Only the user of the test run can read the bundled programs.
      main: LAUNCHER,
      env: { DATA_DIR: folder.path, PORT: '0' },
      ...(isRoot ? { uid: 65_534 } : {}),
    });
  const { code, stderr } = await asOtherUser(['start']);
  expect(code).toBe(1);
  expect(stderr).toMatch(/^DATA_DIR \S+ is not writable by this user\. .*\n$/);

  // The user cannot see whether it has a database.
  if (!isRoot) await chmod(folder.path, 0o000);
  const listed = await asOtherUser(['keys', 'list']);
  expect(listed.code).toBe(1);
  expect(listed.stderr).toMatch(/^DATA_DIR \S+ is not readable by this user\. .* its owner.*\n$/);
  await chmod(folder.path, 0o700);
});

it('exits with npm, which signals only the shell in between', async () => {
  await using folder = await createTempDir();
  const npm = spawn('npm', ['start', '--ignore-scripts'], {
    cwd: path.join(import.meta.dirname, '../../../..'),
    env: {
      PATH: process.env.PATH,
      DATA_DIR: folder.path,
      PORT: '0',
      SUBMISSION_PORT: 'off',
      RETURN_PATH_PORT: 'off',
    },
  });
  let output = '';
  npm.stdout.on('data', (chunk: Buffer) => {
    output += chunk;
  });
  try {
    await until(() => output.includes('Postrider is running at'), {
      timeoutMs: 60_000,
      what: () => `the server is running: ${output}`,
    });
  } finally {
    npm.kill('SIGTERM');
  }
  await until(() => !isRunning(folder.path), { timeoutMs: 60_000, what: 'the server has exited' });
  expect(output).toContain('npm has exited');
});

it('exits immediately on SIGTERM while it waits for a database', async () => {
  await using folder = await createTempDir();
  const child = spawn(process.execPath, [childProgram('main'), 'start'], {
    env: {
      PATH: process.env.PATH,
      DATA_DIR: folder.path,
      DATABASE_URL: `postgres://nobody@127.0.0.1:${await freePort()}/none`,
      SECRET_KEY: 'a'.repeat(64),
    },
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk;
  });
  const errors = text(child.stderr);
  await until(() => output.includes('waiting for the database'), { what: 'it waits' });
  child.kill('SIGTERM');
  const [code] = await once(child, 'exit');
  expect(code).toBe(0);
  // Half a minute later it would have given up and reported that.
  expect(await errors).toBe('');
});

it('stops gracefully when a signal arrives directly and through the launcher', async () => {
  await using folder = await createTempDir();
  const child = spawn(process.execPath, [childProgram('main'), 'start'], {
    env: {
      PATH: process.env.PATH,
      DATA_DIR: folder.path,
      PORT: '0',
      SUBMISSION_PORT: 'off',
      RETURN_PATH_PORT: 'off',
    },
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk;
  });
  const ended = once(child, 'exit');
  await until(() => output.includes('Postrider is running at'), { what: 'it has started' });
  child.kill('SIGTERM');
  await until(() => output.includes('"stopping"'), { what: 'it stops' });
  child.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
  expect(isRunning(folder.path)).toBe(false);
});

it('handles a signal while the startup banner waits for the database', async () => {
  await using folder = await createTempDir();
  await using database = await createTestDatabase();
  const server = await createServerProcess({
    dataDir: folder.path,
    env: {
      DATABASE_URL: database.url,
      SECRET_KEY: 'a'.repeat(64),
      ALLOW_UNSAFE_DATABASE: 'true',
    },
  });
  const holder = await database.pool.connect();
  await holder.query('begin; lock table workspaces in row exclusive mode');
  await server.start();
  const left = server.stop();
  await until(async () => !(await server.isReady()), { what: 'the server is shutting down' });
  await holder.query('rollback');
  holder.release();
  expect(await left).toBe(0);
});

function isRunning(dataDir: string): boolean {
  return existsSync(path.join(dataDir, 'postgres', 'postmaster.pid'));
}

interface Pasted {
  url: string;
  headers: Record<string, string>;
  body?: string;
}

/** The printed curl commands, parsed as a shell would. */
function pastedRequests(output: string): [Pasted, Pasted] {
  const commands = [...output.matchAll(/curl (?:.*\\\n)*.*\n/g)].map(([command]) => {
    const tokens = [...command.replaceAll('\\\n', ' ').matchAll(/'([^']*)'|(\S+)/g)].map(
      ([, quoted, bare]) => quoted ?? bare ?? '',
    );
    const after = (flag: string) => tokens.filter((_, index) => tokens[index - 1] === flag);
    const headers = after('-H').map((header) => header.split(': ') as [string, string]);
    const [body] = after('-d');
    return {
      url: tokens[1] as string,
      headers: Object.fromEntries(headers),
      ...(body === undefined ? {} : { body }),
    };
  });
  expect(commands).toHaveLength(2);
  return commands as [Pasted, Pasted];
}
