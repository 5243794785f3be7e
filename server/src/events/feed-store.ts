import type { TenantScope } from '../accounts/tenant-scope.ts';
import { inTransaction, type Pool, type Queryable } from '../db/pool.ts';
import { sqlTime } from '../db/row-types.ts';
import { IDS_AHEAD_MAX_MS, uuidFloor, uuidTime } from '../lib/ids.ts';
import {
  EVENT_LOG_COLUMNS,
  EVENT_LOG_START,
  type EventLogRow,
  type EventPosition,
  HORIZON,
  isAfter,
  positionAfterTransaction,
  type StoredEvent,
  toStoredEvent,
} from './events-store.ts';

/**
 * Pages of one workspace's ledger, in both directions. A page costs the same however long the
 * history is: messages and recipients are looked up by their indexes, times are found by halving, and
 * every other filter looks at a bounded number of events, so a page may be shorter than `limit`, or
 * empty, while there is more: `hasMore` tells.
 */

export type FeedOrder = 'asc' | 'desc';

export interface FeedFilter {
  types?: readonly string[];
  messageId?: string;
  recipient?: string;
  tag?: string;
  createdAfterMs?: number;
  createdBeforeMs?: number;
}

export interface FeedPage {
  events: StoredEvent[];
  /** Where the next read goes on; moves even past events that the filter left out. */
  next: EventPosition;
  hasMore: boolean;
  /** Behind all that was decided when the page was read. */
  committed: EventPosition;
}

/** Places between which events are looked for, without the two themselves. */
interface Range {
  low: EventPosition;
  high: EventPosition;
}

/** Behind every transaction that can be. */
export const EVENT_LOG_END: EventPosition = positionAfterTransaction(Number.MAX_SAFE_INTEGER);

/** What matches often is found in the first step; what matches seldom must not read everything. */
const FILTERED_STEPS = [1_000, 3_000, 6_000];
/** One more than the largest page. */
const UNFILTERED_STEPS = [101];
/** A recipient of more messages than this is found often enough by walking. */
const RECIPIENT_MESSAGES_MAX = 500;
/**
 * The ledger's order is that of transactions. A node that loses the database writes what it knows
 * later: times and order may disagree by less than this.
 */
const OUT_OF_ORDER_MS = 3_600_000;

/** Reads on from a place: up from it, or down. */
export async function readFeed(
  pool: Pool,
  scope: TenantScope,
  from: EventPosition,
  limit: number,
  filter: FeedFilter = {},
  order: FeedOrder = 'asc',
): Promise<FeedPage> {
  return inTransaction(pool, async (db) => {
    await db.query(USE_INDEXES_ONLY);
    const range = await feedRange(db, scope, from, filter, order);
    const candidates = await findCandidateMessages(db, scope, filter);
    return candidates
      ? readMessageEvents(db, scope, candidates, { from, range, limit, filter, order })
      : scanInSteps(db, scope, { from, range, limit, filter, order });
  });
}

/**
 * The planner thinks little of a range within one workspace: it would read all of it and sort. Every
 * statement here has an index that gives the rows in order.
 */
const USE_INDEXES_ONLY = ['sort', 'seqscan', 'bitmapscan']
  .map((way) => `set local enable_${way} = off`)
  .join('; ');

interface FeedRead extends Pick<Scan, 'limit' | 'filter' | 'order'> {
  from: EventPosition;
  range: Range;
}

async function scanInSteps(db: Queryable, scope: TenantScope, read: FeedRead): Promise<FeedPage> {
  const { from, range, limit, filter, order } = read;
  const unfiltered = Object.values(filter).every((value) => value === undefined);
  const steps = unfiltered ? UNFILTERED_STEPS : FILTERED_STEPS;
  const events: StoredEvent[] = [];
  let edge: EventPosition | undefined;
  let next = from;
  for (const size of steps) {
    const wanted = limit - events.length + 1;
    const step = await scan(db, scope, { ...range, order, size, filter, limit: wanted });
    edge ??= step.edge;
    events.push(...step.events);
    if (events.length > limit) return { ...truncatePage(events, limit), committed: edge };
    next = step.last ?? next;
    if (step.scanned < size) return { events, next, hasMore: false, committed: edge };
    if (order === 'asc') range.low = next;
    else range.high = next;
  }
  return { events, next, hasMore: true, committed: edge as EventPosition };
}

function truncatePage(events: StoredEvent[], limit: number) {
  const page = events.slice(0, limit);
  const { tx, id } = page[limit - 1] as StoredEvent;
  return { events: page, next: { tx, id }, hasMore: true };
}

