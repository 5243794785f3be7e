import type { TenantScope } from '../accounts/tenant-scope.ts';
import { inTransaction, type Pool, type Queryable } from '../db/connections/pool.ts';
import { sqlTime } from '../db/schema/row-types.ts';
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
 * Pages of one workspace's events, in both directions. The cost of a page does not depend on the
 * length of the history: messages and recipients are found by index, times by binary search, and
 * every other filter scans a bounded number of events. A page may therefore be shorter than
 * `limit`, or empty, while `hasMore` is true.
 */

export type FeedOrder = 'asc' | 'desc';

export interface FeedFilter {
  types?: readonly string[];
  messageId?: string;
  recipient?: string;
  tag?: string;
  stream?: string;
  /** The domain of the message's sender, in lower case. */
  senderDomain?: string;
  createdAfterMs?: number;
  createdBeforeMs?: number;
}

export interface FeedPage {
  events: StoredEvent[];
  /** Where the next read continues, even past events that the filter left out. */
  next: EventPosition;
  hasMore: boolean;
  /** The position up to which everything was committed when the page was read. */
  committed: EventPosition;
}

/** The positions between which events are read, both exclusive. */
interface Range {
  low: EventPosition;
  high: EventPosition;
}

/** After every possible transaction. */
export const EVENT_LOG_END: EventPosition = positionAfterTransaction(Number.MAX_SAFE_INTEGER);

/** Frequent matches are found in the first step; rare ones must not cause a full scan. */
const FILTERED_STEPS = [1_000, 3_000, 6_000];
/** One more than the largest page, and more in case there are many audit events, which are left out. */
const UNFILTERED_STEPS = [101, 1_000, 3_000];
/** A recipient of more messages than this is found often enough by scanning. */
const RECIPIENT_MESSAGES_MAX = 500;
/**
 * The log is ordered by transaction. A node that loses the database writes its results later, so
 * times and positions may disagree by less than this.
 */
const OUT_OF_ORDER_MS = 3_600_000;

/** Reads a page from a position, forwards or backwards. */
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

/** Whether more events than a page may be examined. Those of one message are found by index. */
export function scansEvents({ messageId, ...others }: FeedFilter): boolean {
  return messageId === undefined && Object.values(others).some((value) => value !== undefined);
}

/**
 * The planner misjudges ranges within one workspace and would read and sort all of it. Every
 * statement here has an index that returns the rows in order.
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
  const steps = scansEvents(filter) ? FILTERED_STEPS : UNFILTERED_STEPS;
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
 * The comparison and the order use the whole key including its leading columns, so that only the
 * index that starts with the workspace applies. With `workspace_id = $1` the planner may use the
 * index over all workspaces, and a small tenant would pay for a large one.
 */
const KEY = '(workspace_id, mode, tx, id)';
const BY_KEY = {
  asc: 'order by workspace_id, mode, tx, id',
  desc: 'order by workspace_id desc, mode desc, tx desc, id desc',
};

/**
 * The position before the first event at or after a time, found by binary search over the
 * transactions. An index on times would slow down every insert.
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
  /** The number of events to scan. */
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
    // The size is a literal, because the planner assumes the worst of an unknown limit.
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
      // The time in an id is checked in the index alone. An id is never older than its event; after
      // a clock was set back it may be newer.
      uuidFloor(filter.createdAfterMs ?? 0),
      filter.createdBeforeMs === undefined
        ? EVENT_LOG_END.id
        : uuidFloor(filter.createdBeforeMs + IDS_AHEAD_MAX_MS),
      filter.senderDomain ?? null,
      filter.stream ?? null,
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

const MATCHES = `(case when $8::text[] is null then type <> 'audit.recorded'
    else type = any($8) or split_part(type, '.', 1) || '.*' = any($8) end)
  and ($9::text is null or lower(data->>'recipient') = $9
    or exists (select from json_array_elements(data->'recipients') r where lower(r->>'email') = $9))
  and ($10::text is null or exists (
    select from json_array_elements_text(data->'tags') tag where tag = $10))
  and ($11::timestamptz is null or created_at >= $11)
  and ($12::timestamptz is null or created_at < $12)
  and ($16::text is null
    or coalesce(data->>'stream', data->'suppression'->>'stream',
      data->'alarm'->>'stream') = $16)
  and ($15::text is null or exists (
    select from messages m where m.workspace_id = $1 and m.mode = $2 and m.id = message_id
      and lower(right(m.sender, length($15) + 1)) = '@' || $15))`;

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

/** All messages that can match the filter, when they are few. */
interface CandidateMessages {
  ids: readonly string[];
  /** Later events are ignored, because a message may have been added after the ids were read. */
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
      // An event is never older than its message, so earlier partitions are pruned.
      uuidFloor(candidates.ids.length === 0 ? 0 : oldestMs - 60_000),
      filter.senderDomain ?? null,
      filter.stream ?? null,
    ],
  });
  const events = rows.filter((row) => row.id !== null).map(toStoredEvent);
  const horizon = positionAfterTransaction(Number(rows[0]?.edge_tx ?? 0));
  const edge = isAfter(horizon, candidates.committed) ? candidates.committed : horizon;
  if (events.length > limit) return { ...truncatePage(events, limit), committed: edge };
  const { tx, id } = events.at(-1) ?? from;
  return { events, next: { tx, id }, hasMore: false, committed: edge };
}
