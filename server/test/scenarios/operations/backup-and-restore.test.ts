import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { runPostrider } from '../../harness/cli-process.ts';
import { createServerProcess, type ServerProcess } from '../../harness/server-process.ts';
import { createTempDir } from '../../harness/temp-dir.ts';
import { until } from '../../harness/until.ts';

/**
 * A backup contains everything that was accepted before it, and a server can start from it directly.
 * The real server accepts mail continuously while the real command copies its data folder; a second
 * server starts on the copy and is queried for every message by id.
 */

test('a server starts from a backup that was taken while mail was accepted', {
  timeout: 300_000,
}, async () => {
  await using folder = await createTempDir();
  const [dataDir, copy] = ['data', 'copy'].map((name) => path.join(folder.path, name)) as [
    string,
    string,
  ];
  const server = await createServerProcess({ dataDir });
  const over = new AbortController();
  const second = await createServerProcess({ dataDir: copy });
  try {
    await server.start();
    const key = await server.printedKey();
    const accepted: string[] = [];
    const clients = Promise.all(
      [1, 2, 3, 4].map(() => sendUntil(over.signal, server, key, accepted)),
    );
    await until(() => accepted.length >= 20);
    const before = [...accepted];
    const { code, stdout, stderr } = await runPostrider(['backup', copy], {
      env: { DATA_DIR: dataDir },
    });
    over.abort();
    await clients;
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain(`DATA_DIR=${copy}`);
    expect(await readdir(folder.path)).toEqual(['copy', 'data']);
    expect(await readFile(path.join(copy, 'secret.key'))).toEqual(
      await readFile(path.join(dataDir, 'secret.key')),
    );

    expect(await send(server, key)).toMatch(/^msg_/);
    // A reader that follows the original past the backup must see what the copy does later.
    const { cursor } = await eventsAfter(server, key);
    await second.start();
    await until(async () => {
      const states = await Promise.all(before.map((id) => statusOf(second, key, id)));
      return states.every((status) => status === 'delivered');
    });
    const sent = await send(second, key);
    expect(sent).toMatch(/^msg_/);
    await until(async () => (await eventsAfter(second, key, cursor)).messages.includes(sent));
    expect(await Promise.all([server.stop(), second.stop()])).toEqual([0, 0]);
  } finally {
    over.abort();
    for (const one of [server, second]) {
      await one.kill();
      await one.killPostgres();
    }
  }
});

test('a backup without a running server starts its own database, and a failed backup leaves nothing behind', {
  timeout: 300_000,
}, async () => {
  await using folder = await createTempDir();
  const dataDir = path.join(folder.path, 'data');
  const full = path.join(folder.path, 'full');
  await mkdir(full);
  await writeFile(path.join(full, 'mine'), 'keep me');
  const backup = (target: string, env: Record<string, string> = {}) =>
    runPostrider(['backup', target], { env: { DATA_DIR: dataDir, ...env } });

  const nothing = await backup(path.join(folder.path, 'first'));
  expect(nothing).toMatchObject({ code: 1, stdout: '' });
  expect(nothing.stderr).toContain(`There is no database in DATA_DIR ${dataDir}`);
  await runPostrider(['workspaces', 'create', 'Shop'], { env: { DATA_DIR: dataDir } });
  expect((await backup(path.join(folder.path, 'first'))).code).toBe(0);
  const taken = await backup(full);
  expect(taken).toMatchObject({ code: 1, stdout: '' });
  expect(taken.stderr).toContain(`${full} is not empty`);
  const unwritable = await backup(path.join(full, 'mine', 'copy'));
  expect(unwritable.code).toBe(1);
  expect(unwritable.stderr).toMatch(/cannot be used|could not be written/);
  const elsewhere = await backup(path.join(folder.path, 'second'), {
    DATABASE_URL: 'postgres://localhost/postrider',
    SECRET_KEY: 'a secret key for tests, long enough to be one',
  });
  expect(elsewhere).toMatchObject({ code: 1, stdout: '' });
  expect(elsewhere.stderr).toContain('pg_dump');
  expect((await readdir(folder.path)).sort()).toEqual(['data', 'first', 'full']);
  expect(await readdir(full)).toEqual(['mine']);
});

test('a backup can be written into an existing empty folder, such as a mount point', {
  timeout: 300_000,
}, async () => {
  await using folder = await createTempDir();
  const [dataDir, disk] = ['data', 'disk'].map((name) => path.join(folder.path, name)) as [
    string,
    string,
  ];
  const made = await runPostrider(['workspaces', 'create', 'Shop'], { env: { DATA_DIR: dataDir } });
  expect(made.code).toBe(0);
  await mkdir(path.join(disk, 'unfinished', 'postgres'), { recursive: true });
  const { ino } = await stat(disk);
  const { code, stderr } = await runPostrider(['backup', disk], { env: { DATA_DIR: dataDir } });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect((await readdir(disk)).sort()).toEqual(['postgres', 'secret.key']);
  expect((await readdir(folder.path)).sort()).toEqual(['data', 'disk']);
  expect((await stat(disk)).ino).toBe(ino);
  const { stdout } = await runPostrider(['workspaces', 'list'], { env: { DATA_DIR: disk } });
  expect(stdout).toContain('Shop');
});

