import type pg from 'pg';
import type { Log } from '../../lib/log.ts';

/**
 * Indexes on existing partitions that a migration takes over. They are built before it without blocking
 * writes, because servers of the previous release continue to send, and large partitions take minutes.
 */
interface PartitionIndex {
  table: string;
  /** Follows the name of the partition. */
  suffix: string;
  unique: boolean;
  /** Columns and condition. */
  definition: string;
}

const BUILT_BEFORE: Readonly<Record<string, readonly PartitionIndex[]>> = {
  '0027-message-keys.sql': [
    { table: 'deliveries', suffix: 'message', unique: true, definition: '(message_id, ordinal)' },
    {
      table: 'attempts',
      suffix: 'message',
      unique: true,
      definition: '(message_id, ordinal, number)',
    },
    { table: 'message_contents', suffix: 'message', unique: true, definition: '(id)' },
    {
      table: 'events',
      suffix: 'message',
      unique: false,
      definition: '(message_id, id) where message_id is not null',
    },
  ],
};

/** Can be interrupted and repeated at any point. */
export async function buildPartitionIndexes(
  client: pg.ClientBase,
  migration: string,
  log: Log,
): Promise<void> {
  for (const index of BUILT_BEFORE[migration] ?? []) {
    for (const partition of await partitionsWithRows(client, index.table)) {
      await buildIndex(client, partition, index, log);
    }
  }
}

/** The migration itself builds those of empty partitions. */
async function partitionsWithRows(client: pg.ClientBase, table: string): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
      where i.inhparent = to_regclass($1) and c.relkind = 'r' and not i.inhdetachpending
        and pg_relation_size(c.oid) > 0
      order by c.relname`,
    [table],
  );
  return rows.map(({ name }) => name);
}

async function buildIndex(
  client: pg.ClientBase,
  partition: string,
  { suffix, unique, definition }: PartitionIndex,
  log: Log,
): Promise<void> {
  const name = `${partition}_${suffix}`;
  const { rows } = await client.query<{ valid: boolean }>(
    'select indisvalid as valid from pg_index where indexrelid = to_regclass($1)',
    [name],
  );
  const [existing] = rows;
  if (existing?.valid) return;
  // A build that did not end leaves an index that cannot be used.
  if (existing) await client.query(`drop index concurrently ${name}`);
  log.info({ index: name }, 'building an index before a migration; servers continue to send');
  const kind = unique ? 'unique index' : 'index';
  try {
    await client.query(`create ${kind} concurrently ${name} on ${partition} ${definition}`);
  } catch (error) {
    // Retention has dropped the partition meanwhile.
    if ((error as { code?: unknown }).code !== UNDEFINED_TABLE) throw error;
  }
}

const UNDEFINED_TABLE = '42P01';
