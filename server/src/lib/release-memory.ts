import { performance } from 'node:perf_hooks';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * V8 lets the young generation of a thread grow up to 64 MiB while it is busy, as during startup, and
 * never shrinks it on its own. A collection of the kind that V8 reserves for low memory does, and also
 * returns what is free elsewhere. It stops the thread for a tenth of a second or two, so it waits until
 * the thread has nothing to do.
 */

const CHECK_MS = 30_000;
/** Light traffic lets it grow again, and must not pay for a collection each time. */
const CHECKS_BETWEEN = 20;
/** The share of its time for which the thread is busy. The periodic jobs of a server take half of it. */
const IDLE_UTILIZATION = 0.02;
const WORTHWHILE_BYTES = 8 * 1024 * 1024;

/** For the thread that calls it, until it ends. */
export function releaseMemoryWhenIdle(): void {
  let before = performance.eventLoopUtilization();
  let checksToSkip = 0;
  const check = (): void => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    if (checksToSkip-- > 0 || utilization > IDLE_UTILIZATION) return;
    if (youngGenerationBytes() < WORTHWHILE_BYTES) return;
    releaseMemory();
    checksToSkip = CHECKS_BETWEEN;
  };
  setInterval(check, CHECK_MS).unref();
}

export function releaseMemory(): void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as (options: object) => void;
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}

export function youngGenerationBytes(): number {
  const spaces = getHeapSpaceStatistics();
  return spaces.find(({ space_name }) => space_name === 'new_space')?.space_size ?? 0;
}
