import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { startEmbeddedProcess } from '../../test/harness/embedded-postgres-process.ts';
import { createTempDir } from '../../test/harness/temp-dir.ts';
import { systemClock } from '../lib/clock.ts';
import { silentLog } from '../lib/log.ts';
import { type EmbeddedOptions, startEmbedded } from './embedded-postgres.ts';
import { openPool, type Pool } from './pool.ts';
import { isConnectionError } from './database-errors.ts';

/**
 * What a kill -9 leaves behind, of ours, of PostgreSQL or of both, is cleared or taken over by the
 * next start; one folder never has two servers. The victims are real processes, really killed.
 */

const start = (options: Partial<EmbeddedOptions> & { dataDir: string }) =>
  startEmbedded({ log: silentLog, settings: { shared_buffers: '16MB' }, ...options });

const poolOf = (server: { connection: object }): Pool =>
  openPool({ hosts: [server.connection], log: silentLog, max: 4 });

let model: Awaited<ReturnType<typeof createTempDir>>;

beforeAll(async () => {
  model = await createTempDir();
  await (await start({ dataDir: model.path })).stop();
  return () => model[Symbol.asyncDispose]();
});

/** A folder with a database that was made before: quicker than making one. */
async function scratchCluster(): ReturnType<typeof createTempDir> {
  const folder = await createTempDir();
  execFileSync('cp', ['-a', `${model.path}/.`, folder.path]);
  return folder;
}

/** Also true of a process that has ended and waits to be buried. */
const hasEnded = (pid: number): boolean => !/^State:\s+[^ZX]/m.test(execStatus(pid));

function execStatus(pid: number): string {
  try {
    return process.platform === 'linux'
      ? execFileSync('cat', [`/proc/${pid}/status`], { encoding: 'utf8', stdio: 'pipe' })
      : `State: ${execFileSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' })}`;
  } catch {
    return '';
  }
}

describe('after a kill -9', () => {
  test('of our process, PostgreSQL lives on and the next start takes it over', async () => {
    await using folder = await scratchCluster();
    const holder = await startEmbeddedProcess(folder.path);
    await holder.kill('SIGKILL');
    const server = await start({ dataDir: folder.path });
    expect(server.pid).toBe(holder.postmaster);
    await server.stop();
    expect(hasEnded(holder.postmaster)).toBe(true);
    expect(existsSync(path.join(folder.path, 'postgres', 'postmaster.pid'))).toBe(false);
  });

  test('of both at once, the next start recovers what was committed', async () => {
    await using folder = await scratchCluster();
    const holder = await startEmbeddedProcess(folder.path);
    await using guest = await start({ dataDir: folder.path, holder: 'command' });
    const pool = poolOf(guest);
    await pool.query('create table kept (n int)');
    await pool.query('insert into kept values (1)');
    process.kill(holder.postmaster, 'SIGKILL');
    await holder.kill('SIGKILL');
    await guest.stop();
    await pool.end();

    await using server = await start({ dataDir: folder.path });
    expect(server.pid).not.toBe(holder.postmaster);
    const after = poolOf(server);
    expect((await after.query('select n from kept')).rows).toEqual([{ n: 1 }]);
    await after.end();
  });

  test('of both while a statement is busy, the next start waits for it to end', async () => {
    await using folder = await scratchCluster();
    const holder = await startEmbeddedProcess(folder.path);
    await using guest = await start({ dataDir: folder.path, holder: 'command' });
    const pool = openPool({ hosts: [guest.connection], log: silentLog, statementTimeoutMs: 3000 });
    const { rows } = await pool.query<{ pid: number }>('select pg_backend_pid() as pid');
    const busy = pool.query('do $$ begin loop end loop; end $$').catch((error: unknown) => error);
    await guest.stop();
    process.kill(holder.postmaster, 'SIGKILL');
    await holder.kill('SIGKILL');
    await using server = await start({ dataDir: folder.path });
    expect(server.pid).not.toBe(holder.postmaster);
    expect(hasEnded(rows[0]?.pid as number)).toBe(true);
    expect(isConnectionError(await busy)).toBe(true);
    await pool.end();
  });

  test('a lock file whose number now belongs to another process is no obstacle', async () => {
    await using folder = await scratchCluster();
    const holder = await startEmbeddedProcess(folder.path);
    const locks = ['postmaster.pid', '.s.PGSQL.5432.lock'].map((name) =>
      path.join(folder.path, 'postgres', name),
    );
    const texts = await Promise.all(locks.map((lock) => readFile(lock, 'utf8')));
    process.kill(holder.postmaster, 'SIGKILL');
    await holder.kill('SIGKILL');
    await vi.waitUntil(() => hasEnded(holder.postmaster), { timeout: 30_000 });
    for (const [index, lock] of locks.entries()) {
      await writeFile(lock, texts[index]?.replace(/^[0-9]+/, String(process.ppid)) ?? '');
    }
    await using server = await start({ dataDir: folder.path });
    expect(server.pid).toBeTypeOf('number');
    expect(server.pid).not.toBe(process.ppid);
  });
});

