import { afterEach, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../test/harness/database/database.ts';
import { until } from '../../test/harness/until.ts';
import { Workspaces } from '../accounts/workspaces.ts';
import { inTransaction } from '../db/connections/pool.ts';
import { uuidv7 } from '../lib/ids.ts';
import { silentLog } from '../lib/log.ts';
import { ManualClock } from '../lib/time/manual-clock.ts';
import { listPurges } from './workspace-purge-store.ts';
import { WorkspacePurges } from './workspace-purges.ts';

/**
 * A deleted workspace leaves no row in any table, whatever crashes meanwhile, and others keep all of
 * theirs. The tables come from the catalog, so a new one is covered, or fails here.
 */

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

let database: TestDatabase;
let clock: ManualClock;
let workspaces: Workspaces;

beforeEach(async () => {
  database = await createTestDatabase();
  clock = new ManualClock(Date.now());
  workspaces = new Workspaces({ pool: database.pool, clock });
});
afterEach(() => database[Symbol.asyncDispose]());

const newNode = () => new WorkspacePurges({ pool: database.pool, clock, log: silentLog });

test('every table is emptied of the workspace, and of nothing else', async () => {
  const [gone, kept] = [await filledWorkspace('Gone'), await filledWorkspace('Kept')];
  await addMessages(gone, 2_500);
  const before = { gone: await rowsOf(gone), kept: await rowsOf(kept) };
  // Of both workspaces every table has a row, so that a table that is not purged shows.
  for (const rows of [before.gone, before.kept]) {
    expect(Object.entries(rows).filter(([, count]) => count === 0)).toEqual([]);
  }
  const node = newNode();
  await schedule(gone);
  clock.advance(7 * DAY_MS - 1);
  await node.work();
  expect(await rowsOf(gone)).toEqual(before.gone);
  expect(await listPurges(database.pool, 10)).toEqual([]);

  clock.advance(1);
  await node.work();
  expect(Object.values(await rowsOf(gone)).every((count) => count === 0)).toBe(true);
  expect(await workspaces.list()).toHaveLength(2);
  // Work that was in progress elsewhere may still write rows.
  await database.pool.query(
    `insert into statistics_day (workspace_id, mode, dimension, at, value, counter, n)
     values ($1, 'live', 'all', now(), '', 'late', 1)`,
    [gone],
  );
  await node.work();
  expect((await rowsOf(gone)).statistics_day).toBe(1);
  for (let pass = 0; pass < 2; pass++) {
    clock.advance(MINUTE_MS);
    await node.work();
  }

  expect((await workspaces.list()).map(({ name }) => name)).toEqual(['Kept']);
  expect(await rowsOf(kept)).toEqual(before.kept);
  const [purge] = await listPurges(database.pool, 10);
  expect(purge).toMatchObject({ id: gone, finishedAtMs: clock.now() });
  expect(purge?.deletedRows).toEqual({
    ...before.gone,
    people: 1,
    statistics_day: (before.gone.statistics_day ?? 0) + 1,
  });
  // Not even as a reference: the record of the deletion is the only row that names the workspace.
  expect(await tablesThatMention(gone)).toEqual(['workspace_purges']);
  expect(await tablesThatMention('gone@people.example')).toEqual([]);
  expect(await tablesThatMention(kept)).toContain('messages');
});

test('a node that dies in the middle loses nothing, and another one continues', async () => {
  const [gone] = [await filledWorkspace('Gone'), await filledWorkspace('Kept')];
  await addMessages(gone, 1_500);
  const before = await rowsOf(gone);
  await schedule(gone);
  clock.advance(7 * DAY_MS);
  const { pool } = database;
  const blocker = await pool.connect();
  await blocker.query('begin; lock table contacts in access exclusive mode');
  const dying = Promise.allSettled([newNode().work()]);
  const waiting = `select pid from pg_stat_activity where wait_event_type = 'Lock'
    and datname = current_database()`;
  await until(async () => (await pool.query(waiting)).rowCount === 1);
  await pool.query(`select pg_terminate_backend(pid) from (${waiting}) w`);
  await dying;
  await blocker.query('rollback');
  blocker.release();

  const half = await rowsOf(gone);
  expect([half.messages, half.contacts, half.statistics_day]).toEqual([0, 1, 1]);
  const [progress] = await listPurges(pool, 10);
  expect(progress).toMatchObject({
    finishedAtMs: null,
    deletedRows: { deliveries: before.deliveries, messages: before.messages },
  });
  await Promise.all([newNode().work(), newNode().work()]);
  await until(async () => {
    clock.advance(MINUTE_MS);
    await newNode().work();
    return (await workspaces.list()).length === 1;
  });
  const [purge] = await listPurges(pool, 10);
  expect(purge?.deletedRows).toEqual({ ...before, people: 1 });
});

test('a locked row is never waited for, and the workspace stays until it is gone', async () => {
  const [gone] = [await filledWorkspace('Gone'), await filledWorkspace('Kept')];
  await schedule(gone);
  clock.advance(7 * DAY_MS);
  const node = newNode();
  await inTransaction(database.pool, async (db) => {
    await db.query('select from deliveries where workspace_id = $1 for update', [gone]);
    for (let pass = 0; pass < 3; pass++) {
      await node.work();
      clock.advance(MINUTE_MS);
    }
    expect((await rowsOf(gone)).deliveries).toBe(1);
    expect(await workspaces.list()).toHaveLength(2);
  });
  for (let pass = 0; pass < 2; pass++) {
    await node.work();
    clock.advance(MINUTE_MS);
  }
  expect(await workspaces.list()).toHaveLength(1);
});

test('members of other workspaces keep their accounts, and a server its last one', async () => {
  const { pool } = database;
  const [first, second] = [await filledWorkspace('First'), await filledWorkspace('Second')];
  const third = await workspaces.create('Third');
  await pool.query(
    `insert into memberships (workspace_id, person_id, role, created_at)
     select $2, person_id, 'owner', now() from memberships where workspace_id = $1`,
    [first, second],
  );
  await pool.query('update workspaces set origin_id = $1 where id <> $1', [first]);
  const people = async () =>
    (await pool.query('select email from people order by id')).rows.map(({ email }) => email);
  const node = newNode();
  const purge = async (id: string) => {
    await schedule(id);
    clock.advance(7 * DAY_MS);
    for (let pass = 0; pass < 2; pass++) {
      await node.work();
      clock.advance(MINUTE_MS);
    }
  };
  await purge(first);
  expect(await people()).toEqual(['first@people.example', 'second@people.example']);
  // The workspaces that descend from a deleted one still count together.
  const { rows } = await pool.query('select id, origin_id from workspaces order by id');
  expect(rows).toEqual([
    { id: second, origin_id: null },
    { id: third.id, origin_id: second },
  ]);
  await purge(second);
  expect(await people()).toEqual(['first@people.example']);
});

async function schedule(id: string): Promise<void> {
  const found = (await workspaces.list()).find((one) => one.id === id);
  if (!found) throw new Error('no such workspace');
  await workspaces.scheduleDeletion(found, clock.now() + 7 * DAY_MS);
}

/** A workspace with one row in every table that has a `workspace_id`, and one member. */
async function filledWorkspace(name: string): Promise<string> {
  const { pool } = database;
  const { id: workspaceId } = await workspaces.create(name);
  // One id for everything, so that foreign keys match.
  const id = uuidv7(clock.now());
  const email = `${name.toLowerCase()}@people.example`;
  await pool.query(
    `insert into people (id, email, email_key, name, password_hash, created_at)
     values ($1, $2, $2, $3, '', now())`,
    [id, email, name],
  );
  await insertInto('one_time_tokens', { person_id: id, token_hash: Buffer.from(id) });
  await insertInto('email_changes', { id, person_id: id, token_hash: Buffer.from(id), email });
  let left = await tenantTables();
  while (left.length > 0) {
    const refused: string[] = [];
    for (const table of left) {
      const row = { workspace_id: workspaceId, ...GIVEN[table] };
      await insertInto(table, row, { uuid: id, bytea: Buffer.from(id), text: id }).catch(
        (error) => {
          // The row that it refers to comes later.
          if (error.code !== '23503') throw error;
          refused.push(table);
        },
      );
    }
    if (refused.length === left.length) throw new Error(`cannot fill ${refused.join(', ')}`);
    left = refused;
  }
  return workspaceId;
}

/** Values that constraints require. */
const GIVEN: Record<string, Record<string, unknown>> = {
  audit_log: { actor_type: 'cli' },
  domain_keys: { encrypted_private_key: Buffer.from('key') },
  template_versions: { kind: 'template' },
  template_publications: { kind: 'template' },
};

/** Inserts a row with a valid value in every column that needs one. */
async function insertInto(
  table: string,
  given: Record<string, unknown>,
  values: Record<string, unknown> = {},
): Promise<void> {
  const { pool } = database;
  const { rows: columns } = await pool.query<{
    name: string;
    type: string;
    allowed: string | null;
  }>(
    `select a.attname as name, coalesce(e.label, format_type(a.atttypid, null)) as type,
       coalesce(e.value, substring(c.def from a.attname || ' = ANY \\(ARRAY\\[''(\\w+)''')) as allowed
     from pg_attribute a
     left join lateral (select 'enum' as label, enumlabel as value from pg_enum
       where enumtypid = a.atttypid order by enumsortorder limit 1) e on true
     left join lateral (select string_agg(pg_get_constraintdef(oid), ' ') as def from pg_constraint
       where conrelid = a.attrelid and contype = 'c') c on true
     where a.attrelid = $1::regclass and a.attnum > 0 and not a.attisdropped
       and a.attnotnull and not a.atthasdef`,
    [table],
  );
  const row: Record<string, unknown> = {};
  for (const { name, type, allowed } of columns)
    row[name] = allowed ?? values[type] ?? DEFAULTS[type];
  Object.assign(row, given);
  const names = Object.keys(row);
  await pool.query(
    `insert into ${table} (${names.join(', ')}) values (${names.map((_, at) => `$${at + 1}`)})`,
    Object.values(row),
  );
}

const DEFAULTS: Record<string, unknown> = {
  'timestamp with time zone': new Date(),
  boolean: false,
  integer: 1,
  smallint: 1,
  bigint: 1,
  json: '{}',
  jsonb: '{}',
  text: 'x',
  'text[]': [],
};

async function addMessages(workspaceId: string, count: number): Promise<void> {
  const ids = Array.from({ length: count }, () => uuidv7(clock.now()));
  for (const [table, id] of [
    ['messages', 'id'],
    ['deliveries', 'message_id'],
    ['events', 'id'],
  ] as const) {
    await database.pool.query(
      `insert into ${table} select (json_populate_record(t, json_build_object('${id}', i.id))).*
       from ${table} t, unnest($2::uuid[]) i (id) where t.workspace_id = $1`,
      [workspaceId, ids],
    );
  }
}

async function tenantTables(): Promise<string[]> {
  const { rows } = await database.pool.query<{ name: string }>(
    `select c.table_name as name from information_schema.columns c
     join pg_class t on t.oid = format('public.%I', c.table_name)::regclass and t.relkind in ('r', 'p')
      and not t.relispartition
     where c.table_schema = 'public' and c.column_name = 'workspace_id' order by 1`,
  );
  return rows.map(({ name }) => name);
}

async function rowsOf(workspaceId: string): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const table of await tenantTables()) {
    const { rows } = await database.pool.query<{ n: number }>(
      `select count(*) as n from ${table} where workspace_id = $1`,
      [workspaceId],
    );
    counts[table] = rows[0]?.n ?? 0;
  }
  return counts;
}

/** All tables with a row that contains the text in any column. */
async function tablesThatMention(text: string): Promise<string[]> {
  const { rows: tables } = await database.pool.query<{ name: string }>(
    `select relname as name from pg_class where relnamespace = 'public'::regnamespace
       and relkind in ('r', 'p') and not relispartition order by 1`,
  );
  const found: string[] = [];
  for (const { name } of tables) {
    const { rowCount } = await database.pool.query(
      `select from ${name} t where strpos(t::text, $1) > 0 limit 1`,
      [text],
    );
    if (rowCount === 1) found.push(name);
  }
  return found;
}
