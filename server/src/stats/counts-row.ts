import type { Mode } from '../accounts/tenant-scope.ts';
import type { StatisticsAppendedRow, StatisticsHoursRow } from '../db/schema/tables.ts';
import { recordset } from '../db/statements/recordset.ts';
import { ALL_DIMENSIONS, type CountBucket, type Dimension } from './count-buckets.ts';

/**
 * The counts of a workspace and mode in an hour or day as one row: a JSON column for each dimension, of
 * which readers mostly need one, and a column for each counter that is read for many workspaces at once.
 */
export type CountsRow = CountsKey & DimensionColumns & Pick<StatisticsHoursRow, Total>;

export interface CountsKey {
  workspace_id: string;
  mode: Mode;
  /** The start of the minute, hour or day. */
  at: number;
}

type DimensionColumns = Record<(typeof COLUMN_OF)[Dimension], string | null>;

const COLUMN_OF = {
  all: 'totals',
  stream: 'streams',
  tag: 'tags',
  template: 'templates',
  domain: 'domains',
  receiver: 'receivers',
} as const satisfies Record<Dimension, string>;

const KEY_COLUMNS = { workspace_id: 'uuid', mode: 'mode', at: 'timestamptz' } as const;

export const DIMENSION_COLUMNS = {
  totals: 'json',
  streams: 'json',
  tags: 'json',
  templates: 'json',
  domains: 'json',
  receivers: 'json',
} as const;

const TOTALS = {
  messages: 'integer',
  accepted: 'integer',
  content_bytes: 'bigint',
  delivered: 'integer',
  bounced: 'integer',
  bounced_later: 'integer',
  complained: 'integer',
  failed: 'integer',
  expired: 'integer',
} as const;
type Total = keyof typeof TOTALS;

export const COUNTS_KEYS = recordset<CountsKey>(KEY_COLUMNS);

export const COUNTS_ROWS = recordset<CountsRow>({
  ...KEY_COLUMNS,
  ...DIMENSION_COLUMNS,
  ...TOTALS,
});

export const NOT_KEY_COLUMNS = Object.keys({ ...DIMENSION_COLUMNS, ...TOTALS });

export function countsKey({ workspaceId, mode, atMs }: CountBucket): CountsKey {
  return { workspace_id: workspaceId, mode, at: atMs };
}

export function countsRow(bucket: CountBucket): CountsRow {
  const totals = bucket.sumsOf('all', '');
  const total = (counter: Total): number | null => totals.get(counter) ?? null;
  return {
    ...countsKey(bucket),
    ...packDimensions((dimension) => bucket.pack(dimension)),
    messages: total('messages'),
    accepted: total('accepted'),
    content_bytes: total('content_bytes'),
    delivered: total('delivered'),
    bounced: total('bounced'),
    bounced_later: total('bounced_later'),
    complained: total('complained'),
    failed: total('failed'),
    expired: total('expired'),
  };
}

export function packDimensions(pack: (dimension: Dimension) => string | null): DimensionColumns {
  return {
    totals: pack('all'),
    streams: pack('stream'),
    tags: pack('tag'),
    templates: pack('template'),
    domains: pack('domain'),
    receivers: pack('receiver'),
  };
}

/** The counts of a dimension in a row of hours or days. */
export const COUNTS_AS_JSON = `'{' || concat_ws(',', ${ALL_DIMENSIONS.map(
  (dimension) => `'"${dimension}":' || ${COLUMN_OF[dimension]}::text`,
).join(', ')}) || '}'`;

/**
 * The counts of a workspace and mode in a minute, in the order in which they are appended: in one JSON
 * column, which costs less to write and to delete, and fewer other columns.
 */
export type AppendedRow = CountsKey & { counts: string } & Pick<StatisticsAppendedRow, Outcome>;

const OUTCOMES = {
  messages: 'integer',
  delivered: 'integer',
  bounced: 'integer',
  bounced_later: 'integer',
  complained: 'integer',
  failed: 'integer',
  expired: 'integer',
} as const;
type Outcome = keyof typeof OUTCOMES;

export const APPENDED_ROWS = recordset<AppendedRow>({
  ...KEY_COLUMNS,
  counts: 'json',
  ...OUTCOMES,
});

export function appendedRow(bucket: CountBucket): AppendedRow {
  const totals = bucket.sumsOf('all', '');
  return {
    workspace_id: bucket.workspaceId,
    mode: bucket.mode,
    at: bucket.atMs,
    counts: bucket.packAll(),
    messages: totals.get('messages') ?? null,
    delivered: totals.get('delivered') ?? null,
    bounced: totals.get('bounced') ?? null,
    bounced_later: totals.get('bounced_later') ?? null,
    complained: totals.get('complained') ?? null,
    failed: totals.get('failed') ?? null,
    expired: totals.get('expired') ?? null,
  };
}
