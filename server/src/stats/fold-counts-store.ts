import type { Mode, TenantScope } from '../accounts/tenant-scope.ts';
import { lockForTransaction } from '../db/advisory-lock.ts';
import { inTransaction, type Pool, type Queryable } from '../db/pool.ts';
import { recordset } from '../db/recordset.ts';
import { sqlTime } from '../db/row-types.ts';
import type { Dimension } from './count-buckets.ts';
import { type CountBucket, CountBuckets, type PackedCounts } from './count-buckets.ts';

/**
 * Adds appended counts to those of hours and days. Rows of statistics_recent come in, and in one commit
 * they move to statistics_minutes, and their sums are added to statistics_hour and statistics_day: each
 * count is in one of the two places at any time, and readers see both. Which rows are added when makes no
 * difference, so late events and crashes need no care.
 */

/** The counts of a minute, with a column for each dimension. */
export interface PackedRow {
  workspace_id: string;
  mode: Mode;
  at: number;
  totals: string | null;
  streams: string | null;
  tags: string | null;
  templates: string | null;
  domains: string | null;
  receivers: string | null;
}

const DIMENSION_COLUMNS = {
  totals: 'json',
  streams: 'json',
  tags: 'json',
  templates: 'json',
  domains: 'json',
  receivers: 'json',
} as const;

export const PACKED_COLUMNS = {
  workspace_id: 'uuid',
  mode: 'mode',
  at: 'timestamptz',
  ...DIMENSION_COLUMNS,
} as const;

const COLUMN_OF = {
  all: 'totals',
  stream: 'streams',
  tag: 'tags',
  template: 'templates',
  domain: 'domains',
  receiver: 'receivers',
} as const satisfies Record<Dimension, keyof PackedRow>;

const ALL_DIMENSIONS = Object.keys(COLUMN_OF) as Dimension[];

export function packedRow(minute: CountBucket): PackedRow {
  const { workspaceId, mode, atMs } = minute;
  const columns = packDimensions((dimension) => minute.pack(dimension));
  return { workspace_id: workspaceId, mode, at: atMs, ...columns };
}

type DimensionColumns = Pick<PackedRow, (typeof COLUMN_OF)[Dimension]>;

function packDimensions(pack: (dimension: Dimension) => string | null): DimensionColumns {
  return {
    totals: pack('all'),
    streams: pack('stream'),
    tags: pack('tag'),
    templates: pack('template'),
    domains: pack('domain'),
    receivers: pack('receiver'),
  };
}

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

/** Adds all recent counts of these workspaces and modes. */
export async function foldCounts(pool: Pool, scopes: readonly TenantScope[]): Promise<void> {
  while ((await foldNext(pool, scopes)) === ROWS_MAX);
}

/** Returns the number of rows. */
function foldNext(pool: Pool, scopes: readonly TenantScope[]): Promise<number> {
  return inTransaction(pool, async (client) => {
    // One process at a time, which is enough and cannot end in a deadlock.
    await lockForTransaction(client, 'statistics', '');
    const rows = await takeRecent(client, scopes);
    if (rows.length > 0) await writeFolded(client, rows);
    return rows.length;
  });
}

type TakenRow = Pick<PackedRow, 'workspace_id' | 'mode' | 'at'> & {
  [column in (typeof COLUMN_OF)[Dimension]]: PackedCounts | null;
};

