import type { Mode } from '../accounts/tenant-scope.ts';
import { channel } from '../db/connections/notification-channels.ts';
import type { Pool, Queryable } from '../db/connections/pool.ts';
import type { EventsRow } from '../db/schema/tables.ts';
import { recordset } from '../db/statements/recordset.ts';
import { encodeId, LAST_UUID, uuidFloor, uuidTime, uuidv7 } from '../lib/ids.ts';
import type { EventType } from './event-types.ts';

/**
 * The event log: events are appended in the same commit as the change they describe, and read in an
 * order without gaps. The order is (tx, id). Readers stop below the oldest running transaction:
 * everything below it is committed or rolled back, so no event can appear behind a reader's
 * position.
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

/** The row of an event as statements take it. */
export interface EventRow
  extends Pick<
    EventsRow,
    'workspace_id' | 'mode' | 'id' | 'created_at' | 'message_id' | 'sequence'
  > {
  type: EventType;
  data: string;
}

export const EVENT_COLUMNS = {
  workspace_id: 'uuid',
  mode: 'mode',
  id: 'uuid',
  type: 'text',
  created_at: 'timestamptz',
  message_id: 'uuid',
  sequence: 'smallint',
  data: 'json',
} as const;

const EVENTS = recordset<EventRow>(EVENT_COLUMNS);

/** A `select` of these columns follows. Statements that append events are composed with it. */
export const INSERT_EVENTS = `insert into events
  (workspace_id, mode, tx, id, type, created_at, message_id, sequence, data)`;

/** Appends events within the caller's transaction. */
export async function appendEvents(db: Queryable, events: readonly NewEvent[]): Promise<void> {
  if (events.length === 0) return;
  await db.query({
    name: 'append-events',
    text: `${INSERT_EVENTS}
      select e.workspace_id, e.mode, event_log_tx(), e.id, e.type, e.created_at,
             e.message_id, e.sequence, e.data
      from ${EVENTS.table('e', 1)}`,
    values: EVENTS.parameters(events.map(eventRow)),
  });
}

export function eventRow(event: NewEvent): EventRow {
  return {
    workspace_id: event.workspaceId,
    mode: event.mode,
    id: uuidv7(event.atMs),
    type: event.type,
    created_at: event.atMs,
    message_id: event.messageId ?? null,
    sequence: event.sequence ?? null,
    data: JSON.stringify(event.data),
  };
}

/** Notifies other nodes of new events, in a statement of its own: see event-notifier.ts. */
export async function notifyEventsAppended(pool: Pool, from: string): Promise<void> {
  await pool.query(`select pg_notify(${channel('events')}, $1)`, [from]);
}

export interface StoredEvent {
  id: string;
  tx: number;
  type: EventType;
  mode: Mode;
  createdAtMs: number;
  messageId: string | null;
  sequence: number | null;
  data: Record<string, unknown>;
}

/** A position between two events. */
export interface EventPosition {
  tx: number;
  id: string;
}

export const EVENT_LOG_COLUMNS = 'id, tx, type, mode, created_at, message_id, sequence, data';

/** The oldest running transaction; see db/event-log-offset.ts. */
export const HORIZON = 'event_log_horizon()';

export const EVENT_LOG_START: EventPosition = { tx: 0, id: uuidFloor(0) };

/** The position up to which everything is committed or rolled back now. */
export async function committedPosition(pool: Pool): Promise<EventPosition> {
  const { rows } = await pool.query<{ tx: number }>({
    name: 'event-log-committed',
    text: 'select event_log_horizon() - 1 as tx',
  });
  return positionAfterTransaction(rows[0]?.tx ?? 0);
}

/**
 * When the oldest event was committed that no reader may see yet, because an older transaction is still
 * open; undefined without one. Normally it is milliseconds ago.
 */
export async function oldestHiddenEventMs(pool: Pool): Promise<number | undefined> {
  const { rows } = await pool.query<{ created_at: number }>({
    name: 'event-log-oldest-hidden',
    text: 'select created_at from events where tx >= event_log_horizon() order by tx, id limit 1',
  });
  return rows[0]?.created_at;
}

/** A session, or a prepared transaction, whose open transaction readers of the event log wait for. */
export interface LogBlocker {
  /** Undefined for a prepared transaction, which has no session. */
  pid: number | undefined;
  name: string;
  database: string;
  user: string;
}

