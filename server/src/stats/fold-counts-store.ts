import type { Mode, TenantScope } from '../accounts/tenant-scope.ts';
import { lockForTransaction } from '../db/advisory-lock.ts';
import { inTransaction, type Pool, type Queryable } from '../db/connections/pool.ts';
import { sqlTime } from '../db/schema/row-types.ts';
import { recordset } from '../db/statements/recordset.ts';
import {
  type CountBucket,
  CountBuckets,
  type Dimension,
  type StoredCounts,
} from './count-buckets.ts';
import {
  COUNTS_AS_JSON,
  COUNTS_KEYS,
  COUNTS_ROWS,
  type CountsKey,
  countsKey,
  countsRow,
  DIMENSION_COLUMNS,
  NOT_KEY_COLUMNS,
  packDimensions,
} from './counts-row.ts';

/**
 * Adds appended counts to those of hours and days. Rows of statistics_appended come in, and in one commit
 * they move to statistics_minutes, and their sums are added to the rows of statistics_hours and
 * statistics_days: each count is in one of the two places at any time, and readers see both. Which rows are
 * added when makes no difference, so late events and crashes need no care.
 */

export interface ScopeRow {
  workspace_id: string;
  mode: Mode;
}

export const SCOPES = recordset<ScopeRow>({ workspace_id: 'uuid', mode: 'mode' });

export function scopeParameters(scopes: readonly TenantScope[]): Buffer[] {
  return SCOPES.parameters(
    scopes.map(({ workspaceId, mode }) => ({ workspace_id: workspaceId, mode })),
  );
}

/** Rows in a transaction. One of a workspace with very many tags can have 150 KB. */
const ROWS_MAX = 200;

/** Adds all appended counts of these workspaces and modes. */
export async function foldCounts(pool: Pool, scopes: readonly TenantScope[]): Promise<void> {
  while ((await foldNext(pool, scopes)) >= ROWS_MAX);
}

/** Returns the number of rows. */
function foldNext(pool: Pool, scopes: readonly TenantScope[]): Promise<number> {
  return inTransaction(pool, async (client) => {
    // One process at a time, which is enough and cannot end in a deadlock.
    await lockForTransaction(client, 'statistics', '');
    const rows = await takeAppended(client, scopes);
    if (rows.length === 0) return 0;
    const hours = new CountBuckets();
    addRows(hours, rows, HOUR_MS);
    const sums = { hours: hours.all(), days: sumDays(hours.all()) };
    await addStored(client, sums);
    await writeFolded(client, hourRows(rows), sums);
    return rows.length;
  });
}

type StoredRow = [workspaceId: string, mode: Mode, atMs: number, counts: StoredCounts];

/** Rows as JSON, which this process reads faster than rows of several columns. */
const rowsAsJson = (counts: string): string => `coalesce(string_agg(
    '["' || workspace_id::text || '","' || mode::text || '",'
    || (date_part('epoch', at) * 1000)::bigint::text || ',' || ${counts} || ']', ','), '')`;

const ofScopes = (table: string): string => `where ctid = any(array(
        select r.ctid from ${SCOPES.table('k', 1)}
          join ${table} r on r.workspace_id = k.workspace_id and r.mode = k.mode
         limit ${ROWS_MAX}))`;

/** The previous release appends to statistics_recent. */
const TAKE = `
with taken as (
    delete from statistics_appended ${ofScopes('statistics_appended')}
    returning workspace_id, mode, at, counts::text as counts),
previous as (
    delete from statistics_recent ${ofScopes('statistics_recent')}
    returning workspace_id, mode, at, ${COUNTS_AS_JSON} as counts)
select ${rowsAsJson('counts')} as taken from (select * from taken union all select * from previous) t`;