describe('while we run', () => {
  test('a killed PostgreSQL is started again and the pool goes on', async () => {
    await using folder = await scratchCluster();
    await using server = await start({ dataDir: folder.path });
    const pool = poolOf(server);
    await pool.query('create table kept (n int)');
    for (const round of [1, 2]) {
      const before = server.pid as number;
      process.kill(before, 'SIGKILL');
      const failures: unknown[] = [];
      await vi.waitUntil(
        async () => {
          try {
            await pool.query('insert into kept values ($1)', [round]);
            return server.pid !== undefined && server.pid !== before;
          } catch (error) {
            failures.push(error);
            return false;
          }
        },
        { timeout: 30_000, interval: 20 },
      );
      expect(failures.filter((failure) => !isConnectionError(failure))).toEqual([]);
      expect(failures.length).toBeGreaterThan(0);
    }
    await pool.end();
  });

  test('a second server is refused by name of the first, which is not disturbed', async () => {
    await using folder = await scratchCluster();
    const holder = await startEmbeddedProcess(folder.path);
    await expect(start({ dataDir: folder.path })).rejects.toThrow(
      `Another Postrider server (process ${holder.pid}) already uses DATA_DIR ${folder.path}. Stop it first, or give this one a DATA_DIR of its own.`,
    );
    expect(hasEnded(holder.postmaster)).toBe(false);
    await holder.kill('SIGKILL');
    await (await start({ dataDir: folder.path })).stop();
  });

  test('of several servers that start together on a fresh folder exactly one stays', async () => {
    await using folder = await createTempDir();
    const starts = await Promise.allSettled([1, 2, 3].map(() => start({ dataDir: folder.path })));
    const running = starts.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    const refusals = starts.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
    for (const server of running) await server.stop();
    expect(running).toHaveLength(1);
    for (const refusal of refusals) expect(String(refusal)).toContain('already uses DATA_DIR');
  });
});

describe('a command', () => {
  test('shares the database of a running server and leaves it running', async () => {
    await using folder = await scratchCluster();
    await using server = await start({ dataDir: folder.path });
    const command = await start({ dataDir: folder.path, holder: 'command' });
    expect(command.pid).toBe(server.pid);
    await command.stop();
    const pool = poolOf(server);
    expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
    await pool.end();
  });

  test('starts PostgreSQL for its own time when no server runs', async () => {
    await using folder = await scratchCluster();
    const command = await start({ dataDir: folder.path, holder: 'command' });
    const pid = command.pid as number;
    await command.stop();
    expect(hasEnded(pid)).toBe(true);
  });

  test('keeps PostgreSQL up when the server leaves first, and stops it at its own end', async () => {
    await using folder = await scratchCluster();
    const server = await start({ dataDir: folder.path });
    const command = await start({ dataDir: folder.path, holder: 'command' });
    const pid = command.pid as number;
    await server.stop();
    const pool = poolOf(command);
    expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
    await pool.end();
    await command.stop();
    expect(hasEnded(pid)).toBe(true);
  });
});

/** What a container is shut off by, as far as this matters here; not every machine lets us. */
const SHUT_OFF = ['unshare', '--ipc', '--pid', '--fork', '--mount-proc', '--kill-child'];
const canShutOff = spawnSync(SHUT_OFF[0] as string, [...SHUT_OFF.slice(1), 'true']).status === 0;

/** Whoever finds its word need not wait for its socket. */
async function beganLongAgo(dataDir: string): Promise<void> {
  const then = new Date(systemClock.now() - 60_000);
  await utimes(path.join(dataDir, 'postgres.where'), then, then);
}

describe.runIf(canShutOff)('containers that share a folder', () => {
  test('a second server is refused though it cannot see the first, which is not disturbed', async () => {
    await using folder = await scratchCluster();
    const first = await startEmbeddedProcess(folder.path, SHUT_OFF);
    await beganLongAgo(folder.path);
    await expect(startEmbeddedProcess(folder.path, SHUT_OFF)).rejects.toThrow(
      'Another Postrider server (process 1) already uses DATA_DIR',
    );
    const log = await readFile(path.join(folder.path, 'postgres.log'), 'utf8');
    expect(log.split('\n').filter((line) => line.includes('ready to accept'))).toHaveLength(2);
    expect(log).not.toContain('recovery in progress');
    await first.kill('SIGKILL');
  });

  test('what a killed one leaves is taken over by the next', async () => {
    await using folder = await scratchCluster();
    const first = await startEmbeddedProcess(folder.path, SHUT_OFF);
    await first.kill('SIGKILL');
    await beganLongAgo(folder.path);
    const next = await startEmbeddedProcess(folder.path, SHUT_OFF);
    expect(next.postmaster).toBeGreaterThan(1);
    await next.kill('SIGKILL');
  });
});
