import type { Mode, TenantScope } from '../accounts/tenant-scope.ts';
import type { Pool } from '../db/pool.ts';
import { recordset } from '../db/recordset.ts';
import { sqlTime } from '../db/row-types.ts';
import {
  chunkParameters,
  type EventChunk,
  type EventRange,
  finishChunk,
} from '../events/event-chunk-store.ts';
import { moveConsumer } from '../events/event-consumer-store.ts';
import type { EventType } from '../events/event-types.ts';
import type { Count, CountedEvent, Dimension } from './count-events.ts';

/** Reads uncounted events, writes counts and queries them. */

interface UncountedRow {
  workspace_id: string;
  mode: Mode;
  type: EventType;
  /** JSON, separated by commas. */
  data: string;
  /** The message and the time in milliseconds of each. */
  about: string;
}

/** The fields of an event's data that are counted, for events about a message. */
interface MessageData {
  recipient?: string;
  recipients?: { email: string }[];
  content_bytes?: number;
  from?: string;
  template?: { key: string } | null;
  scheduled_at?: string | null;
  stream?: string;
  tags?: string[];
  bounce?: { reason?: string };
  report?: { previous_status?: string };
  smtp?: { mx?: string | null };
  machine?: boolean;
  first?: boolean;
}

/**
 * The events of a part of the log that are counted, one row for each workspace and type: PostgreSQL and
 * the driver take longer for a row of several columns than this process takes to parse its JSON.
 * Rejected: extracting fields in PostgreSQL, which costs ten times as much, and joining the messages,
 * which was two thirds of the statement. Most events follow the one that accepted their message within
 * a second, and that one has what is needed of it.
 */
const READ = `
select e.workspace_id, e.mode, e.type, string_agg(e.data::text, ',') as data,
       string_agg(coalesce(e.message_id::text, '') || ' '
         || (date_part('epoch', e.created_at) * 1000)::bigint::text, ',') as about
  from (
    select workspace_id, mode, type, created_at, message_id, data from events
     where (tx, id) > ($1::bigint, $2::uuid) and (tx, id) <= ($3::bigint, $4::uuid)
     order by tx, id limit $5) e
 where e.type like 'message.%'
 group by e.workspace_id, e.mode, e.type`;

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
  const { rows } = await pool.query<UncountedRow>({
    name: 'statistics-read',
    text: READ,
    values: [from.tx, from.id, to.tx, to.id, limit],
  });
  const events = rows.flatMap(toMessageEvents);
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

