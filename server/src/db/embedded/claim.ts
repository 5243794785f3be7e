import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { systemClock } from '../../lib/clock.ts';

/**
 * Who uses the embedded PostgreSQL is kept in PostgreSQL: locks of a session that stays open. They
 * end with the process that holds them, however it ends, and no reused pid can pretend to hold one.
 * A server takes both locks, a command only its share of the second: whoever finds itself alone on
 * leaving switches the database off.
 */
export interface Claim {
  /** Settles when the connection is gone: PostgreSQL ended, or its backends were restarted. */
  lost: Promise<void>;
  /** Gives up the claim; true when nobody else uses the database, which must then be stopped. */
  release(): Promise<boolean>;
}

export type Holder = 'server' | 'command';

export class AlreadyClaimedError extends Error {
  readonly holderPid: number | undefined;
  constructor(holderPid: number | undefined) {
    super(`Another server holds the database (process ${holderPid ?? 'unknown'}).`);
    this.name = 'AlreadyClaimedError';
    this.holderPid = holderPid;
  }
}

// The first number is ours among all advisory locks ("post"), the second tells the two apart.
const LOCKS = 0x706f7374;
const THE_SERVER = 1;
const ALL_USERS = 2;

/** The session of a server killed a moment ago ends as soon as its backend notices. */
const HAND_OVER_MS = 2_000;

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
    await client.query('select pg_advisory_lock_shared($1, $2)', [LOCKS, ALL_USERS]);
    if (holder === 'server') await claimAlone(client);
  } catch (error) {
    await client.end().catch(() => {});
    throw error;
  }
  return { lost, release: () => leave(client) };
}

async function claimAlone(client: pg.Client): Promise<void> {
  const deadline = systemClock.now() + HAND_OVER_MS;
  for (;;) {
    const { rows } = await client.query<{ got: boolean }>(
      'select pg_try_advisory_lock($1, $2) as got',
      [LOCKS, THE_SERVER],
    );
    if (rows[0]?.got) return;
    if (systemClock.now() > deadline) throw new AlreadyClaimedError(await holderPid(client));
    await sleep(50);
  }
}

async function holderPid(client: pg.Client): Promise<number | undefined> {
  const { rows } = await client.query<{ name: string }>(
    `select a.application_name as name
       from pg_locks l join pg_stat_activity a on a.pid = l.pid
      where l.locktype = 'advisory' and l.granted and l.classid = $1::oid and l.objid = $2::oid`,
    [LOCKS, THE_SERVER],
  );
  const pid = Number(rows[0]?.name.split(' ').at(-1));
  return Number.isSafeInteger(pid) ? pid : undefined;
}

/**
 * When alone we keep the lock and the session until PostgreSQL goes down with both: whoever asks
 * meanwhile waits for us and is cut off with us, instead of settling in a database about to end.
 */
async function leave(client: pg.Client): Promise<boolean> {
  try {
    await client.query('select pg_advisory_unlock_shared($1, $2)', [LOCKS, ALL_USERS]);
    const { rows } = await client.query<{ alone: boolean }>(
      'select pg_try_advisory_lock($1, $2) as alone',
      [LOCKS, ALL_USERS],
    );
    if (rows[0]?.alone) return true;
    await client.end();
    return false;
  } catch {
    // It is gone already, so there is nobody to leave it to.
    return true;
  }
}
