import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Config } from '../../config/read-config.ts';
import { StorageStartError } from '../../db/connections/database-errors.ts';
import {
  checkDatabaseSettings,
  databaseClockMs,
  type LockCapacity,
  readLockCapacity,
  readReplication,
  sessionsAllowed,
} from '../../db/connections/database-requirements.ts';
import type { Pool } from '../../db/connections/pool.ts';
import { ReadReplica } from '../../db/connections/read-replica.ts';
import { openStorage, type Storage } from '../../db/open-storage.ts';
import { migrationsMissing } from '../../db/schema/migrate.ts';
import { partitionsEndMs } from '../../db/schema/partitions.ts';
import { findSecretKey } from '../../db/secret-key.ts';
import { checkSecretKey } from '../../db/verify-secret-key.ts';
import { oldestUnprocessed } from '../../events/event-consumer-store.ts';
import { findLogBlocker, oldestHiddenEventMs } from '../../events/events-store.ts';
import { silentLog } from '../../lib/log.ts';
import type { Clock } from '../../lib/time/clock.ts';
import { type CheckResult, fail, ok, warn } from './doctor-result.ts';
import { printable } from './network-checks.ts';
import { checkWarmUps } from './warm-up-checks.ts';

/** Checks the database without changing it. */
export async function checkDatabase(config: Config, clock: Clock): Promise<CheckResult[]> {
  const { dataDir, databaseUrl } = config.storage;
  if (databaseUrl === undefined && !existsSync(path.join(dataDir, 'postgres'))) {
    return [ok('database', 'The embedded database will be created on first start.')];
  }
  let storage: Storage;
  try {
    storage = await openStorage({
      ...config.storage,
      connectionsMax: 2,
      // checkDurability reports unsafe settings.
      allowUnsafe: true,
      // No secret is read here, and a missing key must not be created.
      secretKey: config.secretKey ?? Buffer.alloc(0),
      log: silentLog,
      holder: 'command',
    });
  } catch (error) {
    if (!(error instanceof StorageStartError)) throw error;
    return [fail('database', error.message, 'No mail is accepted until this is fixed.')];
  }
  await using open = storage;
  const which =
    databaseUrl === undefined ? 'The embedded database' : 'The database at DATABASE_URL';
  return [
    ok('database', `${which} is reachable.`),
    await checkDurability(open.pool, config.storage.allowUnsafe),
    ...(await checkSessions(config, open.pool)),
    ...(await checkReplication(open.pool)),
    ...(await checkReadReplica(config, open.pool, clock)),
    ...(await checkSchema(config, open.pool, clock)),
    await checkClock(open.pool, clock),
  ];
}

async function checkDurability(pool: Pool, allowUnsafe: boolean): Promise<CheckResult> {
  try {
    await checkDatabaseSettings(pool, { allowUnsafe: false });
    return ok('durability', 'Committed data survives a power failure.');
  } catch (error) {
    if (!(error instanceof StorageStartError)) throw error;
    return allowUnsafe
      ? warn('durability', 'ALLOW_UNSAFE_DATABASE is set.', error.message)
      : fail('durability', 'The server will not start on this database.', error.message);
  }
}

/** Delivery, webhooks and notifications have connections of their own. */
const OTHER_CONNECTIONS = 16;

async function checkSessions({ storage }: Config, pool: Pool): Promise<CheckResult[]> {
  if (storage.databaseUrl === undefined) return [];
  const name = 'connections';
  const allowed = await sessionsAllowed(pool);
  const needed = storage.connectionsMax + OTHER_CONNECTIONS;
  const detail = `The database allows ${allowed} connections, and a node opens up to ${needed}.`;
  return allowed < needed
    ? [
        warn(
          name,
          detail,
          'Raise max_connections, or the connection limit of the user or the database, or lower DATABASE_CONNECTIONS_MAX.',
        ),
      ]
    : [ok(name, detail)];
}

