import type { Queryable } from './pool.ts';

/**
 * Who does the same in this workspace at the same moment waits until the transaction ends, so that
 * what was found out in it (how many there are, that nothing goes in a circle) is true at its commit.
 */
export async function takeTurn(
  db: Queryable,
  at: 'domains' | 'imports' | 'templates' | 'webhooks',
  workspaceId: string,
): Promise<void> {
  await db.query(`select pg_advisory_xact_lock(hashtextextended($1 || '/' || $2, 0))`, [
    at,
    workspaceId,
  ]);
}
