import { once } from 'node:events';
import { configFromEnvironment } from '../config/env.ts';
import { migrate } from '../db/migrate.ts';
import { openStorage } from '../db/open-storage.ts';
import { ensurePartitions } from '../db/partitions.ts';
import { proveSecretKey } from '../db/prove-secret-key.ts';
import { systemClock } from '../lib/clock.ts';
import { silentLog } from '../lib/log.ts';
import type { OpenParts } from './house.ts';
import { whileOpen } from './while-open.ts';

const CONNECTIONS_MAX = 4;

/**
 * Opens the database of the configuration for one command, and brings it up to date first: a command
 * may well be the first thing that anyone runs. A signal does not wait for the work.
 */
export async function withStorage<T>(work: (parts: OpenParts) => Promise<T>): Promise<T> {
  const config = configFromEnvironment();
  const open = () =>
    openStorage({
      ...config.storage,
      connectionsMax: CONNECTIONS_MAX,
      secretKey: config.secretKey,
      log: silentLog,
      holder: 'command',
    });
  return whileOpen(open, async ({ pool, secretKey }, leaving) => {
    const upToDate = async (): Promise<T> => {
      await migrate(pool, silentLog);
      await proveSecretKey(pool, secretKey, { allowOther: config.allowOtherSecretKey });
      await ensurePartitions(pool, systemClock.now());
      return work({ config, pool, clock: systemClock, secretKey });
    };
    const left = once(leaving, 'abort').then(() => Promise.reject(leaving.reason));
    return Promise.race([upToDate(), left]);
  });
}
