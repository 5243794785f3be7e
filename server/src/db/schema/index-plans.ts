import type { Pool } from '../connections/pool.ts';

/**
 * Plans are cached for a long time while tables grow from nothing to millions of rows, and a plan
 * that suited an empty table (read everything, then sort) would be ruinous an hour later. Every
 * statement of a queue is a few lookups by key in index order, so its sessions allow nothing else.
 * The pool must be the queue's own.
 */
export function disableNonIndexPlans(pool: Pool, more: readonly string[] = []): void {
  const settings = NON_INDEX_METHODS.map((method) => `set enable_${method} = off`);
  const text = [...settings, ...more].join('; ');
  pool.on('connect', (client) => {
    client.query(text).catch(() => {});
  });
}

const NON_INDEX_METHODS = ['seqscan', 'bitmapscan', 'hashjoin', 'mergejoin'];
