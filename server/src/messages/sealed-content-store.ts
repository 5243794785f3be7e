import type { Queryable } from '../db/pool.ts';
import { sqlTime } from '../db/row-types.ts';
import type { Scope } from './message-store.ts';

/** How long a message that ended badly can still be tried again with its real words. */
const RETRYABLE_MS = 3 * 24 * 60 * 60 * 1000;

/**
 * Drops the sealed words of live messages that need them no more: all arrived or were given up, or
 * nobody asked for another try in days. Test messages keep theirs, for the test inbox. Returns how
 * many were dropped, `limit` at the most. Nodes share the work.
 */
export async function forgetSealed(db: Queryable, nowMs: number, limit: number): Promise<number> {
  const { rowCount } = await db.query(
    `update message_contents set sealed = ''
     where (workspace_id, mode, id) in (
       select c.workspace_id, c.mode, c.id from message_contents c
       where c.mode = 'live' and octet_length(c.sealed) > 0 and not exists (
         select from deliveries d
         where d.workspace_id = c.workspace_id and d.mode = c.mode and d.message_id = c.id
           and (d.status in ('scheduled', 'queued', 'deferred')
             or d.status in ('bounced', 'failed', 'expired') and d.finished_at > $1))
       limit $2 for update skip locked)`,
    [sqlTime(nowMs - RETRYABLE_MS), limit],
  );
  return rowCount ?? 0;
}

/** Whether the real words of a message are gone, so that it cannot be sent again. */
export async function isForgotten(db: Queryable, scope: Scope, id: string): Promise<boolean> {
  const { rowCount } = await db.query(
    `select from message_contents
     where workspace_id = $1 and mode = $2 and id = $3 and sealed = ''`,
    [scope.workspaceId, scope.mode, id],
  );
  return rowCount === 1;
}
