import type { Mode, TenantScope } from '../accounts/tenant-scope.ts';
import type { Pool } from '../db/connections/pool.ts';
import { sqlTime } from '../db/schema/row-types.ts';
import { recordset } from '../db/statements/recordset.ts';
import {
  chunksParameters,
  type EventChunk,
  type EventRange,
  finishChunks,
} from '../events/event-chunk-store.ts';
import { moveConsumer } from '../events/event-consumer-store.ts';
import type { EventType } from '../events/event-types.ts';
import type { Dimension } from './count-buckets.ts';
import type { CountedEvent } from './count-events.ts';
import { APPENDED_ROWS, type AppendedRow } from './counts-row.ts';
import { SCOPES, type ScopeRow, scopeParameters } from './fold-counts-store.ts';

/** Reads uncounted events, appends their counts and queries them. fold-counts-store.ts adds them up. */

/** Without a message, its id is empty. */
type UncountedEvent = [
  workspaceId: string,
  mode: Mode,
  type: EventType,
  messageId: string,
  createdAtMs: number,
  data: MessageData,
];

/** The fields of an event's data that are counted. */
interface MessageData {
  recipient?: string;
  recipients?: { email: string }[];
  content_bytes?: number;
  /** Of an inbound message. */
  size_bytes?: number;
  from?: string;
  template?: { key: string } | null;
  scheduled_at?: string | null;
  stream?: string;
  tags?: string[];
  bounce?: { reason?: string };
  reason?: string;
  report?: { previous_status?: string };
  smtp?: { mx?: string | null };
  machine?: boolean;
  first?: boolean;
}

/**
 * The events of a part of the log that are counted, as one JSON text: PostgreSQL and the driver take longer
 * for a row of several columns than this process takes to parse its JSON. Rejected: extracting fields in
 * PostgreSQL, which costs ten times as much; grouping by workspace and type, which saves nothing for one
 * workspace, and costs half as much again when each event is of another; and joining the messages, which
 * was two thirds of the statement. Most events follow the one that accepted their message within a second,
 * and that one has what is needed of it.
 */
const READ = `
select string_agg('["' || workspace_id::text || '","' || mode::text || '","' || type || '","'
         || coalesce(message_id::text, '') || '",'
         || (date_part('epoch', created_at) * 1000)::bigint::text || ',' || data::text || ']', ',') as uncounted
  from (
    select workspace_id, mode, type, created_at, message_id, data from events
     where (tx, id) > ($1::bigint, $2::uuid) and (tx, id) <= ($3::bigint, $4::uuid)
     order by tx, id limit $5) e
 where type like 'message.%' or type = 'inbound_message.received'`;

interface MessageEvent {
  workspaceId: string;
  mode: Mode;
  type: EventType;
  messageId: string;
  createdAtMs: number;
  data: MessageData;
}

/** What is counted of a message. */
interface MessageFacts {
  sender: string;
  template_key: string | null;
  stream: string | null;
  started_at: number;
}

/** By message id: those accepted last, whose other events mostly follow soon. */
export type AcceptedMessages = Map<string, MessageFacts>;

const ACCEPTED_MESSAGES_MAX = 10_000;

export async function readUncounted(
  pool: Pool,
  { from, to, events: limit }: EventRange,
  accepted: AcceptedMessages,
): Promise<CountedEvent[]> {
  const { rows } = await pool.query<{ uncounted: string | null }>({
    name: 'statistics-read',
    text: READ,
    values: [from.tx, from.id, to.tx, to.id, limit],
  });
  const uncounted = JSON.parse(`[${rows[0]?.uncounted ?? ''}]`) as UncountedEvent[];
  const events = uncounted.map(toMessageEvent);
  for (const event of events) {
    const facts = acceptedFacts(event);
    if (facts) accepted.set(event.messageId, facts);
  }
  // Looked up before the next await, because other batches remove entries meanwhile.
  const known = events.map(({ messageId }) => accepted.get(messageId));
  for (const id of accepted.keys()) {
    if (accepted.size <= ACCEPTED_MESSAGES_MAX) break;
    accepted.delete(id);
  }
  const others = await readMessages(
    pool,
    events.filter(({ messageId }, index) => messageId !== '' && !known[index]),
  );
  return events.map((event, index) =>
    toCountedEvent(event, known[index] ?? others.get(event.messageId)),
  );
}

function toMessageEvent([
  workspaceId,
  mode,
  type,
  messageId,
  createdAtMs,
  data,
]: UncountedEvent): MessageEvent {
  return { workspaceId, mode, type, messageId, createdAtMs, data };
}

