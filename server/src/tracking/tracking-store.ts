import { inTransaction, type Pool } from '../db/connections/pool.ts';
import { sqlTime } from '../db/schema/row-types.ts';
import type { EventType } from '../events/event-types.ts';
import { INSERT_EVENTS } from '../events/events-store.ts';
import { encodeId } from '../lib/ids.ts';
import { addEventsToFirstRecipient } from '../messages/deliveries/delivery-change-store.ts';
import { ERASED_ADDRESS } from '../suppressions/erased-address.ts';
import type { TrackedMessage } from './tracking-links.ts';

export interface TrackingHit extends TrackedMessage {
  eventId: string;
  atMs: number;
  machine: boolean;
  /** Null for an open. */
  url: string | null;
}

/**
 * Appends events for new opens and clicks, in one transaction, and returns how many. Only the first
 * open of a message and the first click per link are recorded, separately for humans and machines;
 * repeats add no information, and anyone with the URL could flood the event log. Deleted messages
 * and erased recipients are skipped.
 *
 * Earlier events are looked up under a lock on each message, because another node may be recording
 * the same request, and an erasure may be in progress.
 */
export async function recordHits(pool: Pool, hits: readonly TrackingHit[]): Promise<number> {
  const rows = JSON.stringify(hits.map(toRow));
  return inTransaction(pool, async (client) => {
    // Not named, so planned each time: a plan cached while the tables were small would scan them.
    await client.query(LOCK, [rows]);
    const { rowCount } = await client.query(RECORD, [rows, ERASED_ADDRESS]);
    return rowCount ?? 0;
  });
}

function toRow(
  { workspaceId, mode, messageId, eventId, atMs, machine, url }: TrackingHit,
  n: number,
) {
  const type: EventType = url === null ? 'message.opened' : 'message.clicked';
  return {
    n,
    w: workspaceId,
    m: mode,
    id: messageId,
    shown: encodeId('msg', messageId),
    event_id: eventId,
    type,
    at: sqlTime(atMs),
    machine,
    url,
  };
}

/** In live mode, requests this soon after delivery come from a scanner, not from a human. */
const AUTOMATED_WITHIN = `interval '2 seconds'`;

/** Locks in a fixed order, so that two nodes cannot deadlock. */
const LOCK = `
select from (select distinct w, m, id from json_to_recordset($1::json) as v(w uuid, m mode, id uuid)
              order by w, m, id) v
  cross join lateral (
    select from deliveries where workspace_id = v.w and mode = v.m and message_id = v.id
       and ordinal = 0 limit 1 for update) d`;

/** Lateral lookups, because with `exists` the planner may read all events of a type. */
const RECORD = `
with v as materialized (
    select * from json_to_recordset($1::json) as v(
      n int, w uuid, m mode, id uuid, shown text, event_id uuid, type text, at timestamptz,
      machine boolean, url text)),
fresh as materialized (
    select distinct on (v.w, v.m, v.id, v.type, judged.machine, v.url)
           v.w, v.m, v.id, v.shown, v.event_id, v.type, v.at, v.url, judged.machine,
           d.recipient, d.attempts, m.stream, m.metadata, m.tags, again.seen is true as again
      from v
     cross join lateral (
        select recipient, attempts, finished_at from deliveries
         where workspace_id = v.w and mode = v.m and message_id = v.id and ordinal = 0
           and recipient_key <> $2 limit 1) d
     cross join lateral (
        select stream, metadata, tags from messages
         where workspace_id = v.w and mode = v.m and id = v.id limit 1) m
     cross join lateral (
        select v.machine or v.m = 'live'
           and coalesce(v.at < d.finished_at + ${AUTOMATED_WITHIN}, true) as machine) judged
      left join lateral (
        select true as seen from events e
         where e.workspace_id = v.w and e.mode = v.m and e.message_id = v.id and e.type = v.type
           and (e.data->>'machine')::boolean = judged.machine limit 1) again on true
      left join lateral (
        select true as seen from events e
         where e.workspace_id = v.w and e.mode = v.m and e.message_id = v.id and e.type = v.type
           and (e.data->>'machine')::boolean = judged.machine
           and e.data->>'url' is not distinct from v.url limit 1) same on true
     where same.seen is null
     order by v.w, v.m, v.id, v.type, judged.machine, v.url, v.n),
counted as (${addEventsToFirstRecipient(
  '(select w, m, id, count(*)::smallint as n from fresh group by w, m, id)',
)})
${INSERT_EVENTS}
select f.w, f.m, event_log_tx(), f.event_id, f.type, f.at, f.id,
       c.before + row_number() over (partition by f.w, f.m, f.id order by f.at, f.event_id),
       json_strip_nulls(json_build_object(
         'message_id', f.shown, 'recipient', f.recipient, 'attempt', f.attempts,
         'stream', f.stream, 'metadata', f.metadata, 'tags', f.tags, 'machine', f.machine, 'url', f.url,
         'first', case when f.url is not null then not f.again and 1 = row_number()
           over (partition by f.w, f.m, f.id, f.type, f.machine order by f.at, f.event_id) end))
  from fresh f join counted c on c.w = f.w and c.m = f.m and c.id = f.id`;