async function checkReplication(pool: Pool): Promise<CheckResult[]> {
  const { standbys, synchronous } = await readReplication(pool);
  if (standbys === 0) return [];
  if (synchronous) return [ok('replication', 'A commit waits for a standby.')];
  return [
    warn(
      'replication',
      'Replication is asynchronous: a failover can lose messages that were just accepted.',
      'Set synchronous_standby_names, or synchronous_mode of Patroni.',
    ),
  ];
}

async function checkReadReplica(
  { storage: { readUrl } }: Config,
  primary: Pool,
  clock: Clock,
): Promise<CheckResult[]> {
  if (readUrl === undefined) return [];
  const name = 'read replica';
  try {
    await using replica = await ReadReplica.open({
      ...{ readUrl, primary, clock, log: silentLog },
      connectionsMax: 1,
    });
    if (replica.isUsed) return [ok(name, 'The standby at DATABASE_READ_URL keeps up.')];
    return [
      warn(
        name,
        'The standby at DATABASE_READ_URL is unreachable or behind.',
        'Until it keeps up, everything is read from the primary.',
      ),
    ];
  } catch (error) {
    if (!(error instanceof StorageStartError)) throw error;
    return [fail(name, 'The server will not start with DATABASE_READ_URL.', error.message)];
  }
}

const DAY_MS = 86_400_000;
const PARTITION_DAYS_MIN = 3;

async function checkSchema(config: Config, pool: Pool, clock: Clock): Promise<CheckResult[]> {
  let missing: number;
  try {
    missing = await migrationsMissing(pool);
  } catch (error) {
    if (!(error instanceof StorageStartError)) throw error;
    return [fail('migrations', 'The schema does not match this release.', error.message)];
  }
  if (missing > 0) {
    return [warn('migrations', `Pending migrations: ${missing}.`, 'The next start applies them.')];
  }
  return [
    ok('migrations', 'All migrations are applied.'),
    await checkKey(config, pool),
    await checkPartitions(pool, clock),
    checkLocks(await readLockCapacity(pool)),
    ...(await checkEventLog(pool, clock)),
    ...(await checkWarmUps(config, pool, clock)),
  ];
}

async function checkKey(config: Config, pool: Pool): Promise<CheckResult> {
  const name = 'secret key';
  try {
    const key = config.secretKey ?? (await findSecretKey(config.storage.dataDir));
    // A start without a key creates one, which then does not match.
    await checkSecretKey(pool, key ?? Buffer.alloc(0));
    return ok(name, 'The secret key matches the database.');
  } catch (error) {
    if (!(error instanceof StorageStartError)) throw error;
    return config.allowOtherSecretKey
      ? warn(name, 'ALLOW_OTHER_SECRET_KEY is set.', error.message)
      : fail(name, 'The server will not start with this secret key.', error.message);
  }
}

const EVENTS_HELD_BACK_MAX_MS = 10_000;
const EVENTS_UNPROCESSED_MAX_MS = 60_000;

/** Events wait for open transactions, and webhooks and statistics for a server that processes events. */
async function checkEventLog(pool: Pool, clock: Clock): Promise<CheckResult[]> {
  const name = 'event log';
  const ageMs = (createdAtMs: number | null | undefined): number =>
    createdAtMs == null ? 0 : clock.now() - createdAtMs;
  const heldBackMs = ageMs(await oldestHiddenEventMs(pool));
  if (heldBackMs > EVENTS_HELD_BACK_MAX_MS) return [await heldBack(pool, heldBackMs)];
  const late = (await oldestUnprocessed(pool)).filter(
    ({ createdAtMs }) => ageMs(createdAtMs) > EVENTS_UNPROCESSED_MAX_MS,
  );
  if (late.length === 0) return [ok(name, 'Events are up to date.')];
  return late.map(({ consumer, createdAtMs }) =>
    warn(
      name,
      `Unprocessed events for ${consumer}; the oldest is ${formatAge(ageMs(createdAtMs))} old.`,
      'A running server processes them. If one is running, check its log, or add a node with ROLES=webhooks.',
    ),
  );
}

