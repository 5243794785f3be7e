import type { Mode } from '../accounts/mode.ts';
import { encodeId, uuidFloor, uuidTime, uuidv7 } from '../base/ids.ts';
import type { Pool, Queryable } from '../storage/pool.ts';
import type { EventType } from './event-types.ts';

/**
 * The ledger of events: appended in the same commit as the change it tells, read in an order that
 * has no gaps. The order is (tx, id). A reader stops below the oldest transaction that still runs:
 * everything below it is decided, so nothing can appear behind a reader's back.
 */

export interface NewEvent {
  workspaceId: string;
  mode: Mode;
  type: EventType;
  atMs: number;
  messageId?: string;
  sequence?: number;
  data: object;
}

/** Appends within the caller's transaction. */
export async function appendEvents(db: Queryable, events: readonly NewEvent[]): Promise<void> {
  if (events.length === 0) return;
  await db.query({
    name: 'append-events',
    text: `insert into events (workspace_id, mode, tx, id, type, created_at, message_id, sequence, data)
      select e.workspace_id, e.mode, pg_current_xact_id()::text::bigint, e.id, e.type, e.created_at,
             e.message_id, e.sequence, e.data
      from json_to_recordset($1::json) as e(workspace_id uuid, mode mode, id uuid, type text,
        created_at timestamptz, message_id uuid, sequence smallint, data json)`,
    values: [JSON.stringify(events.map(eventRow))],
  });
}

/** The row of an event as hot statements take it inside their own json parameter. */
export function eventRow(event: NewEvent): object {
  return {
    workspace_id: event.workspaceId,
    mode: event.mode,
    id: uuidv7(event.atMs),
    type: event.type,
    created_at: new Date(event.atMs).toISOString(),
    message_id: event.messageId ?? null,
    sequence: event.sequence ?? null,
    data: event.data,
  };
}

/** Tells other nodes that events were appended; in a statement of its own, see ledger-bell.ts. */
export async function announceEvents(pool: Pool, from: string): Promise<void> {
  await pool.query(`select pg_notify('events', $1)`, [from]);
}

export interface LedgerEvent {
  id: string;
  tx: number;
  type: EventType;
  mode: Mode;
  createdAtMs: number;
  messageId: string | null;
  sequence: number | null;
  data: Record<string, unknown>;
}

/** A place between two events. */
export interface LedgerPosition {
  tx: number;
  id: string;
}

export const LEDGER_START: LedgerPosition = { tx: 0, id: uuidFloor(0) };

export interface FeedFilter {
  types?: readonly string[];
  messageId?: string;
  recipient?: string;
  tag?: string;
  createdAfterMs?: number;
  createdBeforeMs?: number;
}

export interface FeedPage {
  events: LedgerEvent[];
  /** Where the next read goes on; moves even past events that the filter left out. */
  next: LedgerPosition;
  hasMore: boolean;
}

/** A filter that matches little must not read the whole ledger in one request. */
const SCANNED_MAX = 10_000;

/**
 * Reads on from a place, oldest first. It looks at a bounded number of events, so a page may be
 * shorter than `limit`, or empty, while there is more: `hasMore` tells.
 */
export async function readFeed(
  pool: Pool,
  scope: { workspaceId: string; mode: Mode },
  after: LedgerPosition,
  limit: number,
  filter: FeedFilter = {},
): Promise<FeedPage> {
  const unfiltered = Object.values(filter).every((value) => value === undefined);
  const scanMax = unfiltered ? limit : SCANNED_MAX;
  const { rows } = await pool.query<FeedRow>({
    name: filter.messageId ? 'read-feed-of-message' : 'read-feed',
    text: `with scanned as (
        select id, tx, type, mode, created_at, message_id, sequence, data from events
        where workspace_id = $1 and mode = $2 and (tx, id) > ($3, $4)
          and tx < pg_snapshot_xmin(pg_current_snapshot())::text::bigint
          and ${filter.messageId ? 'message_id = $10' : '$10::uuid is null'}
        order by tx, id limit $5),
      matched as (
        select * from scanned
        where ($6::text[] is null or type = any($6) or split_part(type, '.', 1) || '.*' = any($6))
          and ($7::text is null or lower(data->>'recipient') = $7
            or exists (select from json_array_elements(data->'recipients') r where lower(r->>'email') = $7))
          and ($8::text is null or exists (
            select from json_array_elements_text(data->'tags') tag where tag = $8))
          and ($9::timestamptz is null or created_at >= $9)
          and ($11::timestamptz is null or created_at < $11)
        order by tx, id limit $12)
      select m.*, s.scanned, s.last_tx, s.last_id from (
          select count(*) as scanned, (array_agg(tx order by tx desc, id desc))[1] as last_tx,
                 (array_agg(id order by tx desc, id desc))[1] as last_id from scanned) s
        left join matched m on true order by m.tx, m.id`,
    values: [
      scope.workspaceId,
      scope.mode,
      after.tx,
      after.id,
      scanMax + 1,
      filter.types?.length ? filter.types : null,
      filter.recipient ?? null,
      filter.tag ?? null,
      timeOrNull(filter.createdAfterMs),
      filter.messageId ?? null,
      timeOrNull(filter.createdBeforeMs),
      limit + 1,
    ],
  });
  return pageOf(rows, after, limit, scanMax);
}