/** Of the transactions that have written, the oldest, in any database of the cluster. */
export async function findLogBlocker(pool: Pool): Promise<LogBlocker | undefined> {
  const { rows } = await pool.query<Record<keyof LogBlocker, string | number | null>>(
    `select pid, name, database, "user"
       from (select pid, coalesce(application_name, '') as name, datname::text as database,
                    usename::text as "user", backend_xid as xid
               from pg_stat_activity where backend_xid is not null and pid <> pg_backend_pid()
              union all
             select null, gid, database::text, owner::text, transaction from pg_prepared_xacts) t
      order by age(xid) desc limit 1`,
  );
  const [row] = rows;
  if (row === undefined) return undefined;
  const text = (value: string | number | null): string => String(value ?? '');
  return {
    pid: row.pid === null ? undefined : Number(row.pid),
    ...{ name: text(row.name), database: text(row.database), user: text(row.user) },
  };
}

/** The position after everything that a transaction wrote. */
export function positionAfterTransaction(tx: number): EventPosition {
  return { tx, id: LAST_UUID };
}

/** Whether one position is after another. Lower-case hex compares like its bytes. */
export function isAfter(position: EventPosition, other: EventPosition): boolean {
  return position.tx > other.tx || (position.tx === other.tx && position.id > other.id);
}

export interface EventLogPage {
  /** Events of the given workspaces. */
  events: (StoredEvent & { workspaceId: string })[];
  next: EventPosition;
  scanned: number;
}

/** Reads the event log of all workspaces from a position on. */
export async function readEventLog(
  pool: Pool,
  after: EventPosition,
  scanMax: number,
  workspaceIds: readonly string[],
): Promise<EventLogPage> {
  const { rows } = await pool.query<EventLogRow & Scanned & { workspace_id: string }>({
    name: 'read-event-log',
    text: `with scanned as materialized (
        select workspace_id, ${EVENT_LOG_COLUMNS} from events
        where (tx, id) > ($1, $2) and tx < event_log_horizon()
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
    events: found.map((row) => ({ ...toStoredEvent(row), workspaceId: row.workspace_id })),
    next: { tx: Number(rows[0]?.last_tx), id: rows[0]?.last_id as string },
    scanned,
  };
}

/** The timeline of one message, oldest first. */
export async function readTimeline(
  pool: Queryable,
  scope: { workspaceId: string; mode: Mode },
  messageId: string,
): Promise<StoredEvent[]> {
  const { rows } = await pool.query<EventLogRow>({
    name: 'read-timeline',
    text: `select ${EVENT_LOG_COLUMNS} from events
      where workspace_id = $1 and mode = $2 and message_id = $3 and id >= $4 order by id limit 500`,
    // An event is never older than its message, so earlier partitions are pruned.
    values: [scope.workspaceId, scope.mode, messageId, uuidFloor(uuidTime(messageId) - 60_000)],
  });
  return rows.map(toStoredEvent);
}

/** The public form of an event: in the feed, in webhooks and in timelines. */
export function publicEvent(event: StoredEvent) {
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

/** An event as statements select it: see EVENT_LOG_COLUMNS. */
export interface EventLogRow
  extends Pick<EventsRow, 'id' | 'tx' | 'mode' | 'created_at' | 'message_id' | 'sequence'> {
  type: EventType;
  data: Record<string, unknown>;
}

interface Scanned {
  scanned: number;
  last_tx: number;
  last_id: string;
}

export function toStoredEvent(row: EventLogRow): StoredEvent {
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

export interface EventBodyInput {
  id: string;
  type: string;
  mode: Mode;
  createdAtMs: number;
  sequence: number | null;
  /** The data as stored, in JSON. */
  data: string;
}

/**
 * Serializes `publicEvent` without parsing the data: always the same bytes, at a fraction of the
 * cost.
 */
export function eventBody(event: EventBodyInput): string {
  return (
    `{"id":"${encodeId('evt', event.id)}","type":"${event.type}","api_version":"v1",` +
    `"mode":"${event.mode}","created_at":"${new Date(event.createdAtMs).toISOString()}",` +
    `"sequence":${event.sequence},"data":${event.data}}`
  );
}
