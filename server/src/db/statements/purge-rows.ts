import { uuidRange } from '../../lib/ids.ts';
import { channel } from '../connections/notification-channels.ts';
import type { Queryable } from '../connections/pool.ts';
import type { Tables } from '../schema/tables.ts';

/** The tables whose rows belong to a workspace. */
export type TenantTable = {
  [Table in keyof Tables]: 'workspace_id' extends keyof Tables[Table] ? Table : never;
}[keyof Tables];

/** How the rows of a deleted workspace are removed from one table. Its owner exports one for each. */
export interface PurgedTable<Table extends TenantTable = TenantTable> {
  table: Table;
  /** The table through which its rows are found. That one keeps a row for as long as this one has any of it. */
  foundThrough?: TenantTable;
  /** Deletes the next rows after a key, in the caller's transaction. */
  deleteRows(db: Queryable, workspaceId: string, after: RowKey | undefined): Promise<PurgedRows>;
}

export interface PurgedRows {
  /** The number of deleted rows by table. */
  deleted: Readonly<Record<string, number>>;
  /** Where to continue; undefined at the end of the table. */
  next: RowKey | undefined;
}

/** The values of the key columns of a row. */
export type RowKey = Readonly<Record<string, string | number>>;

/** Few enough that locks are short, and that a workspace with large rows does not stall others. */
const ROWS_MAX = 1_000;

export interface RowPurge<Table extends TenantTable> {
  table: Table;
  /** The beginning of the statement, with the alias `d`: only its owner writes a table. */
  delete: string;
  /** The columns that follow `workspace_id` in an index of the table, with their types. */
  key: readonly string[];
  /** The column that the table is partitioned by, if it is. */
  partitionedBy?: string;
  /** The number of rows in one transaction, if they may be large. */
  rowsMax?: number;
  /** The caches of this channel are invalidated when rows were deleted. */
  channel?: 'accounts' | 'domains' | 'streams' | 'templates';
}

/**
 * Deletes rows in the order of a key and in transactions of bounded size. Locked rows are skipped and
 * left for the next pass, never waited for: the workers lock many rows in their own order. Each
 * transaction continues after the last key, so none reads again what others have deleted. Locking and
 * deleting are two statements: see docs/decisions/0048-lock-and-update-in-two-statements.md.
 */
export function purgeRows<Table extends TenantTable>(purge: RowPurge<Table>): PurgedTable<Table> {
  const { table, key, partitionedBy, rowsMax = ROWS_MAX } = purge;
  const names = key.map((column) => column.split(' ', 1)[0] as string);
  const casts = key.map((column, at) => `$${at + 2}::${column.slice(column.indexOf(' ') + 1)}`);
  const find = (condition: string): string =>
    `select coalesce(json_agg(k), '[]')::text as keys from (
       select ${names.join(', ')} from ${table} where workspace_id = $1 ${condition}
       order by ${names.join(', ')} limit ${rowsMax} for update skip locked) k`;
  const notify = purge.channel && `select pg_notify(${channel(purge.channel)}, $1)`;
  const findFirst = find('');
  const findNext = find(`and (${names.join(', ')}) > (${casts.join(', ')})`);
  const remove = `${purge.delete} using json_to_recordset($2::json) as r(${key.join(', ')})
    where d.workspace_id = $1 and ${names.map((name) => `d.${name} = r.${name}`).join(' and ')}
    ${partitionedBy === undefined ? '' : `and d.${partitionedBy} between $3 and $4`}`;
  return {
    table,
    async deleteRows(db, workspaceId, after) {
      const { rows } = after
        ? await db.query<{ keys: string }>(findNext, [
            workspaceId,
            ...names.map((name) => after[name]),
          ])
        : await db.query<{ keys: string }>(findFirst, [workspaceId]);
      const json = rows[0]?.keys ?? '[]';
      const keys = JSON.parse(json) as RowKey[];
      if (keys.length === 0) return { deleted: {}, next: undefined };
      const range =
        partitionedBy === undefined ? [] : uuidRange(keys.map((one) => String(one[partitionedBy])));
      const { rowCount } = await db.query(remove, [workspaceId, json, ...range]);
      if (notify) await db.query(notify, [workspaceId]);
      return {
        deleted: { [table]: rowCount ?? 0 },
        next: keys.length < rowsMax ? undefined : keys.at(-1),
      };
    },
  };
}

/** Whether any of the tables has a row of the workspace, locked or not. */
export async function anyRowLeft(
  db: Queryable,
  tables: readonly TenantTable[],
  workspaceId: string,
): Promise<boolean> {
  const exists = tables.map((table) => `exists (select from ${table} where workspace_id = $1)`);
  const { rows } = await db.query<{ left: boolean }>(`select ${exists.join(' or ')} as left`, [
    workspaceId,
  ]);
  return rows[0]?.left ?? false;
}