async function feedRange(
  db: Queryable,
  scope: TenantScope,
  from: EventPosition,
  filter: FeedFilter,
  order: FeedOrder,
): Promise<Range> {
  const { createdAfterMs, createdBeforeMs } = filter;
  const range: Range =
    order === 'asc' ? { low: from, high: EVENT_LOG_END } : { low: EVENT_LOG_START, high: from };
  if (createdAfterMs !== undefined) {
    const low = await positionOfTime(db, scope, createdAfterMs - OUT_OF_ORDER_MS);
    if (isAfter(low, range.low)) range.low = low;
  }
  if (createdBeforeMs !== undefined) {
    const high = await positionOfTime(db, scope, createdBeforeMs + OUT_OF_ORDER_MS);
    if (isAfter(range.high, high)) range.high = high;
  }
  return range;
}

/**
 * The whole key, leading columns too, in comparison and order: only the index that begins with the
 * workspace can serve it. With `workspace_id = $1` the planner may take the index of all workspaces
 * instead, and a small tenant would pay for its large neighbour.
 */
const KEY = '(workspace_id, mode, tx, id)';
const BY_KEY = {
  asc: 'order by workspace_id, mode, tx, id',
  desc: 'order by workspace_id desc, mode desc, tx desc, id desc',
};

/**
 * The place before the first event of a time or later, found by halving the span of transactions.
 * An index on times would be paid for by every event written.
 */
async function positionOfTime(
  db: Queryable,
  scope: TenantScope,
  ms: number,
): Promise<EventPosition> {
  const { rows } = await db.query<{ tx: number }>({
    name: 'feed-position-of-time',
    text: `with recursive search (low, high) as (
        select coalesce((select tx from events
            where ${KEY} > ($1, $2, 0, $4) and ${KEY} < ($1, $2, ${HORIZON}, $4) ${BY_KEY.asc} limit 1),
          ${HORIZON}), ${HORIZON}
      union all
        select case when e.created_at < $3 then e.tx + 1 else s.low end,
               case when e.created_at < $3 then s.high else (s.low + s.high) / 2 end
          from search s left join lateral (
            select tx, created_at from events
             where ${KEY} > ($1, $2, (s.low + s.high) / 2, $4) and ${KEY} < ($1, $2, s.high, $4)
             ${BY_KEY.asc} limit 1) e on true
         where s.low < s.high)
      select max(low) - 1 as tx from search`,
    values: [scope.workspaceId, scope.mode, sqlTime(ms), uuidFloor(0)],
  });
  return positionAfterTransaction(Number(rows[0]?.tx ?? 0));
}

interface Scan extends Range {
  order: FeedOrder;
  /** How many events are looked at. */
  size: number;
  filter: FeedFilter;
  limit: number;
}

interface ScanRow extends EventLogRow {
  scanned: number;
  last_tx: number | null;
  last_id: string | null;
  edge_tx: number;
}

async function scan(db: Queryable, scope: TenantScope, bounds: Scan) {
  const { low, high, order, size, filter, limit } = bounds;
  const back = order === 'asc' ? 'desc' : 'asc';
  const { rows } = await db.query<ScanRow>({
    // The size stands in the text: of a limit that it does not know the planner assumes the worst.
    name: `feed-${order}-${size}`,
    text: `with scanned as materialized (
        select ${EVENT_LOG_COLUMNS} from events
        where ${KEY} > ($1, $2, $3, $4) and ${KEY} < ($1, $2, $5, $6) and tx < ${HORIZON}
          and id >= $13 and id < $14
        ${BY_KEY[order]} limit ${size}),
      matched as (
        select * from scanned where ${MATCHES} order by tx ${order}, id ${order} limit $7)
      select m.*, s.scanned, l.tx as last_tx, l.id as last_id, ${HORIZON} - 1 as edge_tx
        from (select count(*)::int as scanned from scanned) s
        left join (select tx, id from scanned order by tx ${back}, id ${back} limit 1) l on true
        left join matched m on true order by m.tx ${order}, m.id ${order}`,
    values: [
      scope.workspaceId,
      scope.mode,
      low.tx,
      low.id,
      high.tx,
      high.id,
      limit,
      ...matchValues(filter),
      // What ids tell of time is read off the index, without a look at the events. They are never
      // older than the times they stand for; by a clock set back they may be newer.
      uuidFloor(filter.createdAfterMs ?? 0),
      filter.createdBeforeMs === undefined
        ? EVENT_LOG_END.id
        : uuidFloor(filter.createdBeforeMs + IDS_AHEAD_MAX_MS),
    ],
  });
  const first = rows[0] as ScanRow;
  return {
    events: rows.filter((row) => row.id !== null).map(toStoredEvent),
    scanned: first.scanned,
    last:
      first.last_tx === null || first.last_id === null
        ? undefined
        : { tx: Number(first.last_tx), id: first.last_id },
    edge: positionAfterTransaction(Number(first.edge_tx)),
  };
}

