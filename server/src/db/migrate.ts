import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { Log } from '../lib/log.ts';
import { continueNumbers } from './ledger-numbers.ts';
import { type Pool, withoutTimeouts } from './pool.ts';
import { StorageStartError } from './start-error.ts';

/**
 * Brings the schema to what this release needs: numbered SQL files, forward only, each in its own
 * transaction, each once. Several nodes may start at the same moment: one works, the others wait and
 * find it done. A file that was changed after it ran, or a database that a newer release has already
 * moved on, is refused: guessing would damage it.
 */
export interface Migration {
  number: number;
  name: string;
  sql: string;
  checksum: string;
}

const FOLDER = path.join(import.meta.dirname, 'migrations');

/** ("post", 3): see also the locks in embedded/claim.ts. */
const LOCK = '1886352244, 3';

export interface MigrateOptions {
  /** Where the files are, for tests. */
  folder?: string;
  /** Ends the wait for another node. */
  leaving?: AbortSignal;
}

/** Applies what is missing; returns how many files ran. */
export async function migrate(
  pool: Pool,
  log: Log,
  { folder = FOLDER, leaving }: MigrateOptions = {},
): Promise<number> {
  const migrations = await readMigrations(folder);
  const client = await pool.connect();
  try {
    // It may well take longer than a request.
    await withoutTimeouts(client);
    await takeLock(client, log, leaving);
    const missing = await missingIn(client, migrations);
    for (const migration of missing) {
      await apply(client, migration);
      log.debug({ migration: migration.name }, 'migration applied');
    }
    const last = missing.at(-1)?.name;
    // One line: the first start has something better to tell.
    if (last) log.info({ migrations: missing.length, last }, 'migrations applied');
    const moved = await continueNumbers(client);
    if (moved > 0) log.warn({ moved }, 'the database came from elsewhere: its ledger goes on here');
    return missing.length;
  } finally {
    // Ends the session, and with it the lock and the settings above.
    client.release(true);
  }
}

const LOOK_MS = 100;

/** Asked for again and again instead of waited for in the database: who waits there cannot leave. */
async function takeLock(client: pg.ClientBase, log: Log, leaving?: AbortSignal): Promise<void> {
  for (let looks = 0; ; looks++) {
    const { rows } = await client.query<{ got: boolean }>(
      `select pg_try_advisory_lock(${LOCK}) as got`,
    );
    if (rows[0]?.got) return;
    if (looks === 0) log.info('waiting for another node, which works on the schema');
    await sleep(LOOK_MS, undefined, leaving ? { signal: leaving } : {});
  }
}

/** How many migrations this release has that the database lacks; 0 means ready. */
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
  if (newest && newest.number > migrations.length) {
    throw new StorageStartError(
      `The database was already moved on by a newer release of Postrider (to ${newest.name}). Start that release or a later one; going back needs a backup from before.`,
    );
  }
  for (const { number, name, checksum } of applied) {
    if (migrations[number - 1]?.checksum === checksum) continue;
    throw new StorageStartError(
      `The migration ${name} ran on this database with another text than this release has. Start the release that belongs to the database.`,
    );
  }
  return migrations.slice(applied.length);
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
      `The migration ${migration.name} failed and was undone: ${(error as Error).message}`,
      { cause: error },
    );
  }
}
