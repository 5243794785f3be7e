import { StorageStartError } from './database-errors.ts';
import type { Pool, PoolClient } from './pool.ts';

/** Checks at startup that a database provided by the operator is suitable. */

const OLDEST_MAJOR = 15;

/** Without these a crash of the machine can lose or damage committed data. */
const DURABILITY_SETTINGS = ['fsync', 'full_page_writes', 'synchronous_commit'];

export interface DatabaseRequirements {
  allowUnsafe: boolean;
}

/**
 * Refuses a pooler that runs each transaction in a different session: notifications would not arrive,
 * and prepared statements and session settings would be those of other clients. The check keeps a
 * second transaction open, so that such a pooler has to use a second session for the first client.
 */
export async function checkDedicatedSessions(pool: Pool): Promise<void> {
  const client = await pool.connect();
  const other = await pool.connect();
  let isDedicated = false;
  try {
    const first = await sessionOf(client);
    for (let round = 0; round < ROUNDS; round += 1) {
      await other.query('begin');
      await sessionOf(other);
      const again = await sessionOf(client);
      await other.query('rollback');
      if (again !== first) throw new StorageStartError(SHARED_SESSIONS);
    }
    isDedicated = true;
  } catch (error) {
    if ((error as { code?: unknown }).code !== PROTOCOL_VIOLATION) throw error;
    throw new StorageStartError(SHARED_SESSIONS, { cause: error });
  } finally {
    client.release(!isDedicated);
    other.release(!isDedicated);
  }
}

/** Other clients of the pooler may take and return sessions during the check. */
const ROUNDS = 5;

/** What PgBouncer answers to `begin` in statement pooling mode. */
const PROTOCOL_VIOLATION = '08P01';

const SHARED_SESSIONS =
  'DATABASE_URL points to a connection pooler that shares sessions between transactions, such as PgBouncer without pool_mode = session. Postrider needs dedicated sessions: set pool_mode = session, or connect to PostgreSQL directly.';

async function sessionOf(client: PoolClient): Promise<number | undefined> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  return rows[0]?.pid;
}

/** Refuses a database that is too old, is not UTF-8, or does not guarantee durable commits. */
export async function checkDatabaseSettings(
  pool: Pool,
  requirements: DatabaseRequirements,
): Promise<void> {
  const { rows } = await pool.query<{ name: string; setting: string }>(
    `select name, setting from pg_settings where name = any($1)`,
    [[...DURABILITY_SETTINGS, 'server_version_num', 'server_encoding']],
  );
  const settings = new Map(rows.map((row) => [row.name, row.setting]));
  const major = Math.floor(Number(settings.get('server_version_num')) / 10_000);
  if (!(major >= OLDEST_MAJOR)) {
    throw new StorageStartError(
      `The database at DATABASE_URL is PostgreSQL ${major}. Postrider needs ${OLDEST_MAJOR} or newer.`,
    );
  }
  if (settings.get('server_encoding') !== 'UTF8') {
    throw new StorageStartError(
      `The database at DATABASE_URL has the encoding ${settings.get('server_encoding')}. Create it with the encoding UTF8.`,
    );
  }
  const off = DURABILITY_SETTINGS.filter((name) => settings.get(name) === 'off');
  if (off.length > 0 && !requirements.allowUnsafe) {
    throw new StorageStartError(
      `The database has ${off.join(' and ')} off, so a crash can lose accepted mail. Turn ${off.length > 1 ? 'them' : 'it'} on, or set ALLOW_UNSAFE_DATABASE=true to accept the risk.`,
    );
  }
}

export interface LockCapacity {
  /** The locks that all sessions can hold together. */
  capacity: number;
  /** The locks of a statement that reads all partitions of messages with their deliveries and events. */
  perStatement: number;
}

/** A statement locks each table and each index that it may read, before it knows which ones it needs. */
export async function readLockCapacity(pool: Pool): Promise<LockCapacity> {
  const { rows } = await pool.query<LockCapacity>(
    `select current_setting('max_locks_per_transaction')::int
              * (current_setting('max_connections')::int
                 + current_setting('max_prepared_transactions')::int) as capacity,
            (select count(distinct inhrelid) + count(indexrelid)
               from pg_inherits left join pg_index on indrelid = inhrelid
              where inhparent = any(array['messages', 'deliveries', 'events']::regclass[])
            )::int as "perStatement"`,
  );
  const [found] = rows;
  if (!found) throw new Error('Broken invariant: no row about locks');
  return found;
}

/** Commits a change without effect. Returns why nothing can be stored, or undefined. */
export async function whyNotWritable(pool: Pool): Promise<string | undefined> {
  try {
    await pool.query('update retention_clock set last_seen_at = last_seen_at');
    return undefined;
  } catch (error) {
    switch ((error as { code?: unknown }).code) {
      case '25006':
        return 'the database is read-only';
      case '53100':
        return DISK_FULL;
      default:
        return 'the database is unreachable';
    }
  }
}

export const DISK_FULL = 'the disk of the database is full';

/** The database's clock, for comparison with the local one. It is never used for stored times. */
export async function databaseClockMs(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ ms: number }>(
    'select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms',
  );
  return rows[0]?.ms ?? Number.NaN;
}

/** How many sessions the settings of the server, the user and the database allow this user. */
export async function sessionsAllowed(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ allowed: number }>(
    `select least(
        current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
          - coalesce(current_setting('reserved_connections', true)::int, 0),
        (select nullif(rolconnlimit, -1) from pg_roles where rolname = current_user),
        (select nullif(datconnlimit, -1) from pg_database where datname = current_database())
      ) as allowed`,
  );
  return rows[0]?.allowed ?? 0;
}

export interface Replication {
  standbys: number;
  /** A commit waits for at least one of them. */
  synchronous: boolean;
}

/**
 * Every user sees who receives the write-ahead log, but only privileged ones see the state. A backup or
 * a logical subscriber is not a standby.
 */
export async function readReplication(pool: Pool): Promise<Replication> {
  const { rows } = await pool.query<Replication>(
    `select count(*)::int as standbys,
            current_setting('synchronous_standby_names') <> ''
              and current_setting('synchronous_commit') not in ('off', 'local') as synchronous
       from pg_stat_replication r
      where (state is null or state in ('catchup', 'streaming'))
        and not exists (select from pg_replication_slots s
                         where s.active_pid = r.pid and s.slot_type = 'logical')`,
  );
  return rows[0] ?? { standbys: 0, synchronous: false };
}