async function heldBack(pool: Pool, heldBackMs: number): Promise<CheckResult> {
  const blocker = await findLogBlocker(pool);
  const detail = `An open transaction has been holding back events for ${formatAge(heldBackMs)}`;
  const effect = 'webhooks, the event feed and statistics wait for it.';
  if (blocker === undefined) {
    return fail('event log', `${detail}.`, `End it: ${effect}`);
  }
  const { pid, name, database, user } = blocker;
  const where = `database ${database}, user ${user}`;
  return pid === undefined
    ? fail(
        'event log',
        `${detail}: the prepared transaction ${printable(name)} (${where}).`,
        `Commit it or roll it back (rollback prepared): ${effect}`,
      )
    : fail(
        'event log',
        `${detail}: process ${pid} (${where}${name === '' ? '' : `, ${printable(name)}`}).`,
        `End it, such as with "select pg_terminate_backend(${pid})": ${effect}`,
      );
}

function formatAge(ms: number): string {
  const seconds = Math.round(ms / 1000);
  return seconds < 120 ? `${seconds} s` : `${Math.round(seconds / 60)} min`;
}

async function checkPartitions(pool: Pool, clock: Clock): Promise<CheckResult> {
  const name = 'partitions';
  const days = Math.floor(((await partitionsEndMs(pool, clock.now())) - clock.now()) / DAY_MS);
  const fix = 'A running server creates partitions hourly; check its log.';
  if (days < 0) return fail(name, 'There is no partition for new messages.', fix);
  const detail = `Partitions exist for the next ${days} days.`;
  return days < PARTITION_DAYS_MIN ? warn(name, detail, fix) : ok(name, detail);
}

/** Statements over all partitions at the same time. */
const STATEMENTS = 10;

export function checkLocks({ capacity, perStatement }: LockCapacity): CheckResult {
  const times = (STATEMENTS * perStatement) / capacity;
  if (times <= 1) return ok('locks', `The database has room for ${capacity} locks.`);
  return warn(
    'locks',
    `A list of messages can take ${perStatement} locks, and the database has room for ${capacity}.`,
    `Multiply its max_locks_per_transaction by ${Math.ceil(times)} and restart it, or raise PARTITION_DAYS.`,
  );
}

const CLOCK_SKEW_MAX_MS = 2000;
/** Earlier than any release, so a clock that shows less was never set. */
const PLAUSIBLE_MIN_MS = Date.UTC(2026, 0, 1);

async function checkClock(pool: Pool, clock: Clock): Promise<CheckResult> {
  const name = 'clock';
  const fix = 'Use NTP: schedules, retries and signatures depend on the clock.';
  const localMs = clock.now();
  if (localMs < PLAUSIBLE_MIN_MS) {
    return fail(name, `The clock shows ${new Date(localMs).toISOString()}.`, fix);
  }
  const skewMs = Math.abs(await clockOffsetMs(pool, clock));
  const detail = `The clocks of this host and the database differ by ${(skewMs / 1000).toFixed(1)} s.`;
  return skewMs > CLOCK_SKEW_MAX_MS ? warn(name, detail, fix) : ok(name, detail);
}

const CLOCK_READINGS = 3;

/** Taken from the fastest reading: the time a query waits counts as an offset. */
async function clockOffsetMs(pool: Pool, clock: Clock): Promise<number> {
  let best = { roundTripMs: Number.POSITIVE_INFINITY, offsetMs: 0 };
  for (let reading = 0; reading < CLOCK_READINGS; reading++) {
    const startedAtMs = clock.now();
    const databaseMs = await databaseClockMs(pool);
    const roundTripMs = clock.now() - startedAtMs;
    if (roundTripMs >= best.roundTripMs) continue;
    best = { roundTripMs, offsetMs: databaseMs - startedAtMs - roundTripMs / 2 };
  }
  return best.offsetMs;
}