/** Those of a scheduled message may have changed since it was accepted. */
function acceptedFacts({ type, createdAtMs, data }: MessageEvent): MessageFacts | undefined {
  if (type !== 'message.accepted' || data.from === undefined) return undefined;
  if (data.scheduled_at !== null || data.template === undefined) return undefined;
  return {
    sender: data.from,
    template_key: data.template?.key ?? null,
    stream: data.stream ?? null,
    started_at: createdAtMs,
  };
}

interface MessageKey {
  workspace_id: string;
  mode: Mode;
  id: string;
}

const MESSAGE_KEYS = recordset<MessageKey>({ workspace_id: 'uuid', mode: 'mode', id: 'uuid' });

async function readMessages(
  pool: Pool,
  events: readonly MessageEvent[],
): Promise<Map<string, MessageFacts>> {
  if (events.length === 0) return new Map();
  const keys = new Map<string, MessageKey>();
  for (const { messageId: id, workspaceId, mode } of events) {
    keys.set(id, { workspace_id: workspaceId, mode, id });
  }
  const { rows } = await pool.query<MessageFacts & { id: string }>({
    name: 'statistics-read-messages',
    text: `select k.id, m.* from ${MESSAGE_KEYS.table('k', 1)} cross join lateral (
        select sender, template_key, stream,
               date_part('epoch', greatest(created_at, scheduled_at)) * 1000 as started_at
          from messages
         where workspace_id = k.workspace_id and mode = k.mode and id = k.id limit 1) m`,
    values: MESSAGE_KEYS.parameters([...keys.values()]),
  });
  return new Map(rows.map((row) => [row.id, row]));
}

function toCountedEvent(event: MessageEvent, message: MessageFacts | undefined): CountedEvent {
  const { data } = event;
  return {
    workspaceId: event.workspaceId,
    mode: event.mode,
    type: event.type,
    createdAtMs: event.createdAtMs,
    recipient: data.recipient ?? null,
    recipients: (data.recipients ?? []).map(({ email }) => email),
    contentBytes: data.content_bytes ?? data.size_bytes ?? 0,
    tags: data.tags ?? [],
    bounceReason: data.bounce?.reason ?? null,
    suppressionReason: data.reason ?? null,
    afterDelivery: data.report !== undefined && data.report.previous_status !== 'deferred',
    mx: data.smtp?.mx ?? null,
    machine: data.machine ?? false,
    first: data.first ?? true,
    sender: message?.sender ?? null,
    templateKey: message?.template_key ?? null,
    stream: data.stream ?? message?.stream ?? null,
    startedAtMs: message?.started_at ?? null,
  };
}

export type StatsInterval = 'minute' | 'hour' | 'day';

/**
 * Appends counts in one statement with `done`, which finds no row if other processes have counted the
 * events, and then nothing is written. Only appending costs little where each message is of another
 * workspace: its 16 counters for the minute, the hour and the day would be 48 rows to find and change.
 */
function append(done: string, first: number): string {
  return `
with done as (${done}),
appended as (
    insert into statistics_appended (${APPENDED_ROWS.columns()})
    select ${APPENDED_ROWS.columns()} from ${APPENDED_ROWS.table('c', first)}
     where exists (select from done))
select count(*)::int as done from done`;
}

/** The position must still be where the batch begins. */
const APPEND_BATCH = append(
  `${moveConsumer('statistics', { tx: '$1', id: '$2', when: 'tx = $3 and id = $4' })} returning 1`,
  5,
);
const APPEND_CHUNKS = append(finishChunks('statistics', 1), 4);

/** Moves the position past the batch. Returns false when another process was faster. */
export async function writeCountsOfBatch(
  pool: Pool,
  { from, to }: EventRange,
  counts: readonly AppendedRow[],
): Promise<boolean> {
  const { rows } = await pool.query<{ done: number }>({
    name: 'statistics-append-batch',
    text: APPEND_BATCH,
    values: [to.tx, to.id, from.tx, from.id, ...APPENDED_ROWS.parameters(counts)],
  });
  return rows[0]?.done === 1;
}

/** Returns false, and writes nothing, when another process has taken one of them over. */
export async function writeCountsOfChunks(
  pool: Pool,
  chunks: readonly EventChunk[],
  counts: readonly AppendedRow[],
): Promise<boolean> {
  const { rows } = await pool.query<{ done: number }>({
    name: 'statistics-append-chunks',
    text: APPEND_CHUNKS,
    values: [...chunksParameters(chunks), ...APPENDED_ROWS.parameters(counts)],
  });
  return rows[0]?.done === chunks.length;
}

