import { databaseCpuMicros, databasePids, ownMemoryMiB, sleepsOf } from './process-usage.ts';
import type { Report } from './results.ts';
import { startTarget } from './start-target.ts';

/**
 * What a server costs that has nothing to do: its memory, and how often the machine wakes up for it. It
 * runs with all listeners. Linux only.
 */

const SETTLE_MS = Number(process.env.BENCH_WARM_UP_SECONDS ?? 70) * 1000;
const DURATION_MS = Number(process.env.BENCH_SECONDS ?? 30) * 1000;

export async function benchIdle(report: Report): Promise<void> {
  await using target = await startTarget('grouped', {
    env: { SUBMISSION_PORT: '0', RETURN_PATH_PORT: '0' },
  });
  // Threads that end after a minute without work, and what startup left in the heap.
  await pause(SETTLE_MS);
  const { pid } = target;
  const database = databasePids(pid);
  const sample = async () => ({
    atMs: performance.now(),
    nodeWakeUps: sleepsOf(pid),
    databaseWakeUps: sum(database, sleepsOf),
    nodeMicros: await target.cpuMicros(),
    databaseMicros: databaseCpuMicros(pid),
  });
  const transactionsBefore = await target.transactions();
  const before = await sample();
  await pause(DURATION_MS);
  const after = await sample();
  // The first count is one of them.
  const transactions = (await target.transactions()) - transactionsBefore - 1;
  const seconds = (after.atMs - before.atMs) / 1000;
  const rate = (name: keyof typeof before): number => (after[name] - before[name]) / seconds;
  report('Node', {
    MiB: await target.memoryMiB(),
    'wake-ups /s': rate('nodeWakeUps'),
    'CPU ms/s': rate('nodeMicros') / 1000,
  });
  report('PostgreSQL', {
    MiB: sum(database, ownMemoryMiB),
    'wake-ups /s': rate('databaseWakeUps'),
    'CPU ms/s': rate('databaseMicros') / 1000,
    'transactions /s': transactions / seconds,
  });
}

/** Connections that were closed meanwhile count as nothing. */
function sum(pids: readonly number[], value: (pid: number) => number): number {
  let total = 0;
  for (const pid of pids) {
    try {
      total += value(pid);
    } catch {}
  }
  return total;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
