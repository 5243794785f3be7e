import { inTransaction, type Pool, type PoolClient, type Queryable } from '../connections/pool.ts';

/**
 * Copies the rows of a workspace to another database. Rows are compared in ranges of their primary key
 * by count and checksum, and only ranges that differ are copied, so the same code copies everything at
 * first, what has changed later, and verifies. It can be interrupted and repeated at any point.
 */
export interface CopiedTable {
  name: string;
  columns: readonly Column[];
  /** The columns of the primary key after `workspace_id`, or those of the messages. */
  key: readonly Column[];
  /** The column with the message ID, if rows are found through the messages of the workspace. */
  messageId?: string;
  /** The rows in a range: fewer where they may be large. */
  rowsMax: number;
  /** Only these rows are copied and compared. */
  only?: string;
}

interface Column {
  name: string;
  type: string;
}

/** The rows of a table in a range of keys. */
interface Range {
  table: CopiedTable;
  workspaceId: string;
  /** Exclusive; undefined at the beginning. */
  from: readonly string[] | undefined;
  /** Inclusive; undefined at the end. */
  to: readonly string[] | undefined;
}

export interface CopiedRows {
  /** How many rows the source has. */
  rows: number;
  /** How many of them were copied, because their range differed. */
  copied: number;
  /** In how many ranges both sides differed even after copying, because rows changed meanwhile. */
  unequal: number;
}

const ROWS_MAX = 1_000;
const LARGE_ROWS_MAX: Readonly<Record<string, number>> = {
  message_attachments: 1,
  message_contents: 100,
  inbound_contents: 1,
  contact_import_chunks: 20,
  request_log: 200,
};

/** Tables whose primary key starts with the message ID. Their messages are copied before them. */
const MESSAGE_ID: Readonly<Record<string, string>> = {
  deliveries: 'message_id',
  attempts: 'message_id',
  message_contents: 'id',
};

/** Values are compared and copied as text, which depends on these settings. */
const TEXT_FORMAT = `set datestyle = 'ISO, YMD'; set intervalstyle = 'postgres';
  set bytea_output = 'hex'; set extra_float_digits = 1; set timezone = 'UTC'`;

