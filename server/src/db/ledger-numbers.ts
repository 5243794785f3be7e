import type pg from 'pg';

/**
 * Keeps the ledger's order across a move. Its numbers are those of PostgreSQL's transactions, which
 * begin anew where a dump is restored: without this all that happened before would vanish from the
 * feed, and what happens next would lie behind every reader. So our numbers are ahead of PostgreSQL's
 * by as much as puts them behind the history; cursors that readers hold stay good.
 *
 * Under the lock of the migrations. Answers with how far the numbers were moved, 0 as a rule.
 */
export async function continueNumbers(client: pg.ClientBase): Promise<number> {
  const { rows } = await client.query<{ exists: boolean }>(
    `select to_regproc('event_log_tx') is not null as exists`,
  );
  if (!rows[0]?.exists) return 0;
  const { next, newest, ahead } = await numbersOf(client);
  // Numbers of this cluster are below its next one, whatever still runs.
  if (newest < next) return 0;
  const moved = newest + 1 - next;
  await client.query(functionsAhead(ahead + moved));
  return moved;
}

interface Numbers {
  /** What the next transaction would get. */
  next: number;
  /** The largest that anything in the database has. */
  newest: number;
  /** How far ours are ahead of PostgreSQL's. */
  ahead: number;
}

/** Of one moment: one statement. */
async function numbersOf(client: pg.ClientBase): Promise<Numbers> {
  const { rows } = await client.query<Record<keyof Numbers, string>>(
    `with own as (
       select event_log_horizon() - pg_snapshot_xmin(pg_current_snapshot())::text::bigint as ahead)
     select own.ahead, pg_snapshot_xmax(pg_current_snapshot())::text::bigint + own.ahead as next,
            greatest(0, (select max(tx) from events), (select max(tx) from event_consumers),
                     (select max(since_tx) from webhooks)) as newest
       from own`,
  );
  const [row] = rows as [Record<keyof Numbers, string>];
  return { next: Number(row.next), newest: Number(row.newest), ahead: Number(row.ahead) };
}

function functionsAhead(by: number): string {
  return `
    create or replace function event_log_tx() returns bigint language sql stable
      return pg_current_xact_id()::text::bigint + ${by};
    create or replace function event_log_horizon() returns bigint language sql stable
      return pg_snapshot_xmin(pg_current_snapshot())::text::bigint + ${by};`;
}