function toMessageEvents(row: UncountedRow): MessageEvent[] {
  const { workspace_id: workspaceId, mode, type } = row;
  const about = row.about.split(',');
  return (JSON.parse(`[${row.data}]`) as MessageData[]).map((data, index) => {
    const one = about[index] as string;
    const space = one.indexOf(' ');
    const messageId = one.slice(0, space);
    return { workspaceId, mode, type, messageId, createdAtMs: Number(one.slice(space)), data };
  });
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
    contentBytes: data.content_bytes ?? 0,
    tags: data.tags ?? [],
    bounceReason: data.bounce?.reason ?? null,
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

const INTERVALS = ['minute', 'hour', 'day'] as const;
export type StatsInterval = (typeof INTERVALS)[number];

interface CountRow {
  w: string;
  m: Mode;
  d: Dimension;
  v: string;
  at: number;
  c: string;
  n: number;
}

const COUNTS = recordset<CountRow>({
  w: 'uuid',
  m: 'mode',
  d: 'text',
  v: 'text',
  at: 'timestamptz',
  c: 'text',
  n: 'bigint',
});

/**
 * Adds counts in one statement with `done`, which finds no row if other processes have counted the
 * events, and then nothing is written. Counters are locked in the order of their keys, because several
 * processes may write at the same time. If all are of one minute, as they nearly always are, no two are
 * of the same counter of an hour or day, and summing and sorting them here would be a fifth of the cost.
 */
function write(done: string, { first, minutes }: { first: number; minutes: 'one' | 'several' }) {
  const selected = (span: StatsInterval): string => {
    const at = `date_trunc('${span}', at, 'UTC')`;
    if (minutes === 'one') return `select w, m, d, ${at}, v, c, n from counts`;
    // In the order of `byKey`, whatever the collation of the database: both lock the same rows.
    return `select w, m, d collate "C", ${at}, v collate "C", c collate "C", sum(n) from counts
     group by 1, 2, 3, 4, 5, 6 order by 1, 2, 3, 4, 5, 6`;
  };
  return `
with done as (${done}),
counts as materialized (
    select * from ${COUNTS.table('c', first)} where exists (select from done)),
${INTERVALS.map(
  (span) => `${span} as (
    insert into statistics_${span} as s (workspace_id, mode, dimension, at, value, counter, n)
    ${selected(span)}
        on conflict (workspace_id, mode, dimension, at, value, counter)
        do update set n = s.n + excluded.n)`,
).join(',\n')}
select count(*)::int as done from done`;
}

const isOneMinute = (counts: readonly Count[]): boolean =>
  counts.every(({ atMs }) => atMs === counts[0]?.atMs);

/** The position must still be where the batch begins. */
const MOVED = `${moveConsumer('statistics', { tx: '$1', id: '$2', when: 'tx = $3 and id = $4' })} returning 1`;
const WRITE_BATCH = write(MOVED, { first: 5, minutes: 'several' });
const WRITE_BATCH_OF_MINUTE = write(MOVED, { first: 5, minutes: 'one' });

const FINISHED = finishChunk('statistics', 1);
const WRITE_CHUNK = write(FINISHED, { first: 4, minutes: 'several' });
const WRITE_CHUNK_OF_MINUTE = write(FINISHED, { first: 4, minutes: 'one' });

/** Moves the position past the batch. Returns false when another process was faster. */
export async function writeCountsOfBatch(
  pool: Pool,
  { from, to }: EventRange,
  counts: readonly Count[],
): Promise<boolean> {
  const { rows } = await pool.query<{ done: number }>({
    ...(isOneMinute(counts)
      ? { name: 'statistics-write-minute', text: WRITE_BATCH_OF_MINUTE }
      : { name: 'statistics-write', text: WRITE_BATCH }),
    values: [to.tx, to.id, from.tx, from.id, ...countParameters(counts)],
  });
  return rows[0]?.done === 1;
}

/** Returns false when another process has taken it over. */
export async function writeCountsOfChunk(
  pool: Pool,
  chunk: EventChunk,
  counts: readonly Count[],
): Promise<boolean> {
  const { rows } = await pool.query<{ done: number }>({
    ...(isOneMinute(counts)
      ? { name: 'statistics-write-chunk-minute', text: WRITE_CHUNK_OF_MINUTE }
      : { name: 'statistics-write-chunk', text: WRITE_CHUNK }),
    values: [...chunkParameters(chunk), ...countParameters(counts)],
  });
  return rows[0]?.done === 1;
}

function countParameters(counts: readonly Count[]): Buffer[] {
  return COUNTS.parameters(
    // As `countEvents` returns them in order, this is one pass.
    counts.toSorted(byKey).map((count) => ({
      w: count.workspaceId,
      m: count.mode,
      d: count.dimension,
      v: count.value,
      at: count.atMs,
      c: count.counter,
      n: count.n,
    })),
  );
}

/** The order in which all processes lock counters. */
function byKey(a: Count, b: Count): number {
  return (
    compare(a.workspaceId, b.workspaceId) ||
    compare(a.mode, b.mode) ||
    compare(a.dimension, b.dimension) ||
    compare(a.value, b.value) ||
    compare(a.counter, b.counter)
  );
}

function compare(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

interface ScopeRow {
  workspace_id: string;
  mode: Mode;
}

const SCOPES = recordset<ScopeRow>({ workspace_id: 'uuid', mode: 'mode' });

/**
 * The values of each scope and dimension that have their own rows, at most `limit`. One statement for
 * many workspaces, because most messages of an installation with many are from one that sends rarely.
 */
export async function readKnownValues(
  pool: Pool,
  scopes: readonly TenantScope[],
  dimensions: readonly Dimension[],
  sinceMs: number,
  limit: number,
): Promise<(ScopeRow & { dimension: Dimension; values: string[] })[]> {
  const { rows } = await pool.query<ScopeRow & { dimension: Dimension; values: string[] }>({
    name: 'statistics-values',
    text: `select k.workspace_id, k.mode, d.dimension, v.values
        from ${SCOPES.table('k', 4)} cross join unnest($1::text[]) as d(dimension)
       cross join lateral (
          select array_agg(value) as values from (
            select distinct value from statistics_day s
             where s.workspace_id = k.workspace_id and s.mode = k.mode
               and s.dimension = d.dimension and s.at >= $2 limit $3) found) v
       where v.values is not null`,
    values: [
      dimensions,
      sqlTime(sinceMs),
      limit,
      ...SCOPES.parameters(
        scopes.map(({ workspaceId, mode }) => ({ workspace_id: workspaceId, mode })),
      ),
    ],
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
        select value, counter, sum(n)::bigint as n from statistics_${query.span}
         where ${IN_RANGE} and ($6::text is null or value = $6) group by value, counter),
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
        from statistics_${query.span} where ${IN_RANGE} and value = any($6)
       group by at, value order by at limit $7`,
    values: [...rangeOf(scope, query), values, limit],
  });
  return rows;
}

const IN_RANGE = 'workspace_id = $1 and mode = $2 and dimension = $3 and at >= $4 and at < $5';

function rangeOf(
  { workspaceId, mode }: TenantScope,
  { dimension, fromMs, toMs }: StatsQuery,
): unknown[] {
  return [workspaceId, mode, dimension, sqlTime(fromMs), sqlTime(toMs)];
}

export async function deleteOldCounts(
  pool: Pool,
  span: 'minute' | 'hour',
  beforeMs: number,
): Promise<void> {
  await pool.query(`delete from statistics_${span} where at < $1`, [sqlTime(beforeMs)]);
}
