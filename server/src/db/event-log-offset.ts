import type pg from 'pg';
import { isConnectionError } from './connections/database-errors.ts';
import { LOCK_CLASS_IN_SCHEMA, LOCKS } from './lock-numbers.ts';

/**
 * Keeps the event log in order where PostgreSQL's transaction ids, which number it, do not: they start
 * over when a dump is restored into a new cluster, and some are issued twice when a standby is promoted
 * that had not received them. New events would sort before those that readers have seen, and be
 * skipped. The functions that number events therefore add an offset. Cursors held by clients stay
 * valid.
 *
 * This function handles a restored dump: it puts new events after the history. Must run under the
 * migration lock. Returns by how much the offset was raised, usually 0.
 */
export async function updateEventLogOffset(client: pg.ClientBase): Promise<number> {
  const { rows } = await client.query<{ exists: boolean }>(
    `select to_regproc('event_log_tx') is not null as exists`,
  );
  if (!rows[0]?.exists) return 0;
  const timeline = await readLogTimeline(client);
  if (timeline?.recorded === null) await client.query(recordTimeline(timeline.current));
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

const OFFSET = 'event_log_horizon() - pg_snapshot_xmin(pg_current_snapshot())::text::bigint';

/** Uses a single statement, for a consistent snapshot. */
async function readLogNumbers(client: pg.ClientBase): Promise<LogNumbers> {
  const { rows } = await client.query<Record<keyof LogNumbers, string>>(
    `with own as (select ${OFFSET} as "offset")
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

/** The timeline of which the event log has numbers, null before migrations, and that of this server. */
export interface LogTimeline {
  recorded: string | null;
  current: string;
}

/** The timeline is in the description of the function, which costs nothing where events are written. */
export const READ_LOG_TIMELINE = `
  select obj_description(to_regproc('event_log_tx')::oid, 'pg_proc') as recorded,
         case when pg_is_in_recovery() then '' else
           'timeline ' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8) end as current`;

/**
 * Undefined where a provider refuses functions of the write-ahead log, because its storage is not
 * PostgreSQL's own. Such storage loses no commits in a failover.
 */
async function readLogTimeline(client: pg.ClientBase): Promise<LogTimeline | undefined> {
  try {
    return (await client.query<LogTimeline>(READ_LOG_TIMELINE)).rows[0];
  } catch (error) {
    if (isConnectionError(error)) throw error;
    return undefined;
  }
}

function recordTimeline(timeline: string): string {
  return `comment on function event_log_tx() is '${timeline}'`;
}

/** More transactions than any standby can be behind. */
const TIMELINE_STEP = 2 ** 30;

/**
 * Raises the offset after a promotion, which begins a new timeline. Every connection checks the
 * timeline before its first statement, and none survives a promotion: those to standbys are refused
 * (primary-selector.ts). So no event is numbered before. Returns false if another connection was first.
 */
export async function continueOnTimeline(client: pg.ClientBase): Promise<boolean> {
  await client.query('begin');
  try {
    await client.query(
      `select pg_advisory_xact_lock(${LOCK_CLASS_IN_SCHEMA}, ${LOCKS.migrations})`,
    );
    const [timeline] = (await client.query<LogTimeline>(READ_LOG_TIMELINE)).rows;
    const isNew = timeline !== undefined && timeline.recorded !== timeline.current;
    if (isNew) {
      const { rows } = await client.query<{ offset: string }>(`select ${OFFSET} as "offset"`);
      await client.query(functionsWithOffset(Number(rows[0]?.offset) + TIMELINE_STEP));
      await client.query(recordTimeline(timeline.current));
    }
    await client.query('commit');
    return isNew;
  } catch (error) {
    await client.query('rollback').catch(() => {});
    throw error;
  }
}

/**
 * Makes new events of a running installation sort after the given number, which events of another one
 * have: they are moved here. The lock waits for transactions that have written events, so that none of
 * them commits an event with an old number behind readers that are past the new ones; transactions that
 * have not written any will use the new numbers. Requires a transaction.
 */
export async function continueLogAfter(client: pg.ClientBase, tx: number): Promise<void> {
  // While this waits, writers of events wait behind it.
  await client.query(`set local lock_timeout = '2s'`);
  await client.query('lock table events in share row exclusive mode');
  const { rows } = await client.query<Record<'horizon' | 'offset', string>>(
    `select event_log_horizon() as horizon, ${OFFSET} as "offset"`,
  );
  const [horizon, offset] = [Number(rows[0]?.horizon), Number(rows[0]?.offset)];
  if (horizon <= tx) await client.query(functionsWithOffset(offset + tx + 1 - horizon));
}