/**
 * The values of each scope and dimension that have their own rows, at most `limit`. One statement for
 * many workspaces, because most messages of an installation with many are from one that sends rarely.
 */
export async function readKnownValues<D extends Dimension>(
  pool: Pool,
  scopes: readonly TenantScope[],
  dimensions: readonly D[],
  sinceMs: number,
  limit: number,
): Promise<(ScopeRow & { dimension: D; values: string[] })[]> {
  const { rows } = await pool.query<ScopeRow & { dimension: D; values: string[] }>({
    name: 'statistics-values',
    text: `select k.workspace_id, k.mode, d.dimension, v.values
        from ${SCOPES.table('k', 4)} cross join unnest($1::text[]) as d(dimension)
       cross join lateral (
          select array_agg(value) as values from (
            select distinct value from statistics_by_day s
             where s.workspace_id = k.workspace_id and s.mode = k.mode
               and s.dimension = d.dimension and s.at >= $2 limit $3) found) v
       where v.values is not null`,
    values: [dimensions, sqlTime(sinceMs), limit, ...scopeParameters(scopes)],
  });
  return rows;
}

export interface StatsQuery {
  span: StatsInterval;
  fromMs: number;
  toMs: number;
  dimension: Dimension;
}

export interface TotalRow {
  value: string;
  counter: string;
  n: number;
}

/**
 * Totals over the whole range: one row per counter and value, for the values with most recipients
 * or for a single one. The number of values is limited, because tenants may have many.
 */
export async function readTotals(
  pool: Pool,
  scope: TenantScope,
  query: StatsQuery,
  wanted: { value: string | undefined; valuesMax: number },
): Promise<TotalRow[]> {
  const { rows } = await pool.query<TotalRow>({
    name: `statistics-totals-${query.span}`,
    text: `with sums as materialized (
        select value, counter, sum(n)::bigint as n from statistics_by_${query.span}
         where ${inRange(query.span)} and ($6::text is null or value = $6) group by value, counter),
      largest as (
        select value from sums group by value order by greatest(
            coalesce(sum(n) filter (where counter = 'accepted'), 0),
            coalesce(sum(n) filter (where counter in ('delivered', 'bounced')), 0)) desc, value
         limit $7)
      select value, counter, n from sums join largest using (value)`,
    values: [...rangeOf(scope, query), wanted.value ?? null, wanted.valuesMax],
  });
  return rows;
}

export interface PointRow {
  atMs: number;
  value: string;
  counts: Record<string, number>;
}

/** The counts of these values over time, at most `limit` points. */
export async function readPoints(
  pool: Pool,
  scope: TenantScope,
  query: StatsQuery,
  values: readonly string[],
  limit: number,
): Promise<PointRow[]> {
  const { rows } = await pool.query<PointRow>({
    name: `statistics-points-${query.span}`,
    text: `select at as "atMs", value, json_object_agg(counter, n) as counts
        from (select at, value, counter, sum(n)::bigint as n from statistics_by_${query.span}
               where ${inRange(query.span)} and value = any($6) group by at, value, counter) sums
       group by at, value order by at limit $7`,
    values: [...rangeOf(scope, query), values, limit],
  });
  return rows;
}

function inRange(span: StatsInterval): string {
  const scope = 'workspace_id = $1 and mode = $2 and dimension = $3 and at >= $4 and at < $5';
  if (span !== 'minute') return scope;
  return `${scope} and hour >= date_trunc('hour', $4::timestamptz, 'UTC') and hour < $5`;
}

function rangeOf(
  { workspaceId, mode }: TenantScope,
  { dimension, fromMs, toMs }: StatsQuery,
): unknown[] {
  return [workspaceId, mode, dimension, sqlTime(fromMs), sqlTime(toMs)];
}

const HOUR_MS = 3_600_000;

export async function deleteOldCounts(
  pool: Pool,
  { minutesBeforeMs, hoursBeforeMs }: { minutesBeforeMs: number; hoursBeforeMs: number },
): Promise<void> {
  await pool.query('delete from statistics_minutes where hour < $1', [
    sqlTime(minutesBeforeMs - HOUR_MS),
  ]);
  await pool.query('delete from statistics_minute where at < $1', [sqlTime(minutesBeforeMs)]);
  const hoursBefore = [sqlTime(hoursBeforeMs)];
  await pool.query('delete from statistics_hours where at < $1', hoursBefore);
  await pool.query('delete from statistics_hour where at < $1', hoursBefore);
}
