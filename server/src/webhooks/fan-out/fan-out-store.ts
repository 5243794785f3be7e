import type { Pool } from '../../db/connections/pool.ts';
import { sqlTime } from '../../db/schema/row-types.ts';
import type { EventsRow, WebhookDeliveriesRow, WebhooksRow } from '../../db/schema/tables.ts';
import {
  chunkParameters,
  dropChunks,
  type EventChunk,
  finishChunk,
  isChunkDue,
  takeChunk,
  takeOverChunk,
} from '../../events/event-chunk-store.ts';
import { moveConsumer } from '../../events/event-consumer-store.ts';
import { HORIZON } from '../../events/events-store.ts';
import { LAST_UUID } from '../../lib/ids.ts';
import type { LeaseTerms } from '../../queue/lease.ts';
import { subscribesTo } from '../webhook-store.ts';

/**
 * Turns events into webhook deliveries, in one statement and thus in one commit with the consumer's
 * position: every event reaches every subscribed endpoint exactly once. Those that this node has no
 * capacity for are set aside (webhook-backlog-store.ts). It reads as readFeed does: in the order of
 * (tx, id), below the oldest running transaction. Nodes that have fallen behind divide the log into
 * chunks (events/event-chunk-store.ts).
 */

/** A delivery leased by this node, with everything its body is made of. */
export interface LeasedRow
  extends Pick<
      WebhookDeliveriesRow,
      'workspace_id' | 'mode' | 'webhook_id' | 'event_id' | 'attempts' | 'cycle_attempts'
    >,
    Pick<WebhooksRow, 'revision' | 'failing_since'>,
    Pick<EventsRow, 'type' | 'created_at' | 'sequence'> {
  /** The event's data as stored; null when the event is past its retention period. */
  data: string | null;
}

/** How many deliveries this node can take. */
export interface FanOutCapacity {
  total: number;
  /** For endpoints that are not listed. */
  defaultPerEndpoint: number;
  perEndpoint: readonly { id: string; capacity: number }[];
  defaultPerWorkspace: number;
  perWorkspace: readonly { id: string; capacity: number }[];
}

/** Everything is set aside. */
export const NO_CAPACITY: FanOutCapacity = {
  total: 0,
  defaultPerEndpoint: 0,
  perEndpoint: [],
  defaultPerWorkspace: 0,
  perWorkspace: [],
};

/** Bytes as stored. Only leased events are read into the process, so this is generous. */
const CHUNK_BYTES_MAX = 64 * 2 ** 20;

/**
 * Rows are leased on insert: no claim, no second lookup in the queue. Rejected: a row for each event
 * that waits, which its claim then updates (45 µs and 560 bytes of WAL); reading events into the process
 * and inserting from there (three times the cost per row); and a notification in every writing
 * statement (a global lock at each commit; see events/event-notifier.ts).
 */
const fanOutOf = (batch: string): string => `
with ${batch},
capacity as (
    select * from json_to_recordset($2::json) as r(id uuid, capacity int)),
workspace_capacity as (
    select * from json_to_recordset($8::json) as r(id uuid, capacity int)),
wanted as (
    select b.*, w.id as webhook_id, w.revision, w.failing_since,
           row_number() over (partition by w.id order by b.tx, b.id) as turn
      from batch b join webhooks w on w.workspace_id = b.workspace_id and w.mode = b.mode
     where w.enabled and b.tx > w.since_tx
       and ${subscribesTo('b')}),
-- Each limit counts only what the one before it lets through, so that no endpoint takes the turns
-- of another, and no workspace.
within_endpoint as (
    select w.*, w.turn <= coalesce(r.capacity, $3::int) as fits_endpoint
      from wanted w left join capacity r on r.id = w.webhook_id),
within_workspace as (
    select e.*, e.fits_endpoint and coalesce(o.capacity, $9::int) >=
             row_number() over (partition by e.workspace_id, e.fits_endpoint order by e.tx, e.id)
             as fits_workspace
      from within_endpoint e left join workspace_capacity o on o.id = e.workspace_id),
sorted as materialized (
    select f.*, f.fits_workspace and $4::int >=
             row_number() over (partition by f.fits_workspace order by f.tx, f.id) as leased
      from within_workspace f),
made as (
    insert into webhook_deliveries (workspace_id, mode, webhook_id, event_id, event_tx, event_type,
                                    due_at, lease, created_at)
    select workspace_id, mode, webhook_id, id, tx, type, $6::timestamptz, $7::bigint, $5::timestamptz
      from sorted where leased),
-- The leased events of an endpoint come before its others, so these are one part of the log.
set_aside as (
    insert into webhook_backlogs (workspace_id, mode, webhook_id, first_tx, first_id, last_tx,
                                  last_id, events, due_at)
    select workspace_id, mode, webhook_id, min(tx), (array_agg(id order by tx, id))[1], max(tx),
           (array_agg(id order by tx desc, id desc))[1], count(*), $5::timestamptz
      from sorted where not leased group by workspace_id, mode, webhook_id)
select (select count(*) from batch)::int as seen, (select count(*) from sorted)::int as made,
       ${isChunkDue("'webhooks'")} as chunk_due,
       s.workspace_id, s.mode, s.webhook_id, s.id as event_id, 0 as attempts, 0 as cycle_attempts,
       s.revision, s.failing_since, s.type, s.created_at, s.sequence, s.data::text as data
  from (select) one left join sorted s on s.leased`;

