import type { Pool } from './pool.ts';

/** The database's clock, to hold ours against; nothing is ever stored by it. */
export async function databaseTimeMs(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ ms: number }>(
    'select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms',
  );
  return rows[0]?.ms ?? Number.NaN;
}
