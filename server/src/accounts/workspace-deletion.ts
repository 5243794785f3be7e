import { lockForTransaction } from '../db/advisory-lock.ts';
import type { Queryable } from '../db/connections/pool.ts';
import { RefusedError } from '../lib/refused-error.ts';
import type { Deletion } from './workspace.ts';
import { otherWorkspaceStays, setDeletion } from './workspace-store.ts';

/**
 * Schedules a workspace for deletion. Until the purge starts it is kept, its live mail is held, and it
 * can be restored. A server keeps at least one workspace, and with it an owner. Requires a transaction.
 */
export async function scheduleDeletion(
  db: Queryable,
  id: string,
  deletion: Deletion,
): Promise<void> {
  await lockDeletions(db);
  if (!(await otherWorkspaceStays(db, id))) {
    const detail = 'The last workspace of a server cannot be deleted.';
    throw new RefusedError('last_workspace', detail);
  }
  if (!(await setDeletion(db, id, deletion))) throw beingPurged();
}

/**
 * Without the lock, two concurrent requests could delete the last two workspaces. It comes before locks
 * of rows.
 */
export function lockDeletions(db: Queryable): Promise<void> {
  return lockForTransaction(db, 'deletions', '');
}

export async function restoreWorkspace(db: Queryable, id: string): Promise<void> {
  if (!(await setDeletion(db, id, null))) throw beingPurged();
}

function beingPurged(): RefusedError {
  return new RefusedError('conflict', 'This workspace is already being deleted.');
}
