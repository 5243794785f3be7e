import type { Pool } from './pool.ts';
import { StorageStartError } from './start-error.ts';

const OLDEST_MAJOR = 15;

/** Without these a crash of the machine can lose or damage what a commit promised. */
const PROMISES = ['fsync', 'full_page_writes', 'synchronous_commit'];

export interface SafetyOptions {
  allowUnsafe: boolean;
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
