import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import type pg from 'pg';
import type { Log } from '../../lib/log.ts';
import { acquireSessionLock } from '../advisory-lock.ts';
import { StorageStartError } from '../connections/database-errors.ts';
import { type Pool, withoutTimeouts } from '../connections/pool.ts';
import { updateEventLogOffset } from '../event-log-offset.ts';
import { LOCKS } from '../lock-numbers.ts';
import { buildPartitionIndexes } from './partition-indexes.ts';

/**
 * Applies the numbered SQL files in `migrations/` that the database lacks: forward only, each once,
 * each in its own transaction. If several nodes start at the same time, one migrates and the others
 * wait. A database that a newer release has migrated is refused, and so is one whose migrations had
 * different content, because guessing could damage it.
 */
export interface Migration {
  number: number;
  name: string;
  sql: string;
  checksum: string;
}

const FOLDER = path.join(import.meta.dirname, '..', 'migrations');

export interface MigrateOptions {
  /** The folder of the SQL files; tests use their own. */
  folder?: string;
  /** Ends the wait for another node that is migrating. */
  signal?: AbortSignal;
}

/** Returns how many migrations were applied. */
export async function migrate(
  pool: Pool,
  log: Log,
  { folder = FOLDER, signal }: MigrateOptions = {},
): Promise<number> {
  const migrations = await readMigrations(folder);
  const client = await pool.connect();
  try {
    // A migration may take much longer than a request.
    await withoutTimeouts(client);
    if (pool.schema !== undefined) await createSchema(client, pool.schema);
    await acquireSessionLock(client, LOCKS.migrations, 'migrating', {
      log,
      ...(signal && { signal }),
    });
    const missing = await missingIn(client, migrations);
    for (const migration of missing) {
      await buildPartitionIndexes(client, migration.name, log);
      await apply(client, migration);
      log.debug({ migration: migration.name }, 'migration applied');
    }
    const last = missing.at(-1)?.name;
    if (last) log.info({ migrations: missing.length, last }, 'migrations applied');
    const offset = await updateEventLogOffset(client);
    if (offset > 0)
      log.warn({ offset }, 'database was restored from a dump; event log numbering continues');
    return missing.length;
  } finally {
    // Closes the session, which releases the lock.
    client.release(true);
  }
}

/** Looked up first, because an existing schema may belong to another user who granted its use. */
async function createSchema(client: pg.ClientBase, schema: string): Promise<void> {
  const { rows } = await client.query<{ exists: boolean }>(
    'select to_regnamespace($1) is not null as exists',
    [schema],
  );
  if (rows[0]?.exists) return;
  try {
    await client.query(`create schema if not exists "${schema}"`);
  } catch (error) {
    // Another node created it at the same time.
    if ((error as { code?: unknown }).code === UNIQUE_VIOLATION) return;
    throw new StorageStartError(
      `Cannot create the schema of DATABASE_SCHEMA: ${(error as Error).message}.`,
      { cause: error },
    );
  }
}

const UNIQUE_VIOLATION = '23505';

/** How many migrations of this release the database lacks. */
export async function migrationsMissing(pool: Pool, folder = FOLDER): Promise<number> {
  const migrations = await readMigrations(folder);
  const client = await pool.connect();
  try {
    return (await missingIn(client, migrations)).length;
  } finally {
    client.release();
  }
}

async function readMigrations(folder: string): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort();
  return Promise.all(
    names.map(async (name, index) => {
      const number = Number(/^([0-9]{4})-[a-z0-9-]+\.sql$/.exec(name)?.[1]);
      if (number !== index + 1) {
        throw new Error(`Broken invariant: migration ${name} is not number ${index + 1}`);
      }
      const sql = await readFile(path.join(folder, name), 'utf8');
      const checksum = createHash('sha256').update(sql.replaceAll('\r\n', '\n')).digest('hex');
      return { number, name, sql, checksum };
    }),
  );
}

async function missingIn(client: pg.ClientBase, migrations: Migration[]): Promise<Migration[]> {
  const applied = await appliedIn(client);
  const newest = applied.at(-1);
  if (newest && newest.number > migrations.length && !isDevelopmentSchema(applied, migrations)) {
    throw new StorageStartError(
      `This database was migrated by a newer release of Postrider (${newest.name}). Start that release or a later one. To downgrade, restore a backup from before the upgrade.`,
    );
  }
  for (const { number, name, checksum } of applied) {
    if (migrations[number - 1]?.checksum === checksum) continue;
    if (isDevelopmentSchema(applied, migrations)) throw new StorageStartError(DEVELOPMENT_SCHEMA);
    throw new StorageStartError(
      `The migration ${name} was applied to this database with different content than in this release. Start the release that the database belongs to.`,
    );
  }
  return migrations.slice(applied.length);
}

const FIRST_MIGRATION = '0001-accounts.sql';

const DEVELOPMENT_SCHEMA =
  'This database was created by a development version of Postrider before 0.1.0 and cannot be upgraded. Start with an empty database or data folder.';

/** The first migration never changes after a release; only development versions had another one. */
function isDevelopmentSchema(applied: readonly Applied[], migrations: Migration[]): boolean {
  const [first] = applied;
  return first?.name === FIRST_MIGRATION && first.checksum !== migrations[0]?.checksum;
}

interface Applied {
  number: number;
  name: string;
  checksum: string;
}

async function appliedIn(client: pg.ClientBase): Promise<Applied[]> {
  const { rows } = await client.query<{ exists: boolean }>(
    `select to_regclass('schema_migrations') is not null as exists`,
  );
  if (!rows[0]?.exists) return [];
  const applied = await client.query<Applied>(
    'select number, name, checksum from schema_migrations order by number',
  );
  return applied.rows;
}

async function apply(client: pg.ClientBase, migration: Migration): Promise<void> {
  try {
    await client.query('begin');
    await client.query(
      `create table if not exists schema_migrations (
         number integer primary key, name text not null, checksum text not null)`,
    );
    await client.query(migration.sql);
    await client.query(
      'insert into schema_migrations (number, name, checksum) values ($1, $2, $3)',
      [migration.number, migration.name, migration.checksum],
    );
    await client.query('commit');
  } catch (error) {
    await client.query('rollback').catch(() => {});
    throw new StorageStartError(
      `The migration ${migration.name} failed and was rolled back: ${(error as Error).message}`,
      { cause: error },
    );
  }
}
