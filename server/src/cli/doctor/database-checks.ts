import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Config } from '../../config/read-config.ts';
import { refuseUnsafeDatabase } from '../../db/database-safety.ts';
import { databaseTimeMs } from '../../db/database-time.ts';
import { migrationsMissing } from '../../db/migrate.ts';
import { openStorage, type Storage } from '../../db/open-storage.ts';
import { partitionsReach } from '../../db/partitions.ts';
import type { Pool } from '../../db/pool.ts';
import { StorageStartError } from '../../db/start-error.ts';
import type { Clock } from '../../lib/clock.ts';
import { silentLog } from '../../lib/log.ts';
import { type Finding, fail, ok, warn } from './finding.ts';

/** The database: looked at, never changed. */
export async function checkDatabase(config: Config, clock: Clock): Promise<Finding[]> {
  const { dataDir, databaseUrl } = config.storage;
  if (databaseUrl === undefined && !existsSync(path.join(dataDir, 'postgres'))) {
    return [ok('database', 'The embedded one will be made at the first start.')];
  }
  let storage: Storage;
  try {
    storage = await openStorage({
      ...config.storage,
      connectionsMax: 2,
      // Safety has a check of its own below.
      allowUnsafe: true,
      // No secret is read here, and a key that is not there must not be made.
      secretKey: config.secretKey ?? Buffer.alloc(0),
      log: silentLog,
      holder: 'command',
    });
  } catch (error) {
    if (!(error instanceof StorageStartError)) throw error;
    return [fail('database', error.message, 'Nothing can be accepted until this is mended.')];
  }
  await using open = storage;
  const where = databaseUrl === undefined ? 'The embedded database' : 'The one at DATABASE_URL';
  return [
    ok('database', `${where} answers.`),
    await checkSafety(open.pool, config.storage.allowUnsafe),
    ...(await checkSchema(open.pool, clock)),
    await checkClock(open.pool, clock),
  ];
}

async function checkSafety(pool: Pool, allowUnsafe: boolean): Promise<Finding> {
  try {
    await refuseUnsafeDatabase(pool, { allowUnsafe: false });
    return ok('durability', 'What is committed stays, also through a power cut.');
  } catch (error) {
    if (!(error instanceof StorageStartError)) throw error;
    return allowUnsafe
      ? warn('durability', 'ALLOW_UNSAFE_DATABASE is set.', error.message)
      : fail('durability', 'The server will not start on this database.', error.message);
  }
}

const DAY_MS = 86_400_000;
const REACH_MIN_DAYS = 3;

async function checkSchema(pool: Pool, clock: Clock): Promise<Finding[]> {
  let missing: number;
  try {
    missing = await migrationsMissing(pool);
  } catch (error) {
    if (!(error instanceof StorageStartError)) throw error;
    return [fail('migrations', 'The schema does not belong to this release.', error.message)];
  }
  if (missing > 0) {
    const detail = `${missing} of this release are not applied yet.`;
    return [warn('migrations', detail, 'The next start applies them.')];
  }
  return [ok('migrations', 'All are applied.'), await checkPartitions(pool, clock)];
}

async function checkPartitions(pool: Pool, clock: Clock): Promise<Finding> {
  const name = 'partitions';
  const days = Math.floor(((await partitionsReach(pool, clock.now())) - clock.now()) / DAY_MS);
  const fix =
    'Start a server: it makes them at once, and every hour. Its log tells what hinders it.';
  if (days < 0) return fail(name, 'There is no place for new messages.', fix);
  const detail = `There is a place for messages of the next ${days} days.`;
  return days < REACH_MIN_DAYS ? warn(name, detail, fix) : ok(name, detail);
}

const APART_MAX_MS = 2000;
/** Older than any release of ours: such a clock was never set. */
const EARLIEST_MS = Date.UTC(2026, 0, 1);

async function checkClock(pool: Pool, clock: Clock): Promise<Finding> {
  const name = 'clock';
  const fix = 'Let NTP set the clocks: schedules, retries and signatures depend on them.';
  const askedAtMs = clock.now();
  const theirsMs = await databaseTimeMs(pool);
  const oursMs = (askedAtMs + clock.now()) / 2;
  if (oursMs < EARLIEST_MS) {
    return fail(name, `This machine believes it is ${new Date(oursMs).toISOString()}.`, fix);
  }
  const apartMs = Math.abs(theirsMs - oursMs);
  const detail = `This machine and the database are ${(apartMs / 1000).toFixed(1)} s apart.`;
  return apartMs > APART_MAX_MS ? warn(name, detail, fix) : ok(name, detail);
}