/** Runs the work on a connection whose values are formatted as those of the other database. */
export async function withTextFormat<T>(
  pool: Pool,
  work: (client: PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  try {
    await client.query(TEXT_FORMAT);
    return await work(client);
  } finally {
    client.release(true);
  }
}

/** The same in one transaction. */
export function inTextTransaction<T>(
  pool: Pool,
  work: (client: PoolClient) => Promise<T>,
): Promise<T> {
  return inTransaction(pool, async (client) => {
    await client.query(TEXT_FORMAT.replaceAll('set ', 'set local '));
    return work(client);
  });
}

export async function describeTable(db: Queryable, name: string): Promise<CopiedTable> {
  const columns = await readColumns(db, name);
  const messageId = MESSAGE_ID[name];
  return {
    name,
    columns,
    key: keyOf(messageId === undefined ? columns : await readColumns(db, 'messages')),
    ...(messageId !== undefined && { messageId }),
    rowsMax: LARGE_ROWS_MAX[name] ?? ROWS_MAX,
  };
}

type KeyColumn = Column & { key: number | null };

function keyOf(columns: readonly KeyColumn[]): Column[] {
  return columns
    .filter((column) => column.key !== null && column.name !== 'workspace_id')
    .sort((a, b) => Number(a.key) - Number(b.key));
}

async function readColumns(db: Queryable, name: string): Promise<KeyColumn[]> {
  const { rows } = await db.query<KeyColumn>(
    `select a.attname as name, format_type(a.atttypid, a.atttypmod) as type,
            array_position(i.indkey::int2[], a.attnum) as key
       from pg_attribute a
       left join pg_index i on i.indrelid = a.attrelid and i.indisprimary
      where a.attrelid = $1::regclass and a.attnum > 0 and not a.attisdropped
      order by a.attnum`,
    [name],
  );
  return rows;
}

/**
 * Makes the rows of the workspace at the target equal to those of the source. If a row has taken the
 * place of another one in a unique index since it was copied, the table is copied from the beginning.
 */
export async function copyTable(
  source: Queryable,
  target: Queryable,
  table: CopiedTable,
  workspaceId: string,
  onProgress: (rows: number) => void = () => {},
): Promise<CopiedRows> {
  try {
    return await copyRanges(source, target, table, workspaceId, onProgress);
  } catch (error) {
    if ((error as { code?: unknown }).code !== UNIQUE_VIOLATION) throw error;
    await deleteRange(target, { table, workspaceId, from: undefined, to: undefined });
    return copyRanges(source, target, table, workspaceId, onProgress);
  }
}

const UNIQUE_VIOLATION = '23505';

async function copyRanges(
  source: Queryable,
  target: Queryable,
  table: CopiedTable,
  workspaceId: string,
  onProgress: (rows: number) => void,
): Promise<CopiedRows> {
  const result = { rows: 0, copied: 0, unequal: 0 };
  let from: readonly string[] | undefined;
  do {
    const to: readonly string[] | undefined = await endOfRange(source, table, workspaceId, from);
    const range: Range = { table, workspaceId, from, to };
    const { here, there, isEqual } = await compare(source, target, range);
    result.rows += here.rows;
    if (!isEqual) {
      if (there.rows > 0) await deleteRange(target, range);
      if (here.rows > 0) await insertRows(target, table, await readRange(source, range));
      result.copied += Math.max(here.rows, there.rows);
      if (!(await compare(source, target, range)).isEqual) result.unequal += 1;
    }
    onProgress(result.rows);
    from = to;
  } while (from);
  return result;
}

/** The last key of the next range; undefined if it is the last range. */
async function endOfRange(
  db: Queryable,
  table: CopiedTable,
  workspaceId: string,
  from: readonly string[] | undefined,
): Promise<readonly string[] | undefined> {
  if (table.key.length === 0) return undefined;
  const { condition, values } = keysWithin({ table, workspaceId, from, to: undefined });
  const order = table.key.map(({ name }) => name).join(', ');
  const { rows } = await db.query<{ key: string[] }>(
    `select array[${table.key.map(({ name }) => `${name}::text`).join(', ')}] as key
       from ${table.messageId ? 'messages' : table.name} where ${condition} order by ${order}
     offset ${table.rowsMax - 1} limit 1`,
    values,
  );
  return rows[0]?.key;
}

async function compare(source: Queryable, target: Queryable, range: Range) {
  const [here, there] = await Promise.all([checksum(source, range), checksum(target, range)]);
  return { here, there, isEqual: here.rows === there.rows && here.sum === there.sum };
}

async function checksum(db: Queryable, range: Range): Promise<{ rows: number; sum: string }> {
  const { condition, values } = within(range);
  const { rows } = await db.query<{ rows: number; sum: string }>(
    `select count(*)::int as rows,
            coalesce(sum(hashtextextended(t::text, 0)::numeric), 0)::text as sum
       from ${range.table.name} t where ${condition}`,
    values,
  );
  return rows[0] as { rows: number; sum: string };
}

/** Every value as text, in the order of the table's columns. */
async function readRange(db: Queryable, range: Range): Promise<TextRow[]> {
  const { condition, values } = within(range);
  return readRows(db, range.table, condition, values);
}

export type TextRow = Record<string, string | null>;

export async function readRows(
  db: Queryable,
  { name, columns }: CopiedTable,
  condition: string,
  values: readonly unknown[],
): Promise<TextRow[]> {
  const list = columns.map((column) => `t.${column.name}::text as ${column.name}`);
  const { rows } = await db.query<TextRow>(
    `select ${list.join(', ')} from ${name} t where ${condition}`,
    [...values],
  );
  return rows;
}

/** Returns how many rows were inserted. */
export async function insertRows(
  db: Queryable,
  { name, columns }: CopiedTable,
  rows: readonly TextRow[],
  { skipExisting = false } = {},
): Promise<number> {
  if (rows.length === 0) return 0;
  const names = columns.map((column) => column.name);
  const { rowCount } = await db.query(
    `insert into ${name} (${names.join(', ')})
     select ${columns.map((column) => `r.${column.name}::${column.type}`).join(', ')}
       from unnest(${columns.map((_, at) => `$${at + 1}::text[]`).join(', ')}) as r(${names.join(', ')})
     ${skipExisting ? 'on conflict do nothing' : ''}`,
    names.map((column) => rows.map((row) => row[column] ?? null)),
  );
  return rowCount ?? 0;
}

async function deleteRange(db: Queryable, range: Range): Promise<void> {
  const { condition, values } = within(range);
  await db.query(`delete from ${range.table.name} where ${condition}`, values);
}

interface Condition {
  condition: string;
  values: string[];
}

/** The condition for rows. */
function within(range: Range): Condition {
  const { only, messageId } = range.table;
  const { condition, values } = keysWithin(range);
  const rows = messageId
    ? `workspace_id = $1 and ${messageId} in (select id from messages where ${condition})`
    : condition;
  return { condition: only === undefined ? rows : `${rows} and ${only}`, values };
}

/** The condition for the rows that have the keys of the range. */
function keysWithin({ table, workspaceId, from, to }: Range): Condition {
  const names = table.key.map(({ name }) => name).join(', ');
  const values = [workspaceId];
  const keyOf = (key: readonly string[]): string => {
    const casts = table.key.map(({ type }, at) => `$${values.length + at + 1}::${type}`);
    values.push(...key);
    return casts.join(', ');
  };
  const conditions = ['workspace_id = $1'];
  if (from) conditions.push(`(${names}) > (${keyOf(from)})`);
  if (to) conditions.push(`(${names}) <= (${keyOf(to)})`);
  return { condition: conditions.join(' and '), values };
}
