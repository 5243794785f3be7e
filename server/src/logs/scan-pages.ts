/**
 * Pages of a log that is filtered by scanning it backwards in time. One call scans a bounded number of
 * rows: a page may be short or even empty and still have a next one.
 */

export interface ScanBounds {
  /** Exclusive. */
  beforeId: string;
  /** Inclusive. */
  sinceId: string;
  scanMax: number;
}

export interface Scan<Row> {
  /** The rows that match, newest first. */
  matches: Row[];
  scanned: number;
  /** The last row scanned. */
  lastId: string | null;
}

export interface LogPage<Row> {
  rows: Row[];
  nextBeforeId: string | null;
}

const SCAN_STEP = 500;
const SCANNED_MAX = 10_000;

export async function scanPage<Row extends { id: string }>(
  page: { beforeId: string; sinceId: string; limit: number; isFiltered: boolean },
  scan: (bounds: ScanBounds) => Promise<Scan<Row>>,
): Promise<LogPage<Row>> {
  const { sinceId, limit, isFiltered } = page;
  const scanMax = isFiltered ? SCAN_STEP : limit + 1;
  const rows: Row[] = [];
  let { beforeId } = page;
  for (let scanned = 0; scanned < SCANNED_MAX; ) {
    const step = await scan({ beforeId, sinceId, scanMax });
    for (const match of step.matches) {
      if (rows.length === limit) return { rows, nextBeforeId: (rows.at(-1) as Row).id };
      rows.push(match);
    }
    if (step.scanned < scanMax) return { rows, nextBeforeId: null };
    beforeId = step.lastId as string;
    scanned += step.scanned;
  }
  return { rows, nextBeforeId: beforeId };
}
