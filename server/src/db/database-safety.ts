import type { Pool, PoolClient } from './pool.ts';
import { StorageStartError } from './start-error.ts';

const OLDEST_MAJOR = 15;

/** Without these a crash of the machine can lose or damage what a commit promised. */
const PROMISES = ['fsync', 'full_page_writes', 'synchronous_commit'];

export interface SafetyOptions {
  allowUnsafe: boolean;
}

/**
 * Refuses a pooler that gives each transaction to another session: notices would not arrive, prepared
 * statements and settings be somebody else's, and all that now and then. While another transaction
 * holds the session that answered last, such a pooler answers with a second one.
 */
export async function refuseSharedSessions(pool: Pool): Promise<void> {
  const asked = await pool.connect();
  const other = await pool.connect();
  try {
    const first = await sessionOf(asked);
    for (let round = 0; round < ROUNDS; round += 1) {
      await other.query('begin');
      await sessionOf(other);
      const again = await sessionOf(asked);
      await other.query('rollback');
      if (again !== first) throw new StorageStartError(SHARED_SESSIONS);
    }
  } catch (error) {
    if ((error as { code?: unknown }).code !== PROTOCOL_VIOLATION) throw error;
    throw new StorageStartError(SHARED_SESSIONS, { cause: error });
  } finally {
    asked.release(true);
    other.release(true);
  }
}

/** A pooler may have other clients, who take and return sessions meanwhile. */
const ROUNDS = 5;

/** What PgBouncer calls a `begin` where not even transactions have a session. */
const PROTOCOL_VIOLATION = '08P01';

const SHARED_SESSIONS =
  'What answers at DATABASE_URL shares its sessions between transactions, as PgBouncer does unless pool_mode = session. Postrider needs sessions of its own: set pool_mode = session, or name PostgreSQL itself.';

async function sessionOf(client: PoolClient): Promise<number | undefined> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  return rows[0]?.pid;
}

/** Refuses a database that is too old, or that does not keep what it was told to keep. */
export async function refuseUnsafeDatabase(pool: Pool, options: SafetyOptions): Promise<void> {
  const { rows } = await pool.query<{ name: string; setting: string }>(
    `select name, setting from pg_settings where name = any($1)`,
    [[...PROMISES, 'server_version_num', 'server_encoding']],
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
      `The database at DATABASE_URL stores text as ${settings.get('server_encoding')}. Create it with the encoding UTF8.`,
    );
  }
  const off = PROMISES.filter((name) => settings.get(name) === 'off');
  if (off.length > 0 && !options.allowUnsafe) {
    throw new StorageStartError(
      `The database has ${off.join(' and ')} off, so a crash may lose mail that was answered as accepted. Switch ${off.length > 1 ? 'them' : 'it'} on, or set ALLOW_UNSAFE_DATABASE=true to accept that.`,
    );
  }
}
