import { performance } from 'node:perf_hooks';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * V8 lets the young generation of a thread grow up to 64 MiB while it is busy, as during startup, and
 * never shrinks it on its own. A collection of the kind that V8 reserves for low memory does, and also
 * returns what is free elsewhere. It stops the thread for a tenth of a second or two, so it waits until
 * the thread has nothing to do.
 *
 * Such a collection also drops compiled code, and V8 has to compile everything again: the next thousands of
 * messages cost up to 1.5 times as much. So there is one after startup, when there is little to lose, and
 * then only after ten minutes without work.
 */

const CHECK_MS = 30_000;
/** So that traffic that comes and goes does not pay for compiling each time. */
const IDLE_CHECKS = 20;
/** The share of its time for which the thread is busy. The periodic jobs of a server take half of it. */
const IDLE_UTILIZATION = 0.02;
const WORTHWHILE_BYTES = 8 * 1024 * 1024;

/** For the thread that calls it, until it ends. */
export function releaseMemoryWhenIdle(): void {
  let before = performance.eventLoopUtilization();
  let idleChecks = 0;
  // One is enough after startup.
  let needed = 1;
  const check = (): void => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    idleChecks = utilization > IDLE_UTILIZATION ? 0 : idleChecks + 1;
    if (idleChecks < needed || youngGenerationBytes() < WORTHWHILE_BYTES) return;
    releaseMemory();
    idleChecks = 0;
    needed = IDLE_CHECKS;
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
