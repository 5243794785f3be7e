import type { Mode, TenantScope } from '../accounts/tenant-scope.ts';
import type { Pool } from '../db/pool.ts';
import { sqlTime } from '../db/row-types.ts';
import { moveConsumer, readConsumerPosition } from '../events/event-consumer-store.ts';
import type { EventType } from '../events/event-types.ts';
import type { EventPosition } from '../events/events-store.ts';
import type { Count, CountedEvent, Dimension } from './count-events.ts';

/** Reads uncounted events, writes counts and queries them. */

export interface EventBatch {
  from: EventPosition;
  to: EventPosition;
  scanned: number;
  events: CountedEvent[];
}

interface UncountedRow {
  tx: number;
  id: string;
  workspace_id: string;
  mode: Mode;
  type: EventType;
  created_at: number;
  data: MessageData | null;
  sender: string | null;
  template_key: string | null;
  stream: string | null;
  started_at: number | null;
}

/** The fields of an event's data that are counted, for events about a message. */
interface MessageData {
  recipient?: string;
  recipients?: { email: string }[];
  content_bytes?: number;
  stream?: string;
  tags?: string[];
  bounce?: { reason?: string };
  report?: { previous_status?: string };
  smtp?: { mx?: string | null };
  machine?: boolean;
  first?: boolean;
}

/**
 * The next events after the consumer's cursor, with fields of their messages. The data is parsed in
 * this process: extracting fields in PostgreSQL costs ten times as much.
 */
export async function readUncounted(pool: Pool, limit: number): Promise<EventBatch> {
  const from = await readConsumerPosition(pool, 'statistics');
  const { rows } = await pool.query<UncountedRow>({
    name: 'statistics-read',
    text: `select e.tx, e.id, e.workspace_id, e.mode, e.type, e.created_at,
        case when e.type like 'message.%' then e.data end as data,
        m.sender, m.template_key, m.stream, greatest(m.created_at, m.scheduled_at) as started_at
      from (
        select * from events
         where (tx, id) > ($1::bigint, $2::uuid)
           and tx < event_log_horizon()
         order by tx, id limit $3) e
      left join lateral (
        select sender, template_key, stream, created_at, scheduled_at from messages
         where workspace_id = e.workspace_id and mode = e.mode and id = e.message_id limit 1) m
        on e.message_id is not null`,
    values: [from.tx, from.id, limit],
  });
  let to = from;
  for (const { tx, id } of rows) if (tx > to.tx || (tx === to.tx && id > to.id)) to = { tx, id };
  return { from, to, scanned: rows.length, events: rows.map(toCountedEvent) };
}

function toCountedEvent(row: UncountedRow): CountedEvent {
  const data = row.data ?? {};
  return {
    workspaceId: row.workspace_id,
    mode: row.mode,
    type: row.type,
    createdAtMs: row.created_at,
    recipient: data.recipient ?? null,
    recipients: (data.recipients ?? []).map(({ email }) => email),
    contentBytes: data.content_bytes ?? 0,
    tags: data.tags ?? [],
    bounceReason: data.bounce?.reason ?? null,
    afterDelivery: data.report !== undefined && data.report.previous_status !== 'deferred',
    mx: data.smtp?.mx ?? null,
    machine: data.machine ?? false,
    first: data.first ?? true,
    sender: row.sender,
    templateKey: row.template_key,
    stream: data.stream ?? row.stream,
    startedAtMs: row.started_at,
  };
}

const INTERVALS = ['minute', 'hour', 'day'] as const;
export type StatsInterval = (typeof INTERVALS)[number];

/**
 * Adds counts and advances the cursor in one statement, so all or nothing. The cursor must still be
 * where the batch was read from: of two nodes that counted the same events only one writes. Locking
 * its row also serializes writers, so counters are never locked in different orders.
 */
const WRITE = `
with moved as (
    ${moveConsumer('statistics', { tx: '$1', id: '$2', when: 'tx = $3 and id = $4' })} returning 1),
counts as materialized (
    select * from json_to_recordset($5::json) as c(
      w uuid, m mode, d text, v text, at timestamptz, c text, n bigint)
     where exists (select from moved)),
${INTERVALS.map(
  (span) => `${span} as (
    insert into statistics_${span} as s (workspace_id, mode, dimension, at, value, counter, n)
    select w, m, d, date_trunc('${span}', at, 'UTC'), v, c, sum(n) from counts
     group by 1, 2, 3, 4, 5, 6
        on conflict (workspace_id, mode, dimension, at, value, counter)
        do update set n = s.n + excluded.n)`,
).join(',\n')}
select count(*)::int as moved from moved`;

/** Returns false when another node was faster. */
export async function writeCounts(
  pool: Pool,
  { from, to }: Pick<EventBatch, 'from' | 'to'>,
  counts: readonly Count[],
): Promise<boolean> {
  const { rows } = await pool.query<{ moved: number }>({
    name: 'statistics-write',
    text: WRITE,
    values: [
      to.tx,
      to.id,
      from.tx,
      from.id,
      JSON.stringify(
        counts.map((count) => ({
          w: count.workspaceId,
          m: count.mode,
          d: count.dimension,
          v: count.value,
          at: sqlTime(count.atMs),
          c: count.counter,
          n: count.n,
        })),
      ),
    ],
  });
  return rows[0]?.moved === 1;
}

/** Values of a dimension that have their own rows, at most `limit`. */
export async function knownValues(
  pool: Pool,
  scope: { workspaceId: string; mode: Mode },
  dimension: Dimension,
  sinceMs: number,
  limit: number,
): Promise<string[]> {
  const { rows } = await pool.query<{ value: string }>({
    name: 'statistics-values',
    text: `select distinct value from statistics_day
      where workspace_id = $1 and mode = $2 and dimension = $3 and at >= $4 limit $5`,
    values: [scope.workspaceId, scope.mode, dimension, sqlTime(sinceMs), limit],
  });
  return rows.map((row) => row.value);
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
