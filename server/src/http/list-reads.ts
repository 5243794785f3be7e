import type { Caller } from '../accounts/caller.ts';
import type { Pool } from '../db/connections/pool.ts';
import { type Reads, readsFromPrimary } from '../db/connections/read-replica.ts';

export interface ListSources {
  pool: Pool;
  reads: Reads;
}

/**
 * Where a list is read. A screen lists what the person has just changed, so people read from the
 * primary; programs that need the latest state retrieve the object.
 */
export function listReads({ pool, reads }: ListSources, { keyId }: Caller): Reads {
  return keyId === undefined ? readsFromPrimary(pool) : reads;
}
