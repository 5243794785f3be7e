import { setTimeout as sleep } from 'node:timers/promises';
import type { TenantTable } from '../statements/purge-rows.ts';
import { isLockTimeout, WRITE_FENCED } from './database-errors.ts';
import { inTransaction, type Pool, type Queryable } from './pool.ts';

/**
 * Refuses writes for one workspace, whichever process tries, while that workspace moves to another
 * database: triggers that exist only meanwhile, so a table without a move has no cost. Creating one waits
 * for the transactions that write the table; afterwards nothing uncommitted is left that the copy could
 * miss, and what comes later fails with WRITE_FENCED.
 *
 * A statement that writes for many workspaces at once would fail for all of them. So a table is fenced
 * only when nothing of the kind has a reason to touch the workspace any more: its queues are parked and
 * its events processed.
 */
export interface FencedTable {
  table: TenantTable;
  /** Which changes are refused. A list of columns refuses updates of these columns only. */
  insert?: boolean;
  update?: boolean | readonly string[];
  /** A condition on the deleted row, in addition to its workspace. The purge may always delete. */
  delete?: boolean | string;
}

const FUNCTION = 'refuse_write_of_moving_workspace';

const CREATE_FUNCTION = `
  create or replace function ${FUNCTION}() returns trigger language plpgsql as $$
  begin
    if tg_op = 'DELETE' and exists (select from workspace_purges p
                                     where p.id = old.workspace_id and p.finished_at is null) then
      return old;
    end if;
    raise exception 'the workspace is being moved' using errcode = '${WRITE_FENCED}';
  end $$`;

const UUID = /^[0-9a-f-]{36}$/;

function triggerName(workspaceId: string, kind: 'write' | 'delete'): string {
  return `fence_${workspaceId.replaceAll('-', '')}_${kind}`;
}

/** One table after another, so that writers wait for one lock at a time. Can be repeated. */
export async function fenceTables(
  pool: Pool,
  workspaceId: string,
  tables: readonly FencedTable[],
): Promise<void> {
  if (!UUID.test(workspaceId)) throw new Error('not the id of a workspace');
  await pool.query(
    `do $do$ begin
       if to_regproc('${FUNCTION}') is null then ${CREATE_FUNCTION}; end if;
     end $do$`,
  );
  for (const table of tables) {
    for (const statement of createTriggers(workspaceId, table)) {
      await withShortLock(pool, (client) => client.query(statement));
    }
  }
}

function createTriggers(workspaceId: string, fenced: FencedTable): string[] {
  const { table, insert, update } = fenced;
  const events = [
    ...(insert ? ['insert'] : []),
    ...(Array.isArray(update) ? [`update of ${update.join(', ')}`] : update ? ['update'] : []),
  ];
  const create = (kind: 'write' | 'delete', event: string, condition: string): string =>
    `create or replace trigger ${triggerName(workspaceId, kind)} before ${event} on ${table}
     for each row when (${condition}) execute function ${FUNCTION}()`;
  const more = typeof fenced.delete === 'string' ? ` and (${fenced.delete})` : '';
  return [
    ...(events.length > 0
      ? [create('write', events.join(' or '), `new.workspace_id = '${workspaceId}'`)]
      : []),
    ...(fenced.delete
      ? [create('delete', 'delete', `old.workspace_id = '${workspaceId}'${more}`)]
      : []),
  ];
}

/** Removes the triggers of the workspace, or those of some tables. */
export async function removeFence(
  pool: Pool,
  workspaceId: string,
  tables?: readonly FencedTable[],
): Promise<void> {
  for (const { name, table } of await findTriggers(pool, workspaceId)) {
    if (tables && !tables.some((one) => one.table === table)) continue;
    await withShortLock(pool, (client) =>
      client.query(`drop trigger if exists ${name} on ${table}`),
    );
  }
}

/** Those of partitions belong to the trigger of their parent. */
async function findTriggers(
  db: Queryable,
  workspaceId: string,
): Promise<{ name: string; table: string }[]> {
  const { rows } = await db.query<{ name: string; table: string }>(
    `select t.tgname as name, c.relname as table
       from pg_trigger t join pg_class c on c.oid = t.tgrelid
       join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = current_schema() and t.tgparentid = 0 and t.tgname = any($1)`,
    [[triggerName(workspaceId, 'write'), triggerName(workspaceId, 'delete')]],
  );
  return rows;
}

/**
 * While this waits for a lock, writers of the table wait behind it, so it gives up soon and tries again.
 * Later tries are longer: PostgreSQL cancels a vacuum that is in the way, but only after a second.
 */
const TRIES = ['100ms', '100ms', '200ms', '200ms', '1500ms', '200ms', '1500ms', '200ms', '1500ms'];
const PAUSE_MS = 200;

async function withShortLock(
  pool: Pool,
  work: (client: Queryable) => Promise<unknown>,
): Promise<void> {
  for (const [attempt, timeout] of TRIES.entries()) {
    try {
      await inTransaction(pool, async (client) => {
        await client.query(`set local lock_timeout = '${timeout}'`);
        await work(client);
      });
      return;
    } catch (error) {
      if (!isLockTimeout(error) || attempt === TRIES.length - 1) throw error;
      await sleep(PAUSE_MS);
    }
  }
}
