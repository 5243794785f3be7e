import { engineLimits } from '../../../src/bootstrap/build-engine.ts';
import { readConfig } from '../../../src/config/read-config.ts';
import { openPool, type Pool } from '../../../src/db/connections/pool.ts';
import {
  type DeliveryStore,
  openDeliveryStore,
} from '../../../src/delivery/claims/delivery-store.ts';
import type { Transport } from '../../../src/delivery/delivery.ts';
import { createEngine, type Engine } from '../../../src/delivery/engine.ts';
import type { EngineLimits } from '../../../src/delivery/engine-limits.ts';
import { simulatorTransport } from '../../../src/delivery/transport/simulator.ts';
import { type Log, silentLog } from '../../../src/lib/log.ts';
import type { Clock } from '../../../src/lib/time/clock.ts';
import type { LeaseHolder } from '../../../src/queue/lease-holder.ts';
import { until } from '../until.ts';

export { until } from '../until.ts';

/** A delivery engine on a test's database, with its own connection pool as in production. */
export interface TestEngine extends AsyncDisposable {
  engine: Engine;
  pool: Pool;
}

export interface TestEngineOptions {
  url: string;
  clock: Clock;
  live?: Transport;
  test?: Transport;
  limits?: Partial<EngineLimits>;
  nodeName?: string;
  log?: Log;
  holder?: LeaseHolder;
  /** Delays statements, for instance. */
  changeStore?: (store: DeliveryStore) => DeliveryStore;
}

const DEFAULT_LIMITS = { ...engineLimits(readConfig({}).delivery), inFlightMax: 500 };

export function startEngine(options: TestEngineOptions): TestEngine {
  const log = options.log ?? silentLog;
  const pool = openPool({ hosts: [{ connectionString: options.url }], log, max: 4 });
  const store = openDeliveryStore(pool);
  const simulator = simulatorTransport(options.clock);
  const engine = createEngine({
    store: options.changeStore?.(store) ?? store,
    clock: options.clock,
    transports: { live: options.live ?? simulator, test: options.test ?? simulator },
    log,
    nodeName: options.nodeName ?? 'node-1',
    limits: { ...DEFAULT_LIMITS, ...options.limits },
    ...(options.holder ? { holder: options.holder } : {}),
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
      // Advance a manual clock, or the stop would never reach its deadline.
      await until(() => done, options);
      await stopped;
    },
  };
}
