import { buildApp } from '../../../src/bootstrap/build-app.ts';
import { readConfig } from '../../../src/config/read-config.ts';
import { createLog } from '../../../src/lib/log.ts';

/** A server process whose delivery thread crashes. */
await buildApp({
  config: readConfig(process.env),
  log: createLog({ level: 'fatal' }),
  overrides: {
    delivery: { threadEntry: new URL('./crashing-delivery-thread.ts', import.meta.url) },
  },
});
