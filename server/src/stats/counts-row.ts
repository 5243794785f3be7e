import type { Mode } from '../accounts/tenant-scope.ts';
import { recordset } from '../db/recordset.ts';
import type { StatisticsRecentRow } from '../db/tables.ts';
import type { CountBucket, Dimension, PackedCounts } from './count-buckets.ts';

/**
 * The counts of a workspace and mode in a minute, hour or day as one row: a JSON column for each
 * dimension, and a column for each counter that is read for many workspaces at once.
 */
export type CountsRow = CountsKey & DimensionColumns & Pick<StatisticsRecentRow, Total>;

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

const ALL_DIMENSIONS = Object.keys(COLUMN_OF) as Dimension[];

/** The columns with the counts of a dimension. */
export const COUNT_COLUMNS = Object.values(COLUMN_OF);

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

/** Adds counts as they are stored, in the order of COUNT_COLUMNS. */
export function addCounts(bucket: CountBucket, dimensions: readonly (PackedCounts | null)[]): void {
  for (const [at, packed] of dimensions.entries()) {
    if (packed) bucket.addPacked(ALL_DIMENSIONS[at] as Dimension, packed);
  }
}

/** One of the dimensions as they are stored, in the order of COUNT_COLUMNS. */
export function packStored(
  dimensions: readonly (PackedCounts | null)[],
  dimension: Dimension,
): string | null {
  const packed = dimensions[ALL_DIMENSIONS.indexOf(dimension)];
  return packed ? JSON.stringify(packed) : null;
}
