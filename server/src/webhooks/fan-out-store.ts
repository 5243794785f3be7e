import type { Mode } from '../accounts/tenant-scope.ts';
import type { Pool } from '../db/pool.ts';
import { sqlTime } from '../db/row-types.ts';

/**
 * From the ledger to deliveries, in one statement and so in one commit with the follower's place:
 * every event reaches every endpoint that wants it exactly once. The statement holds the follower's
 * row while it runs; a second node that comes by at that moment finds nothing to do. It reads as
 * readFeed does: in the order of (tx, id), below the oldest transaction that still runs.
 */

/** A delivery in this node's hands, with all that its body is made of. */
export interface LeasedRow {
  workspace_id: string;
  mode: Mode;
  webhook_id: string;
  event_id: string;
  cycle_attempts: number;
  revision: number;
  failing_since: number | null;
  type: string;
  created_at: number;
  sequence: number | null;
  /** The event's data as it was written; null when the event is past its retention. */
  data: string | null;
}

/** How much of each endpoint this node can take in now. */
export interface Rooms {
  /** For endpoints that are not named. */
  standard: number;
  byWebhook: readonly { id: string; room: number }[];
  total: number;
}

export interface LeaseTerms {
  nowMs: number;
  lease: number;
  leaseEndsAtMs: number;
}

const HORIZON = 'event_log_horizon()';

/**
 * Rows that this node has room for are born leased to it: no claim, no second look at the queue.
 * Rejected: reading events into the process and inserting from there (three times the cost a row),
 * and a notice in every writing statement (a global lock at each commit; see events/event-notifier.ts).
 */
const FAN_OUT = `
with place as (
    select tx, id from event_consumers where name = 'webhooks' for update skip locked),
batch as materialized (
    select e.* from place p cross join lateral (
        select workspace_id, mode, tx, id, type, created_at, sequence, data from events
         where (tx, id) > (p.tx, p.id) and tx < ${HORIZON}
         order by tx, id limit $1) e),
reached as (
    select tx, id from batch order by tx desc, id desc limit 1),
moved as (
    update event_consumers f set tx = r.tx, id = r.id from reached r where f.name = 'webhooks'),
rooms as (
    select * from json_to_recordset($2::json) as r(id uuid, room int)),
wanted as (
    select b.*, w.id as webhook_id, w.revision, w.failing_since,
           row_number() over (partition by w.id order by b.tx, b.id) as turn,
           row_number() over (order by b.tx, b.id) as turn_of_all
      from batch b join webhooks w on w.workspace_id = b.workspace_id and w.mode = b.mode
     where w.enabled and b.tx > w.since_tx
       and (b.type = any(w.events) or '*' = any(w.events)
         or split_part(b.type, '.', 1) || '.*' = any(w.events))),
sorted as materialized (
    select w.*, w.turn <= coalesce(r.room, $3::int) and w.turn_of_all <= $4::int as leased
      from wanted w left join rooms r on r.id = w.webhook_id),
made as (
    insert into webhook_deliveries (workspace_id, mode, webhook_id, event_id, event_tx, event_type,
                                    due_at, lease, created_at)
    select workspace_id, mode, webhook_id, id, tx, type,
           case when leased then $6::timestamptz else $5::timestamptz end,
           case when leased then $7::bigint end, $5
      from sorted)
select (select count(*) from batch)::int as seen, (select count(*) from sorted)::int as made,
       s.workspace_id, s.mode, s.webhook_id, s.id as event_id, 0 as cycle_attempts, s.revision,
       s.failing_since, s.type, s.created_at, s.sequence, s.data::text as data
  from (select) one left join sorted s on s.leased`;

export async function fanOut(
  pool: Pool,
  eventsMax: number,
  rooms: Rooms,
  terms: LeaseTerms,
): Promise<{ seen: number; made: number; leased: LeasedRow[] }> {
  const { rows } = await pool.query<LeasedRow & { seen: number; made: number }>({
    name: 'webhooks-fan-out',
    text: FAN_OUT,
    values: [
      eventsMax,
      JSON.stringify(rooms.byWebhook),
      rooms.standard,
      rooms.total,
      sqlTime(terms.nowMs),
      sqlTime(terms.leaseEndsAtMs),
      terms.lease,
    ],
  });
  const { seen = 0, made = 0 } = rows[0] ?? {};
  return { seen, made, leased: rows.filter((row) => row.event_id !== null) };
}

export async function anyEnabled(pool: Pool): Promise<boolean> {
  const { rows } = await pool.query<{ any: boolean }>({
    name: 'webhooks-any-enabled',
    text: 'select exists (select from webhooks where enabled) as any',
  });
  return rows[0]?.any ?? false;
}

/**
 * Without endpoints nothing is read at all: the place moves to the edge of what is decided. The edge
 * and the absence of endpoints are of one snapshot, so an event that comes after the first endpoint
 * lies beyond the edge.
 */
export async function skipAhead(pool: Pool): Promise<void> {
  await pool.query({
    name: 'webhooks-skip-ahead',
    text: `update event_consumers set tx = ${HORIZON} - 1, id = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
      where name = 'webhooks' and tx < ${HORIZON} - 1
        and not exists (select from webhooks where enabled)`,
  });
}
