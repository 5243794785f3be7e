import { cp, readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { createTestDatabase } from '../../../test/harness/database/database.ts';
import { createTempDir } from '../../../test/harness/temp-dir.ts';
import { uuidv7 } from '../../lib/ids.ts';
import { createLog, silentLog } from '../../lib/log.ts';
import { systemClock } from '../../lib/time/clock.ts';
import type { Pool } from '../connections/pool.ts';
import { migrate } from './migrate.ts';
import { ensurePartitions, PARTITIONED_TABLES } from './partitions.ts';

const PREPARED = '0027-message-keys.sql';
const TABLES = ['attempts', 'deliveries', 'events', 'message_contents'];

/** The migrations before the one whose indexes are built before it. */
async function earlierMigrations() {
  const folder = await createTempDir();
  await cp(path.join(import.meta.dirname, '..', 'migrations'), folder.path, { recursive: true });
  for (const name of await readdir(folder.path)) {
    if (name >= PREPARED) await rm(path.join(folder.path, name));
  }
  return folder;
}

async function insertMessage(pool: Pool, nowMs: number): Promise<void> {
  const message = [uuidv7(nowMs), uuidv7(nowMs)];
  await pool.query(
    `insert into deliveries (workspace_id, mode, message_id, ordinal, kind, recipient, recipient_key,
                             status, shard, expires_at)
     values ($1, 'live', $2, 0, 'to', 'a@example.com', 'a@example.com', 'delivered', 1, now())`,
    message,
  );
  await pool.query(
    `insert into attempts (workspace_id, mode, message_id, ordinal, number, started_at, finished_at, outcome)
     values ($1, 'live', $2, 0, 1, now(), now(), 'delivered')`,
    message,
  );
  await pool.query(
    `insert into message_contents (workspace_id, mode, id, head, html) values ($1, 'live', $2, '{}', '')`,
    message,
  );
  await pool.query(
    `insert into events (workspace_id, mode, tx, id, type, created_at, message_id, data)
     values ($1, 'live', 1, $2, 'message.delivered', now(), $2, '{}')`,
    message,
  );
}

/** By name of the index, before it is renamed to that of a primary key. */
async function indexIds(pool: Pool, names: readonly string[]): Promise<(string | null)[]> {
  const { rows } = await pool.query<{ id: string | null }>(
    `select to_regclass(name)::oid::text as id
       from unnest($1::text[]) with ordinality as t(name, at) order by at`,
    [names],
  );
  return rows.map(({ id }) => id);
}

test('a migration takes over the indexes that were built before it, again after a failed build', async () => {
  await using db = await createTestDatabase({ empty: true });
  await using earlier = await earlierMigrations();
  const nowMs = systemClock.now();
  await migrate(db.pool, silentLog, { folder: earlier.path });
  await ensurePartitions(db.pool, nowMs, PARTITIONED_TABLES);
  await insertMessage(db.pool, nowMs);
  const used = await db.pool.query<{ name: string }>(
    `select tableoid::regclass::text as name from deliveries
      union all select tableoid::regclass::text from message_contents`,
  );
  const [deliveries, contents] = used.rows.map(({ name }) => name) as [string, string];
  await db.pool.query(
    `create unique index ${deliveries}_message on ${deliveries} (message_id, ordinal)`,
  );
  await db.pool.query(`create unique index ${contents}_message on ${contents} (id)`);
  await db.pool.query('update pg_index set indisvalid = false where indexrelid = to_regclass($1)', [
    `${contents}_message`,
  ]);
  const [built, failed] = await indexIds(db.pool, [`${deliveries}_message`, `${contents}_message`]);

  const logged: string[] = [];
  const write = (line: string) => void logged.push(JSON.parse(line).index);
  await migrate(db.pool, createLog({ level: 'info', destination: { write } }));

  const [key, contentKey] = await indexIds(db.pool, [`${deliveries}_pkey`, `${contents}_pkey`]);
  expect(key).toBe(built);
  expect(logged).not.toContain(`${deliveries}_message`);
  expect(contentKey).not.toBe(failed);
  expect(logged).toContain(`${contents}_message`);
  // None is left beside those that all partitions have, and all of them can be used.
  const { rows } = await db.pool.query(
    `select i.indexrelid::regclass::text as name from pg_inherits p
       join pg_index i on i.indrelid = p.inhrelid
      where p.inhparent = any($1::regclass[]) and (not i.indisvalid or not exists (
        select from pg_inherits a where a.inhrelid = i.indexrelid))`,
    [TABLES],
  );
  expect(rows).toEqual([]);
  // Those of the future have them too.
  const later = await ensurePartitions(db.pool, nowMs + 60 * 86_400_000, PARTITIONED_TABLES);
  const keys = later.filter((name) => /^(?:deliveries|attempts|message_contents)_p/.test(name));
  const definitions = await db.pool.query<{ definition: string }>(
    `select distinct substring(pg_get_indexdef(indexrelid) from 'btree .*') as definition
       from pg_index where indisprimary and indrelid = any($1::regclass[]) order by definition`,
    [keys],
  );
  expect(definitions.rows.map(({ definition }) => definition)).toEqual([
    'btree (id)',
    'btree (message_id, ordinal)',
    'btree (message_id, ordinal, number)',
  ]);
});
