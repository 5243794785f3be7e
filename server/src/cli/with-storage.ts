import { systemClock } from '../base/clock.ts';
import { silentLog } from '../base/log.ts';
import { configFromEnvironment } from '../config/env.ts';
import { migrate } from '../storage/migrate.ts';
import { openStorage } from '../storage/open-storage.ts';
import { ensurePartitions } from '../storage/partitions.ts';
import { proveSecretKey } from '../storage/prove-secret-key.ts';
import type { OpenParts } from './house.ts';

const CONNECTIONS_MAX = 4;

/**
 * Opens the database of the configuration for one command, whether a server runs on it or not, and
 * brings it up to date first: a command may well be the first thing that anyone runs.
 */
export async function withStorage<T>(work: (parts: OpenParts) => Promise<T>): Promise<T> {
  const config = configFromEnvironment();
  await using storage = await openStorage({
    ...config.storage,
    connectionsMax: CONNECTIONS_MAX,
    secretKey: config.secretKey,
    log: silentLog,
    holder: 'command',
  });
  const { pool, secretKey } = storage;
  await migrate(pool, silentLog);
  await proveSecretKey(pool, secretKey, { allowOther: config.allowOtherSecretKey });
  await ensurePartitions(pool, systemClock.now());
  return await work({ config, pool, clock: systemClock, secretKey });
}
