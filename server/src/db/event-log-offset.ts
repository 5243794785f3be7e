import type pg from 'pg';

/**
 * Keeps the event log in order after a dump is restored elsewhere. The log is numbered by PostgreSQL's
 * transaction ids, which start over in a new cluster: new events would sort before the restored ones,
 * and no consumer would see them. The functions that number events therefore add an offset that puts
 * new events after the history. Cursors held by clients stay valid.
 *
 * Must run under the migration lock. Returns by how much the offset was raised, usually 0.
 */
export async function updateEventLogOffset(client: pg.ClientBase): Promise<number> {
  const { rows } = await client.query<{ exists: boolean }>(
    `select to_regproc('event_log_tx') is not null as exists`,
  );
  if (!rows[0]?.exists) return 0;
  const { next, newest, offset } = await readLogNumbers(client);
  // All numbers of this cluster are below its next one.
  if (newest < next) return 0;
  const raisedBy = newest + 1 - next;
  await client.query(functionsWithOffset(offset + raisedBy));
  return raisedBy;
}

interface LogNumbers {
  /** The number of the next transaction. */
  next: number;
  /** The largest number in the database. */
  newest: number;
  /** The current offset from PostgreSQL's numbers. */
  offset: number;
}

/** Uses a single statement, for a consistent snapshot. */
async function readLogNumbers(client: pg.ClientBase): Promise<LogNumbers> {
  const { rows } = await client.query<Record<keyof LogNumbers, string>>(
    `with own as (
       select event_log_horizon() - pg_snapshot_xmin(pg_current_snapshot())::text::bigint as "offset")
     select own."offset",
            pg_snapshot_xmax(pg_current_snapshot())::text::bigint + own."offset" as next,
            greatest(0, (select max(tx) from events), (select max(tx) from event_consumers),
                     (select max(since_tx) from webhooks)) as newest
       from own`,
  );
  const [row] = rows as [Record<keyof LogNumbers, string>];
  return { next: Number(row.next), newest: Number(row.newest), offset: Number(row.offset) };
}

function functionsWithOffset(offset: number): string {
  return `
    create or replace function event_log_tx() returns bigint language sql stable
      return pg_current_xact_id()::text::bigint + ${offset};
    create or replace function event_log_horizon() returns bigint language sql stable
      return pg_snapshot_xmin(pg_current_snapshot())::text::bigint + ${offset};`;
}
