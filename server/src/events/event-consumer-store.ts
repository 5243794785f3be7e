import type { Pool, Queryable } from '../db/connections/pool.ts';
import { LAST_UUID, uuidFloor } from '../lib/ids.ts';
import type { EventPosition } from './events-store.ts';

/**
 * The positions up to which consumers have processed the event log, except chunks that are in progress
 * (event-chunk-store.ts). The migrations insert the rows.
 */

export type EventConsumer = 'webhooks' | 'statistics';

/** The consumer has processed all events up to here. */
export async function readConsumerPosition(
  pool: Pool,
  consumer: EventConsumer,
): Promise<EventPosition> {
  const { rows } = await pool.query<EventPosition>({
    name: 'read-consumer-position',
    text: `select p.* from event_consumers c cross join lateral ${PROCESSED} where c.name = $1`,
    values: [consumer],
  });
  return rows[0] as EventPosition;
}

/** The position `p` up to which the consumer `c` has processed all events. */
const PROCESSED = `(
  select tx, id from (
    select c.tx, c.id union all
    select after_tx, after_id from event_chunks where consumer = c.name) starts
   order by tx, id limit 1) p`;

/** Whether the consumer `c` has yet to process the event `e`. */
const IS_UNPROCESSED = `(
  (e.tx, e.id) > (c.tx, c.id) or exists (
    select from event_chunks k where k.consumer = c.name
       and (e.tx, e.id) > (k.after_tx, k.after_id) and (e.tx, e.id) <= (k.last_tx, k.last_id)))`;

/** The same for a statement about one consumer. */
export function isUnprocessed(consumer: EventConsumer, event: string): string {
  return `exists (select from event_consumers c cross join lateral (
    select ${event}.tx, ${event}.id) e where c.name = '${consumer}' and ${IS_UNPROCESSED})`;
}

/**
 * A table expression: events of a workspace that a consumer has yet to process, at most `limit`. Each mode by
 * itself, so that they are found by key, however many events of others there are.
 */
export function unprocessedEvents(
  consumer: EventConsumer,
  { workspaceId, limit }: { workspaceId: string; limit: number },
): string {
  return `(
    select e.* from (
        select after_tx, after_id, last_tx, last_id from event_chunks where consumer = '${consumer}'
        union all
        select c.tx, c.id, ${LAST_POSITION} from event_consumers c where c.name = '${consumer}'
      ) part (after_tx, after_id, last_tx, last_id)
      cross join unnest(enum_range(null::mode)) m (mode)
      cross join lateral (
        select * from events e where e.workspace_id = ${workspaceId} and e.mode = m.mode
           and (e.tx, e.id) > (part.after_tx, part.after_id)
           and (e.tx, e.id) <= (part.last_tx, part.last_id)
         order by e.workspace_id, e.mode, e.tx, e.id limit ${limit}) e
     limit ${limit})`;
}

const LAST_POSITION = `9223372036854775807, '${LAST_UUID}'::uuid`;

/**
 * When the oldest event was committed that a consumer has not processed; null if it has processed all.
 * Webhooks are left out without an endpoint, because the log is not read for them then.
 */
export async function oldestUnprocessed(
  pool: Pool,
): Promise<{ consumer: EventConsumer; createdAtMs: number | null }[]> {
  const { rows } = await pool.query<{ consumer: EventConsumer; createdAtMs: number | null }>({
    name: 'event-consumers-oldest-unprocessed',
    text: `select c.name as consumer, (
        select e.created_at from events e where (e.tx, e.id) > (p.tx, p.id)
         order by e.tx, e.id limit 1) as "createdAtMs"
      from event_consumers c cross join lateral ${PROCESSED}
     where c.name <> 'webhooks' or exists (select from webhooks where enabled)`,
  });
  return rows;
}

export interface ConsumerMove {
  /** SQL expressions of the new position. */
  tx: string;
  id: string;
  /** A table expression that these expressions refer to. */
  from?: string;
  /** A condition under which the position moves. */
  when?: string;
}

/**
 * Part of the statement that processes a batch, so that the position moves in the same commit as its
 * effects.
 */
export function moveConsumer(
  consumer: EventConsumer,
  { tx, id, from, when }: ConsumerMove,
): string {
  return `update event_consumers c set tx = ${tx}, id = ${id}
    ${from === undefined ? '' : `from ${from}`}
    where c.name = '${consumer}' ${when === undefined ? '' : `and ${when}`}`;
}

/** The largest number of an event of a workspace; 0 if there is none. */
export async function newestEventTx(db: Queryable, workspaceId: string): Promise<number> {
  const { rows } = await db.query<{ tx: number | null }>(
    `select greatest((select max(tx) from events where workspace_id = $1 and mode = 'live'),
                     (select max(tx) from events where workspace_id = $1 and mode = 'test')) as tx`,
    [workspaceId],
  );
  return rows[0]?.tx ?? 0;
}

/** Whether all consumers have processed all events of a workspace. */
export async function areEventsConsumed(db: Queryable, workspaceId: string): Promise<boolean> {
  const { rows } = await db.query<{ left: boolean }>(
    `select exists (
       select from event_consumers c cross join lateral ${PROCESSED}
         join events e on (e.tx, e.id) > (p.tx, p.id)
        where e.workspace_id = $1 and ${IS_UNPROCESSED}) as left`,
    [workspaceId],
  );
  return !rows[0]?.left;
}

/**
 * Moves the consumers over a gap in the numbers of the log, of which `last` is the end, once they have
 * processed everything before it: events with numbers in the gap, which were processed elsewhere, are not
 * processed again. The id of a position contains the time up to which all events are processed, which is
 * now. Returns whether all consumers are there.
 */
export async function skipConsumersTo(
  db: Queryable,
  last: number,
  nowMs: number,
): Promise<boolean> {
  await db.query(
    `update event_consumers c set tx = $1, id = $2
      where c.tx < $1 and not exists (
        select from events e where (e.tx, e.id) > (c.tx, c.id) and e.tx < $1)`,
    [last, uuidFloor(nowMs)],
  );
  const { rowCount } = await db.query(
    `select from event_consumers c cross join lateral ${PROCESSED} where p.tx < $1`,
    [last],
  );
  return rowCount === 0;
}
