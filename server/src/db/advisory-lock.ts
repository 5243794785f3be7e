import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../lib/log.ts';
import type { Queryable } from './connections/pool.ts';
import { LOCK_CLASS_IN_SCHEMA, LOCKS } from './lock-numbers.ts';

/** Takes PostgreSQL advisory locks. */

const RETRY_MS = 100;
/** Short waits are not worth a log line, which commands would print. */
const LOG_AFTER_ATTEMPTS = 10;

/**
 * Makes sure that no server uses the installation, until the session is closed: one that starts waits
 * for the lock of the migrations. Returns false if a server is running.
 */
export async function acquireWithoutServers(session: Queryable): Promise<boolean> {
  await acquireSessionLock(session, LOCKS.migrations, 'migrating', {});
  return trySessionLock(session, LOCKS.servers);
}

/** Acquires the right to move a workspace, until the session is closed; false if another process has it. */
export async function acquireMove(session: Queryable, workspaceId: string): Promise<boolean> {
  for (let attempt = 0; attempt < MOVE_ATTEMPTS; attempt++) {
    const { rows } = await session.query<{ acquired: boolean }>(
      `select pg_try_advisory_lock(hashtextextended(
         concat_ws('/', current_schema(), 'move', $1::text), 0)) as acquired`,
      [workspaceId],
    );
    if (rows[0]?.acquired) return true;
    await sleep(RETRY_MS);
  }
  return false;
}

/** The database may need a moment to notice that the last process was killed. */
const MOVE_ATTEMPTS = 100;

/** How a process waits for a lock that another process holds. */
export interface LockWait {
  log?: Log;
  /** Ends the wait. */
  signal?: AbortSignal;
}

/**
 * Acquires a lock that the session holds until it is closed. Polls: a wait inside PostgreSQL could
 * not be aborted and would end at the session's lock timeout.
 */
export async function acquireSessionLock(
  session: Queryable,
  lock: number,
  purpose: string,
  { log, signal }: LockWait,
): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    if (await trySessionLock(session, lock)) return;
    if (attempt === LOG_AFTER_ATTEMPTS) log?.info(`waiting for another node to finish ${purpose}`);
    await sleep(RETRY_MS, undefined, signal ? { signal } : {}).catch(() => {
      signal?.throwIfAborted();
    });
  }
}

/** Acquires a lock that the session holds until it is closed, unless another session holds it. */
export async function trySessionLock(session: Queryable, lock: number): Promise<boolean> {
  const { rows } = await session.query<{ acquired: boolean }>(
    `select pg_try_advisory_lock(${LOCK_CLASS_IN_SCHEMA}, ${lock}) as acquired`,
  );
  return rows[0]?.acquired ?? false;
}

/**
 * Serializes changes of one kind in a workspace (deletions, statistics: on the server) until the
 * transaction ends, so that what was checked in it (a count, the absence of cycles) still holds at the commit.
 */
export async function lockForTransaction(
  db: Queryable,
  resource:
    | 'deletions'
    | 'domains'
    | 'imports'
    | 'inbound'
    | 'quotas'
    | 'statistics'
    | 'streams'
    | 'templates'
    | 'webhooks',
  workspaceId: string,
): Promise<void> {
  await db.query(
    `select pg_advisory_xact_lock(hashtextextended(
       concat_ws('/', nullif(current_schema(), 'public'), $1::text, $2::text), 0))`,
    [resource, workspaceId],
  );
}

/** Acquires a lock until the transaction ends, unless another session holds it. */
export async function tryLockForTransaction(db: Queryable, lock: number): Promise<boolean> {
  const { rows } = await db.query<{ acquired: boolean }>(
    `select pg_try_advisory_xact_lock(${LOCK_CLASS_IN_SCHEMA}, ${lock}) as acquired`,
  );
  return rows[0]?.acquired ?? false;
}