const EVENT = 'workspace_id, mode, tx, id, type, created_at, sequence, data';

/** The next events. Locks the position, so a second node skips it meanwhile. */
const NEXT_BATCH = `place as (
    select tx, id from event_consumers where name = 'webhooks' for update skip locked),
batch as materialized (
    select e.* from place p cross join lateral (
        select ${EVENT} from events where (tx, id) > (p.tx, p.id) and tx < ${HORIZON}
         order by tx, id limit $1) e),
reached as (
    select tx, id from batch order by tx desc, id desc limit 1),
moved as (
    ${moveConsumer('webhooks', { tx: 'r.tx', id: 'r.id', from: 'reached r' })})`;

const CHUNK = `chunk as (${finishChunk('webhooks', 10)}),
batch as materialized (
    select e.* from chunk c cross join lateral (
        select ${EVENT} from events
         where (tx, id) > (c.after_tx, c.after_id) and (tx, id) <= (c.last_tx, c.last_id)
         order by tx, id limit $1) e)`;

const FAN_OUT = fanOutOf(NEXT_BATCH);
const FAN_OUT_CHUNK = fanOutOf(CHUNK);

export interface FanOutResult {
  seen: number;
  made: number;
  leased: LeasedRow[];
  /** A chunk was not finished in time: see fanOutDueChunk. */
  chunkDue: boolean;
}

/** The next events. */
export function fanOut(
  pool: Pool,
  eventsMax: number,
  capacity: FanOutCapacity,
  terms: LeaseTerms,
): Promise<FanOutResult> {
  return run(pool, { name: 'webhooks-fan-out', text: FAN_OUT }, eventsMax, capacity, terms);
}

/** The next events as a chunk, while others do the same. Undefined if nothing is left. */
export async function fanOutNextChunk(
  pool: Pool,
  eventsMax: number,
  capacity: FanOutCapacity,
  terms: LeaseTerms,
): Promise<(FanOutResult & { more: boolean }) | undefined> {
  const chunk = await takeChunk(pool, 'webhooks', { eventsMax, bytesMax: CHUNK_BYTES_MAX });
  return chunk && { ...(await fanOutChunk(pool, chunk, capacity, terms)), more: chunk.more };
}

/** The events of a chunk that was not finished in time. Undefined if there is none. */
export async function fanOutDueChunk(
  pool: Pool,
  capacity: FanOutCapacity,
  terms: LeaseTerms,
): Promise<FanOutResult | undefined> {
  const chunk = await takeOverChunk(pool, 'webhooks');
  return chunk && fanOutChunk(pool, chunk, capacity, terms);
}

/** Finds nothing if another process has taken the chunk over. */
export function fanOutChunk(
  pool: Pool,
  chunk: EventChunk,
  capacity: FanOutCapacity,
  terms: LeaseTerms,
): Promise<FanOutResult> {
  const statement = { name: 'webhooks-fan-out-chunk', text: FAN_OUT_CHUNK };
  return run(pool, statement, chunk.events, capacity, terms, chunkParameters(chunk));
}

async function run(
  pool: Pool,
  statement: { name: string; text: string },
  eventsMax: number,
  capacity: FanOutCapacity,
  terms: LeaseTerms,
  more: readonly unknown[] = [],
): Promise<FanOutResult> {
  const { rows } = await pool.query<LeasedRow & { seen: number; made: number; chunk_due: boolean }>(
    {
      ...statement,
      values: [
        eventsMax,
        JSON.stringify(capacity.perEndpoint),
        capacity.defaultPerEndpoint,
        capacity.total,
        sqlTime(terms.nowMs),
        sqlTime(terms.leaseEndsAtMs),
        terms.lease,
        JSON.stringify(capacity.perWorkspace),
        capacity.defaultPerWorkspace,
        ...more,
      ],
    },
  );
  const { seen = 0, made = 0, chunk_due: chunkDue = false } = rows[0] ?? {};
  return { seen, made, leased: rows.filter((row) => row.event_id !== null), chunkDue };
}

export async function anyEnabled(pool: Pool): Promise<boolean> {
  const { rows } = await pool.query<{ any: boolean }>({
    name: 'webhooks-any-enabled',
    text: 'select exists (select from webhooks where enabled) as any',
  });
  return rows[0]?.any ?? false;
}

/**
 * Without endpoints nothing is read: the position moves to the horizon, and chunks are dropped. The
 * horizon and the absence of endpoints are read in one snapshot, so events after the creation of the
 * first endpoint are beyond it.
 */
export async function skipToEnd(pool: Pool): Promise<void> {
  await pool.query({
    name: 'webhooks-skip-ahead',
    text: `with moved as (${moveConsumer('webhooks', {
      tx: `${HORIZON} - 1`,
      id: `'${LAST_UUID}'`,
      when: `tx < ${HORIZON} - 1 and not exists (select from webhooks where enabled)`,
    })})
    ${dropChunks('webhooks', { when: 'not exists (select from webhooks where enabled)' })}`,
  });
}