const MATCHES = `($8::text[] is null or type = any($8) or split_part(type, '.', 1) || '.*' = any($8))
  and ($9::text is null or lower(data->>'recipient') = $9
    or exists (select from json_array_elements(data->'recipients') r where lower(r->>'email') = $9))
  and ($10::text is null or exists (
    select from json_array_elements_text(data->'tags') tag where tag = $10))
  and ($11::timestamptz is null or created_at >= $11)
  and ($12::timestamptz is null or created_at < $12)`;

function matchValues(filter: FeedFilter): unknown[] {
  return [
    filter.types?.length ? filter.types : null,
    filter.recipient ?? null,
    filter.tag ?? null,
    timeOrNull(filter.createdAfterMs),
    timeOrNull(filter.createdBeforeMs),
  ];
}

function timeOrNull(ms: number | undefined): string | null {
  return ms === undefined ? null : sqlTime(ms);
}

/** Messages that hold all that the filter may let through, where they are few. */
interface CandidateMessages {
  ids: readonly string[];
  /** Nothing beyond it: a message may have come in after the ids were looked up. */
  committed: EventPosition;
}

async function findCandidateMessages(
  db: Queryable,
  scope: TenantScope,
  { messageId, recipient }: FeedFilter,
): Promise<CandidateMessages | undefined> {
  if (messageId !== undefined) return { ids: [messageId], committed: EVENT_LOG_END };
  if (recipient === undefined) return undefined;
  const { rows } = await db.query<{ ids: string[]; edge_tx: number }>({
    name: 'feed-messages-of-recipient',
    text: `select array(select distinct message_id from deliveries
        where workspace_id = $1 and mode = $2 and recipient_key = $3
        limit ${RECIPIENT_MESSAGES_MAX + 1}) as ids, ${HORIZON} - 1 as edge_tx`,
    values: [scope.workspaceId, scope.mode, recipient],
  });
  const { ids = [], edge_tx = 0 } = rows[0] ?? {};
  return ids.length > RECIPIENT_MESSAGES_MAX
    ? undefined
    : { ids, committed: positionAfterTransaction(Number(edge_tx)) };
}

async function readMessageEvents(
  db: Queryable,
  scope: TenantScope,
  candidates: CandidateMessages,
  read: FeedRead,
): Promise<FeedPage> {
  const { from, range, limit, filter, order } = read;
  const high = isAfter(range.high, candidates.committed) ? candidates.committed : range.high;
  const oldestMs = Math.min(...candidates.ids.map(uuidTime));
  const { rows } = await db.query<EventLogRow & { edge_tx: number }>({
    name: `feed-of-messages-${order}`,
    text: `with own as materialized (
        select ${EVENT_LOG_COLUMNS} from events
        where workspace_id = $1 and mode = $2 and message_id = any($13) and id >= $14),
      matched as (
        select * from own where (tx, id) > ($3, $4) and (tx, id) < ($5, $6) and tx < ${HORIZON}
          and ${MATCHES} order by tx ${order}, id ${order} limit $7)
      select m.*, e.edge_tx from (select ${HORIZON} - 1 as edge_tx) e
        left join matched m on true order by m.tx ${order}, m.id ${order}`,
    values: [
      scope.workspaceId,
      scope.mode,
      range.low.tx,
      range.low.id,
      high.tx,
      high.id,
      limit + 1,
      ...matchValues(filter),
      candidates.ids,
      // An event is never older than its message: partitions before it are not looked at.
      uuidFloor(candidates.ids.length === 0 ? 0 : oldestMs - 60_000),
    ],
  });
  const events = rows.filter((row) => row.id !== null).map(toStoredEvent);
  const horizon = positionAfterTransaction(Number(rows[0]?.edge_tx ?? 0));
  const edge = isAfter(horizon, candidates.committed) ? candidates.committed : horizon;
  if (events.length > limit) return { ...truncatePage(events, limit), committed: edge };
  const { tx, id } = events.at(-1) ?? from;
  return { events, next: { tx, id }, hasMore: false, committed: edge };
}
