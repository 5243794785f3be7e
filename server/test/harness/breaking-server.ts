import { assemble } from '../../src/assemble.ts';
import { createLog } from '../../src/base/log.ts';
import { readConfig } from '../../src/config/read-config.ts';

/** A server, in a process of its own, whose thread of deliveries ends by a bug. */
await assemble({
  config: readConfig(process.env),
  log: createLog({ level: 'fatal' }),
  aroundLiveRoute: new URL('./breaking-route.ts', import.meta.url),
});
