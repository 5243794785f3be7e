/**
 * Delivery latency as a histogram with four buckets per doubling: percentiles are accurate within
 * 10%, and the counts of different minutes can be added up.
 */
const PER_DOUBLING = 4;
/** Everything above four days is in the last bucket. */
const BUCKET_MAX = 116;

export function bucketOf(ms: number): number {
  if (ms < 1) return 0;
  return Math.min(BUCKET_MAX, 1 + Math.floor(PER_DOUBLING * Math.log2(ms)));
}

/** The middle of a bucket, in milliseconds. */
export function bucketMs(bucket: number): number {
  return bucket === 0 ? 0 : Math.round(2 ** ((bucket - 0.5) / PER_DOUBLING));
}

/** The latency that `share` of all values do not exceed; null when there are none. */
export function percentileMs(counts: ReadonlyMap<number, number>, share: number): number | null {
  const total = [...counts.values()].reduce((sum, n) => sum + n, 0);
  if (total === 0) return null;
  let left = Math.max(1, Math.ceil(total * share));
  for (const [bucket, n] of [...counts].sort(([a], [b]) => a - b)) {
    left -= n;
    if (left <= 0) return bucketMs(bucket);
  }
  return null;
}
