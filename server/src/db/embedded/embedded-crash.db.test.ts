import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { startEmbeddedProcess } from '../../../test/harness/database/embedded-postgres-process.ts';
import { createTempDir } from '../../../test/harness/temp-dir.ts';
import { silentLog } from '../../lib/log.ts';
import { systemClock } from '../../lib/time/clock.ts';
import { isConnectionError } from '../connections/database-errors.ts';
import { openPool, type Pool } from '../connections/pool.ts';
import { type EmbeddedOptions, startEmbedded } from './embedded-postgres.ts';

/**
 * Kills real server and PostgreSQL processes with SIGKILL, and checks that the next start cleans up or
 * takes over, and that a folder never has two servers.
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

/** A copy of an existing cluster, which is faster than initdb. */
async function scratchCluster(): ReturnType<typeof createTempDir> {
  const folder = await createTempDir();
  execFileSync('cp', ['-a', `${model.path}/.`, folder.path]);
  return folder;
}

/** Also true for zombie processes. */
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
  test('of the server, PostgreSQL survives and the next start takes it over', async () => {
    await using folder = await scratchCluster();
    const holder = await startEmbeddedProcess(folder.path);
    await holder.kill('SIGKILL');
    const server = await start({ dataDir: folder.path });
    expect(server.pid).toBe(holder.postmaster);
    await server.stop();
    expect(hasEnded(holder.postmaster)).toBe(true);
    expect(existsSync(path.join(folder.path, 'postgres', 'postmaster.pid'))).toBe(false);
  });

  test('of both, the next start recovers the committed data', async () => {
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

  test('of both during a statement, the next start waits for it to end', async () => {
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

  test('a lock file with a reused pid does not prevent the start', async () => {
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

describe('while running', () => {
  test('a killed PostgreSQL is restarted and the pool recovers', async () => {
    await using folder = await scratchCluster();
    await using server = await start({ dataDir: folder.path });
    const pool = poolOf(server);
    await pool.query('create table kept (n int)');
    const startedAt = async (): Promise<string> => {
      const { rows } = await pool.query<{ at: string }>(
        'select pg_postmaster_start_time()::text as at',
      );
      return rows[0]?.at as string;
    };
    for (const round of [1, 2]) {
      const before = await startedAt();
      process.kill(server.pid as number, 'SIGKILL');
      const failures: unknown[] = [];
      // Sessions of the killed server may take a query before they end, and may all end between two.
      await vi.waitUntil(
        async () => {
          try {
            await pool.query('insert into kept values ($1)', [round]);
            return (await startedAt()) !== before;
          } catch (error) {
            failures.push(error);
            return false;
          }
        },
        { timeout: 30_000, interval: 20 },
      );
      expect(failures.filter((failure) => !isConnectionError(failure))).toEqual([]);
    }
    const { rows } = await pool.query('select distinct n from kept order by n');
    expect(rows).toEqual([{ n: 1 }, { n: 2 }]);
    await pool.end();
  });

  test('a second server is refused with the pid of the first, which is not affected', async () => {
    await using folder = await scratchCluster();
    const holder = await startEmbeddedProcess(folder.path);
    await expect(start({ dataDir: folder.path })).rejects.toThrow(
      `Another Postrider server (process ${holder.pid}) is already using DATA_DIR ${folder.path}. Stop it first, or set a different DATA_DIR.`,
    );
    expect(hasEnded(holder.postmaster)).toBe(false);
    await holder.kill('SIGKILL');
    await (await start({ dataDir: folder.path })).stop();
  });

  test('of several servers that start concurrently on an empty folder, exactly one succeeds', async () => {
    await using folder = await createTempDir();
    const starts = await Promise.allSettled([1, 2, 3].map(() => start({ dataDir: folder.path })));
    const running = starts.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    const refusals = starts.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
    for (const server of running) await server.stop();
    expect(running).toHaveLength(1);
    for (const refusal of refusals) expect(String(refusal)).toContain('is already using DATA_DIR');
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

  test('starts PostgreSQL for its own lifetime if no server is running', async () => {
    await using folder = await scratchCluster();
    const command = await start({ dataDir: folder.path, holder: 'command' });
    const pid = command.pid as number;
    await command.stop();
    expect(hasEnded(pid)).toBe(true);
  });

  test('keeps PostgreSQL running after the server stops, and stops it at its end', async () => {
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

/** The isolation of a container, as far as it matters here; not permitted on every machine. */
const ISOLATED = ['unshare', '--ipc', '--pid', '--fork', '--mount-proc', '--kill-child'];
const canIsolate = spawnSync(ISOLATED[0] as string, [...ISOLATED.slice(1), 'true']).status === 0;

/** Ages the lock file, so that only the socket counts. */
async function ageLockFile(dataDir: string): Promise<void> {
  const then = new Date(systemClock.now() - 60_000);
  await utimes(path.join(dataDir, 'postgres.lock'), then, then);
}

describe.runIf(canIsolate)('containers that share a folder', () => {
  test('a second server that cannot see the first is refused, and the first is not affected', async () => {
    await using folder = await scratchCluster();
    const first = await startEmbeddedProcess(folder.path, ISOLATED);
    await ageLockFile(folder.path);
    await expect(startEmbeddedProcess(folder.path, ISOLATED)).rejects.toThrow(
      'Another Postrider server (process 1) is already using DATA_DIR',
    );
    const log = await readFile(path.join(folder.path, 'postgres.log'), 'utf8');
    expect(log.split('\n').filter((line) => line.includes('ready to accept'))).toHaveLength(2);
    expect(log).not.toContain('recovery in progress');
    await first.kill('SIGKILL');
  });

  test('the data of a killed container is taken over by the next', async () => {
    await using folder = await scratchCluster();
    const first = await startEmbeddedProcess(folder.path, ISOLATED);
    await first.kill('SIGKILL');
    await ageLockFile(folder.path);
    const next = await startEmbeddedProcess(folder.path, ISOLATED);
    expect(next.postmaster).toBeGreaterThan(1);
    await next.kill('SIGKILL');
  });
});
