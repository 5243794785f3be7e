import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { systemClock } from '../../lib/time/clock.ts';
import { LOCK_CLASS, LOCKS } from '../lock-numbers.ts';

/**
 * Tracks the users of the embedded PostgreSQL with advisory locks of an open session. The locks end
 * with their process, however it ends, and cannot be confused by reused pids. A server holds the
 * server lock; servers and commands share the users lock. The last user stops the database.
 */
export interface Claim {
  /** Resolves when the connection is lost: PostgreSQL exited, or restarted its backends. */
  lost: Promise<void>;
  /** Releases the claim; returns true if no one else uses the database, which must then be stopped. */
  release(): Promise<boolean>;
}

export type Holder = 'server' | 'command';

export class AlreadyClaimedError extends Error {
  readonly holderPid: number | undefined;
  constructor(holderPid: number | undefined) {
    super(`Another server is using the database (process ${holderPid ?? 'unknown'}).`);
    this.name = 'AlreadyClaimedError';
    this.holderPid = holderPid;
  }
}

/** The session of a killed server ends as soon as its backend notices. */
const TAKEOVER_MS = 2_000;

export async function claim(connection: pg.ClientConfig, holder: Holder): Promise<Claim> {
  const client = new pg.Client({
    ...connection,
    database: 'postgres',
    application_name: `postrider ${holder} ${process.pid}`,
  });
  const lost = new Promise<void>((resolve) => {
    client.once('end', () => resolve());
    client.on('error', () => resolve());
  });
  await client.connect();
  try {
    await client.query('select pg_advisory_lock_shared($1, $2)', [LOCK_CLASS, LOCKS.users]);
    if (holder === 'server') await acquireServerLock(client);
  } catch (error) {
    await client.end().catch(() => {});
    throw error;
  }
  return { lost, release: () => releaseClaim(client) };
}

async function acquireServerLock(client: pg.Client): Promise<void> {
  const deadline = systemClock.now() + TAKEOVER_MS;
  for (;;) {
    const { rows } = await client.query<{ acquired: boolean }>(
      'select pg_try_advisory_lock($1, $2) as acquired',
      [LOCK_CLASS, LOCKS.server],
    );
    if (rows[0]?.acquired) return;
    if (systemClock.now() > deadline) throw new AlreadyClaimedError(await holderPid(client));
    await sleep(50);
  }
}

async function holderPid(client: pg.Client): Promise<number | undefined> {
  const { rows } = await client.query<{ name: string }>(
    `select a.application_name as name
       from pg_locks l join pg_stat_activity a on a.pid = l.pid
      where l.locktype = 'advisory' and l.granted and l.classid = $1::oid and l.objid = $2::oid`,
    [LOCK_CLASS, LOCKS.server],
  );
  const pid = Number(rows[0]?.name.split(' ').at(-1));
  return Number.isSafeInteger(pid) ? pid : undefined;
}

/**
 * The last user keeps the lock and the session until PostgreSQL stops: a process that tries to claim
 * it meanwhile waits and is disconnected, instead of using a database that is about to stop.
 */
async function releaseClaim(client: pg.Client): Promise<boolean> {
  try {
    await client.query('select pg_advisory_unlock_shared($1, $2)', [LOCK_CLASS, LOCKS.users]);
    const { rows } = await client.query<{ alone: boolean }>(
      'select pg_try_advisory_lock($1, $2) as alone',
      [LOCK_CLASS, LOCKS.users],
    );
    if (rows[0]?.alone) return true;
    await client.end();
    return false;
  } catch {
    // PostgreSQL is gone already, so no one else can be using it.
    return true;
  }
}