async function takeAppended(db: Queryable, scopes: readonly TenantScope[]): Promise<StoredRow[]> {
  const { rows } = await db.query<{ taken: string }>({
    name: 'statistics-take-appended',
    text: TAKE,
    values: scopeParameters(scopes),
  });
  return JSON.parse(`[${rows[0]?.taken ?? ''}]`) as StoredRow[];
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** To the buckets of the spans that their minutes belong to. */
function addRows(buckets: CountBuckets, rows: readonly StoredRow[], spanMs: number): void {
  for (const [workspaceId, mode, atMs, counts] of rows) {
    buckets.of(workspaceId, mode, atMs - (atMs % spanMs)).addStored(counts);
  }
}

function sumDays(hours: readonly CountBucket[]): CountBucket[] {
  const days = new CountBuckets();
  for (const hour of hours) {
    days.of(hour.workspaceId, hour.mode, hour.atMs - (hour.atMs % DAY_MS)).add(hour);
  }
  return days.all();
}

type HourRow = Omit<CountsKey, 'at'> & { hour: number } & ReturnType<typeof packDimensions>;

/** The minutes of each hour in one row, of which a workspace that sends rarely needs fewer than minutes. */
function hourRows(rows: readonly StoredRow[]): HourRow[] {
  const hours = Map.groupBy(rows, ([workspaceId, mode, atMs]) =>
    [workspaceId, mode, Math.floor(atMs / HOUR_MS)].join(),
  );
  return [...hours.values()].map((group) => {
    const [workspaceId, mode, atMs] = group[0] as StoredRow;
    const hour = atMs - (atMs % HOUR_MS);
    const minutes = [...Map.groupBy(group, (row) => (row[2] - hour) / MINUTE_MS)].map(
      ([minute, same]) => [minute, packMinute(same)] as const,
    );
    const packHour = (dimension: Dimension): string | null => {
      const members: string[] = [];
      for (const [minute, pack] of minutes) {
        const packed = pack(dimension);
        if (packed !== null) members.push(`"${minute}":${packed}`);
      }
      return members.length > 0 ? `{${members.join()}}` : null;
    };
    return { workspace_id: workspaceId, mode, hour, ...packDimensions(packHour) };
  });
}

/** Rows of the same minute. A workspace that sends rarely has one, which is stored as it is. */
function packMinute(rows: readonly StoredRow[]): (dimension: Dimension) => string | null {
  const [workspaceId, mode, atMs, counts] = rows[0] as StoredRow;
  if (rows.length === 1) {
    return (dimension) => {
      const packed = counts[dimension];
      return packed ? JSON.stringify(packed) : null;
    };
  }
  const minute = new CountBuckets();
  addRows(minute, rows, MINUTE_MS);
  return (dimension) => minute.of(workspaceId, mode, atMs).pack(dimension);
}

interface HoursAndDays {
  hours: readonly CountBucket[];
  days: readonly CountBucket[];
}

const stored = (span: 'hour' | 'day', first: number): string => `
      select '${span}' as span, k.workspace_id, k.mode, k.at, s.*
        from ${COUNTS_KEYS.table('k', first)} cross join lateral (
          select ${COUNTS_AS_JSON} as counts from statistics_${span}s s
           where s.workspace_id = k.workspace_id and s.mode = k.mode and s.at = k.at for update) s`;

/** Locked, so that counts of a workspace that is being deleted do not come back. */
const READ_STORED = `
  select span, ${rowsAsJson('counts')} as stored from (
      ${stored('hour', 1)} union all ${stored('day', 1 + COUNTS_KEYS.width)}) s group by span`;

/** Adds what is stored of these hours and days, which only the holder of the lock changes. */
async function addStored(db: Queryable, { hours, days }: HoursAndDays): Promise<void> {
  const { rows } = await db.query<{ span: 'hour' | 'day'; stored: string }>({
    name: 'statistics-read-stored',
    text: READ_STORED,
    values: [hours, days].flatMap((buckets) => COUNTS_KEYS.parameters(buckets.map(countsKey))),
  });
  const buckets = { hour: new CountBuckets(hours), day: new CountBuckets(days) };
  const spanMs = { hour: HOUR_MS, day: DAY_MS };
  for (const { span, stored } of rows) {
    addRows(buckets[span], JSON.parse(`[${stored}]`) as StoredRow[], spanMs[span]);
  }
}

const MINUTES = recordset<HourRow>({
  workspace_id: 'uuid',
  mode: 'mode',
  hour: 'timestamptz',
  ...DIMENSION_COLUMNS,
});

/** Of all columns but the key, so a row contains the sums. */
const upsert = (span: 'hour' | 'day', first: number): string => `
    insert into statistics_${span}s (${COUNTS_ROWS.columns()})
    select ${COUNTS_ROWS.columns()} from ${COUNTS_ROWS.table('c', first)}
        on conflict (workspace_id, mode, at)
        do update set ${NOT_KEY_COLUMNS.map((name) => `${name} = excluded.${name}`).join(', ')}`;

const HOURS_FIRST = 1 + MINUTES.width;
const WRITE_FOLDED = `
with minutes as (
    insert into statistics_minutes (${MINUTES.columns()})
    select ${MINUTES.columns()} from ${MINUTES.table('c', 1)}),
hours as (${upsert('hour', HOURS_FIRST)})
${upsert('day', HOURS_FIRST + COUNTS_ROWS.width)}`;

async function writeFolded(
  db: Queryable,
  minutes: readonly HourRow[],
  { hours, days }: HoursAndDays,
): Promise<void> {
  await db.query({
    name: 'statistics-fold',
    text: WRITE_FOLDED,
    values: [
      ...MINUTES.parameters(minutes),
      ...COUNTS_ROWS.parameters(hours.map(countsRow)),
      ...COUNTS_ROWS.parameters(days.map(countsRow)),
    ],
  });
}

/** Workspaces and modes with appended counts of before a time, at most `limit`. */
export async function findUnfolded(
  db: Queryable,
  beforeMs: number,
  limit: number,
): Promise<TenantScope[]> {
  const oldest = (table: string): string =>
    `(select workspace_id, mode from ${table} where at < $1 order by at limit $2)`;
  const { rows } = await db.query<TenantScope>(
    `select workspace_id as "workspaceId", mode from ${oldest('statistics_appended')} a
      union select workspace_id, mode from ${oldest('statistics_recent')} r limit $2`,
    [sqlTime(beforeMs), limit],
  );
  return rows;
}

/** Whether a workspace has no appended counts. */
export async function areCountsFolded(db: Queryable, workspaceId: string): Promise<boolean> {
  const { rowCount } = await db.query(
    `select from (select workspace_id from statistics_appended
        union all select workspace_id from statistics_recent) a
      where workspace_id = $1 limit 1`,
    [workspaceId],
  );
  return rowCount === 0;
}