async function takeRecent(db: Queryable, scopes: readonly TenantScope[]): Promise<TakenRow[]> {
  const { rows } = await db.query<TakenRow>({
    name: 'statistics-take-recent',
    text: `delete from statistics_recent where ctid = any(array(
        select r.ctid from ${SCOPES.table('k', 1)}
          join statistics_recent r on r.workspace_id = k.workspace_id and r.mode = k.mode
         limit ${ROWS_MAX}))
      returning workspace_id, mode, at, totals, streams, tags, templates, domains, receivers`,
    values: scopeParameters(scopes),
  });
  return rows;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

function sumMinutes(rows: readonly TakenRow[]): CountBucket[] {
  const minutes = new CountBuckets();
  for (const row of rows) {
    const minute = minutes.of(row.workspace_id, row.mode, row.at);
    for (const dimension of ALL_DIMENSIONS) {
      const packed = row[COLUMN_OF[dimension]];
      if (packed) minute.addPacked(dimension, packed);
    }
  }
  return minutes.all();
}

function sumBy(spanMs: number, parts: readonly CountBucket[]): CountBucket[] {
  const buckets = new CountBuckets();
  for (const part of parts) {
    const atMs = Math.floor(part.atMs / spanMs) * spanMs;
    buckets.of(part.workspaceId, part.mode, atMs).add(part);
  }
  return buckets.all();
}

type HourRow = Omit<PackedRow, 'at'> & { hour: number };

/** The minutes of each hour in one row, of which a workspace that sends rarely needs fewer than minutes. */
function hourRows(minutes: readonly CountBucket[]): HourRow[] {
  const hours = Map.groupBy(minutes, ({ workspaceId, mode, atMs }) =>
    [workspaceId, mode, Math.floor(atMs / HOUR_MS)].join(),
  );
  return [...hours.values()].map((group) => {
    const { workspaceId, mode, atMs } = group[0] as CountBucket;
    const hour = Math.floor(atMs / HOUR_MS) * HOUR_MS;
    const pack = (dimension: Dimension): string | null => {
      const members: string[] = [];
      for (const minute of group) {
        const packed = minute.pack(dimension);
        if (packed) members.push(`"${(minute.atMs - hour) / MINUTE_MS}":${packed}`);
      }
      return members.length > 0 ? `{${members.join()}}` : null;
    };
    return { workspace_id: workspaceId, mode, hour, ...packDimensions(pack) };
  });
}

interface CountRow {
  w: string;
  m: Mode;
  d: Dimension;
  v: string;
  at: number;
  c: string;
  n: number;
}

const MINUTES = recordset<HourRow>({
  workspace_id: 'uuid',
  mode: 'mode',
  hour: 'timestamptz',
  ...DIMENSION_COLUMNS,
});
const COUNTS = recordset<CountRow>({
  w: 'uuid',
  m: 'mode',
  d: 'text',
  v: 'text',
  at: 'timestamptz',
  c: 'text',
  n: 'bigint',
});

const upsert = (span: 'hour' | 'day', first: number): string => `
    insert into statistics_${span} as s (workspace_id, mode, dimension, at, value, counter, n)
    select w, m, d, at, v, c, n from ${COUNTS.table('c', first)}
        on conflict (workspace_id, mode, dimension, at, value, counter)
        do update set n = s.n + excluded.n`;

const HOURS_FIRST = 1 + MINUTES.width;
const WRITE_FOLDED = `
with minutes as (
    insert into statistics_minutes (${MINUTES.columns()})
    select ${MINUTES.columns()} from ${MINUTES.table('c', 1)}),
hours as (${upsert('hour', HOURS_FIRST)})
${upsert('day', HOURS_FIRST + COUNTS.width)}`;

async function writeFolded(db: Queryable, rows: readonly TakenRow[]): Promise<void> {
  const minutes = sumMinutes(rows);
  const hours = sumBy(HOUR_MS, minutes);
  await db.query({
    name: 'statistics-fold',
    text: WRITE_FOLDED,
    values: [
      ...MINUTES.parameters(hourRows(minutes)),
      ...countParameters(hours),
      ...countParameters(sumBy(DAY_MS, hours)),
    ],
  });
}

/** In the order of their keys, in which nodes of the previous release lock them too. */
function countParameters(buckets: readonly CountBucket[]): Buffer[] {
  return COUNTS.parameters(
    buckets
      .flatMap((bucket) => bucket.counts())
      .map(({ workspaceId, mode, dimension, value, atMs, counter, n }) => ({
        w: workspaceId,
        m: mode,
        d: dimension,
        v: value,
        at: atMs,
        c: counter,
        n,
      })),
  );
}

/** Workspaces and modes with recent counts of before a time, at most `limit`. */
export async function findUnfolded(
  db: Queryable,
  beforeMs: number,
  limit: number,
): Promise<TenantScope[]> {
  const { rows } = await db.query<TenantScope>(
    `select distinct workspace_id as "workspaceId", mode from (
       select workspace_id, mode from statistics_recent where at < $1 order by at limit $2) oldest`,
    [sqlTime(beforeMs), limit],
  );
  return rows;
}

/** Whether a workspace has no recent counts. */
export async function areCountsFolded(db: Queryable, workspaceId: string): Promise<boolean> {
  const { rowCount } = await db.query(
    'select from statistics_recent where workspace_id = $1 limit 1',
    [workspaceId],
  );
  return rowCount === 0;
}
