import { setTimeout as sleep } from 'node:timers/promises';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { type Log, silentLog } from '../../src/base/log.ts';
import { ManualClock } from '../../src/base/manual-clock.ts';
import type { Route } from '../../src/delivery/delivery.ts';
import { openDeliveryStore } from '../../src/delivery/delivery-store.ts';
import { createEngine, type Engine } from '../../src/delivery/engine.ts';
import type { EngineLimits } from '../../src/delivery/engine-limits.ts';
import { simulatorRoute } from '../../src/delivery/simulator.ts';
import { openPool, type Pool } from '../../src/storage/pool.ts';

/** A delivery engine on a test's database, with a pool of its own as in the real assembly. */
export interface TestEngine extends AsyncDisposable {
  engine: Engine;
  pool: Pool;
}

export interface TestEngineOptions {
  url: string;
  clock: Clock;
  live?: Route;
  test?: Route;
  limits?: Partial<EngineLimits>;
  nodeName?: string;
  log?: Log;
}

export function startEngine(options: TestEngineOptions): TestEngine {
  const log = options.log ?? silentLog;
  const pool = openPool({ places: [{ connectionString: options.url }], log, max: 4 });
  const simulator = simulatorRoute(options.clock);
  const engine = createEngine({
    store: openDeliveryStore(pool),
    clock: options.clock,
    routes: { live: options.live ?? simulator, test: options.test ?? simulator },
    log,
    nodeName: options.nodeName ?? 'node-1',
    ...(options.limits ? { limits: options.limits } : {}),
  });
  engine.start();
  let stopped: Promise<void> | undefined;
  return {
    engine,
    pool,
    async [Symbol.asyncDispose]() {
      stopped ??= engine.stop(1_000).then(() => pool.end());
      let done = false;
      void stopped.finally(() => {
        done = true;
      });
      // A clock that stands still would let a stop wait for ever.
      await until(() => done, options);
      await stopped;
    },
  };
}

/**
 * Waits until the check holds. A manual clock is moved on by `stepMs` between looks, so that waits
 * of minutes pass at once while real sockets and the real database do their part.
 */
export async function until(
  check: () => Promise<boolean> | boolean,
  options: { clock?: Clock; stepMs?: number; timeoutMs?: number; what?: string } = {},
): Promise<void> {
  const endsAt = systemClock.now() + (options.timeoutMs ?? 20_000);
  while (!(await check())) {
    if (systemClock.now() > endsAt) throw new Error(`Not so in time: ${options.what ?? check}`);
    await sleep(5);
    if (options.clock instanceof ManualClock) options.clock.advance(options.stepMs ?? 100);
  }
}