/** The place up to which everything is decided now. */
export async function ledgerEdge(pool: Pool): Promise<LedgerPosition> {
  const { rows } = await pool.query<{ tx: number }>({
    name: 'ledger-edge',
    text: 'select pg_snapshot_xmin(pg_current_snapshot())::text::bigint - 1 as tx',
  });
  return { tx: rows[0]?.tx ?? 0, id: 'ffffffff-ffff-ffff-ffff-ffffffffffff' };
}

/** Whether a place lies behind another; lower-case hex compares as its bytes do. */
export function isAfter(place: LedgerPosition, other: LedgerPosition): boolean {
  return place.tx > other.tx || (place.tx === other.tx && place.id > other.id);
}

export interface LedgerPage {
  /** Those of the named workspaces. */
  events: (LedgerEvent & { workspaceId: string })[];
  next: LedgerPosition;
  scanned: number;
}

/** Reads on in the ledger of all workspaces. */
export async function readLedger(
  pool: Pool,
  after: LedgerPosition,
  scanMax: number,
  workspaceIds: readonly string[],
): Promise<LedgerPage> {
  const { rows } = await pool.query<FeedRow & { workspace_id: string }>({
    name: 'read-ledger',
    text: `with scanned as materialized (
        select workspace_id, id, tx, type, mode, created_at, message_id, sequence, data from events
        where (tx, id) > ($1, $2) and tx < pg_snapshot_xmin(pg_current_snapshot())::text::bigint
        order by tx, id limit $3)
      select m.*, s.scanned, s.last_tx, s.last_id from (
          select count(*) as scanned, (array_agg(tx order by tx desc, id desc))[1] as last_tx,
                 (array_agg(id order by tx desc, id desc))[1] as last_id from scanned) s
        left join scanned m on m.workspace_id = any($4::uuid[]) order by m.tx, m.id`,
    values: [after.tx, after.id, scanMax, workspaceIds],
  });
  const scanned = Number(rows[0]?.scanned ?? 0);
  if (scanned === 0) return { events: [], next: after, scanned };
  const found = rows.filter((row) => row.id !== null);
  return {
    events: found.map((row) => ({ ...eventOf(row), workspaceId: row.workspace_id })),
    next: { tx: Number(rows[0]?.last_tx), id: rows[0]?.last_id as string },
    scanned,
  };
}

/** The timeline of one message, oldest first. */
export async function readTimeline(
  pool: Queryable,
  scope: { workspaceId: string; mode: Mode },
  messageId: string,
): Promise<LedgerEvent[]> {
  const { rows } = await pool.query<FeedRow>({
    name: 'read-timeline',
    text: `select id, tx, type, mode, created_at, message_id, sequence, data from events
      where workspace_id = $1 and mode = $2 and message_id = $3 and id >= $4 order by id limit 500`,
    // An event is never older than its message: partitions before it are not looked at.
    values: [scope.workspaceId, scope.mode, messageId, uuidFloor(uuidTime(messageId) - 60_000)],
  });
  return rows.map(eventOf);
}

/** What users see of an event: in the feed, in webhooks, in timelines. */
export function publicEvent(event: LedgerEvent) {
  return {
    id: encodeId('evt', event.id),
    type: event.type,
    api_version: 'v1' as const,
    mode: event.mode,
    created_at: new Date(event.createdAtMs).toISOString(),
    sequence: event.sequence,
    data: event.data,
  };
}

interface FeedRow {
  id: string;
  tx: number;
  type: EventType;
  mode: Mode;
  created_at: number;
  message_id: string | null;
  sequence: number | null;
  data: Record<string, unknown>;
  scanned: number;
  last_tx: number;
  last_id: string;
}

function pageOf(rows: FeedRow[], after: LedgerPosition, limit: number, scanMax: number): FeedPage {
  const first = rows[0];
  if (!first || Number(first.scanned) === 0) return { events: [], next: after, hasMore: false };
  const matched = rows.filter((row) => row.id !== null);
  if (matched.length > limit) {
    const events = matched.slice(0, limit).map(eventOf);
    const last = events[events.length - 1] as LedgerEvent;
    return { events, next: { tx: last.tx, id: last.id }, hasMore: true };
  }
  return {
    events: matched.map(eventOf),
    next: { tx: Number(first.last_tx), id: first.last_id },
    hasMore: Number(first.scanned) > scanMax,
  };
}

function eventOf(row: FeedRow): LedgerEvent {
  return {
    id: row.id,
    tx: Number(row.tx),
    type: row.type,
    mode: row.mode,
    createdAtMs: row.created_at,
    messageId: row.message_id,
    sequence: row.sequence,
    data: row.data,
  };
}

function timeOrNull(ms: number | undefined): Date | null {
  return ms === undefined ? null : new Date(ms);
}