test('a backup interrupted by a signal leaves no files and no running database', {
  timeout: 300_000,
}, async () => {
  await using folder = await createTempDir();
  const [dataDir, copy] = ['data', 'copy'].map((name) => path.join(folder.path, name)) as [
    string,
    string,
  ];
  const env = { DATA_DIR: dataDir };
  expect((await runPostrider(['workspaces', 'create', 'Shop'], { env })).code).toBe(0);
  const begun = until(() => existsSync(path.join(`${copy}.unfinished`, 'postgres')), {
    timeoutMs: 200_000,
  });
  const ended = await runPostrider(['backup', copy], { env, terminateAfter: begun });
  expect(ended).toEqual({ code: null, signal: 'SIGTERM', stdout: '', stderr: '' });
  expect(await readdir(folder.path)).toEqual(['data']);
  expect(existsSync(path.join(dataDir, 'postgres', 'postmaster.pid'))).toBe(false);
});

test('a secret key from the environment is not written to the data folder or the backup', {
  timeout: 300_000,
}, async () => {
  await using folder = await createTempDir();
  const [dataDir, copy] = ['data', 'copy'].map((name) => path.join(folder.path, name)) as [
    string,
    string,
  ];
  const env = { DATA_DIR: dataDir };
  const SECRET_KEY = 'a secret key for tests, long enough to be one';
  const made = await runPostrider(['workspaces', 'create', 'Shop'], {
    env: { ...env, SECRET_KEY },
  });
  expect(made.code).toBe(0);
  // A different shell, which does not have the variable.
  await runPostrider(['doctor'], { env });
  const { code, stdout } = await runPostrider(['backup', copy], { env });
  expect(code).toBe(0);
  expect(stdout).toContain('It does not contain secret.key: keep SECRET_KEY with it.');
  for (const one of [dataDir, copy]) expect(await readdir(one)).not.toContain('secret.key');
});

test('a backup into the database folder is rejected', { timeout: 300_000 }, async () => {
  await using folder = await createTempDir();
  const dataDir = path.join(folder.path, 'data');
  const inside = path.join(dataDir, 'postgres', 'copy');
  const none = await runPostrider(['backup', inside], { env: { DATA_DIR: dataDir } });
  expect([none.code, none.stderr]).toEqual([1, expect.stringContaining(dataDir)]);
  await runPostrider(['workspaces', 'create', 'Shop'], { env: { DATA_DIR: dataDir } });
  const refused = await runPostrider(['backup', inside], { env: { DATA_DIR: dataDir } });
  expect(refused).toMatchObject({ code: 1, stdout: '' });
  expect(refused.stderr).toContain(`${inside} is inside the database folder.`);
  expect(await readdir(path.join(dataDir, 'postgres'))).not.toContain('copy.unfinished');
});

async function sendUntil(
  over: AbortSignal,
  server: ServerProcess,
  key: string,
  accepted: string[],
): Promise<void> {
  while (!over.aborted) accepted.push(await send(server, key));
}

async function send(server: ServerProcess, key: string): Promise<string> {
  const body = {
    to: { email: 'jane@example.com' },
    from: { email: 'a@example.org' },
    subject: 'Hello',
    html: '<p>Hello</p>',
  };
  return (await call(server, key, '/transactional/send', body)).id;
}

async function statusOf(server: ServerProcess, key: string, id: string): Promise<string> {
  return (await call(server, key, `/messages/${id}`)).status;
}

async function call(
  server: ServerProcess,
  key: string,
  place: string,
  body?: object,
): Promise<{ id: string; status: string }> {
  const answer = await fetch(`${server.url}/api/v1${place}`, {
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body ? { method: 'POST', body: JSON.stringify(body) } : {}),
  });
  const message = (await answer.json()) as { id: string; status: string };
  if (!answer.ok) throw new Error(`${place}: ${answer.status} ${JSON.stringify(message)}`);
  return message;
}

interface EventPage {
  data: { data: { message_id?: string } }[];
  next_cursor: string | null;
  has_more: boolean;
}

/** Reads the event feed to its end. */
async function eventsAfter(server: ServerProcess, key: string, from?: string) {
  const messages: string[] = [];
  let cursor = from;
  for (;;) {
    const url = new URL('/api/v1/events?limit=100', server.url);
    if (cursor !== undefined) url.searchParams.set('cursor', cursor);
    const response = await fetch(url, { headers: { authorization: `Bearer ${key}` } });
    const page = (await response.json()) as EventPage;
    messages.push(...page.data.flatMap(({ data }) => data.message_id ?? []));
    cursor = page.next_cursor ?? cursor;
    if (!page.has_more) return { messages, cursor };
  }
}
