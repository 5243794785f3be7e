import type { Socket } from 'node:net';
import pg from 'pg';
import type { Log } from '../lib/log.ts';
import type { Places } from './database-url.ts';
import { chooserFor } from './primary-chooser.ts';
import { rowTypes } from './row-types.ts';
import { isNoConnection, isStorageGone } from './storage-gone.ts';

/**
 * The connections that every room shares. Out of it come rows with times as milliseconds and int8 as
 * numbers (row-types.ts). It promises: a statement ends within its timeout; a connection that broke
 * is not handed out again; one that only carried an error of its statement is kept; when the primary
 * moves among the given places, new connections follow it.
 */
export type Pool = StoragePool;
export type PoolClient = pg.PoolClient;

/** Anything statements can be sent to: the pool, or the client of an open transaction. */
export type Queryable = Pick<pg.ClientBase, 'query'>;

export interface PoolOptions {
  places: Places;
  log: Log;
  max?: number;
  applicationName?: string;
  statementTimeoutMs?: number;
  /** How long a server may owe an answer without a word; longer than its own timeout, unless told. */
  silentMsMax?: number;
}

const CONNECT_TIMEOUT_MS = 5_000;
const STATEMENT_TIMEOUT_MS = 30_000;
/** The server's own timeout comes first. */
const SILENT_LONGER_MS = 5_000;
const IDLE_IN_TRANSACTION_MS = 15_000;

/**
 * What our statements are made for, whoever's PostgreSQL it is. They are short: compiling or spreading
 * them costs more than it saves. And where ways of planning are switched off (events/feed-store.ts,
 * delivery/claim-store.ts) the planner reckons with costs of billions, for which every PostgreSQL that
 * can compile does so: a page of the feed took more than a second instead of some milliseconds.
 * As statements: a pooler in front refuses what it does not know in the greeting.
 */
function sessionFor(statementTimeoutMs: number): string {
  return [
    "set timezone = 'UTC'",
    `set statement_timeout = ${statementTimeoutMs}`,
    `set idle_in_transaction_session_timeout = ${IDLE_IN_TRANSACTION_MS}`,
    'set jit = off',
    'set max_parallel_workers_per_gather = 0',
    // Asked along with them: one round trip.
    'show transaction_read_only',
  ].join('; ');
}

/** How many connections a pool has, and how many wait for one. */
export type Connections = Pick<Pool, 'totalCount' | 'idleCount' | 'waitingCount'>;

export function connectionsOf({ totalCount, idleCount, waitingCount }: Pool): Connections {
  return { totalCount, idleCount, waitingCount };
}

/** Opens no connection by itself: the first statement does. */
export function openPool(options: PoolOptions): Pool {
  return new StoragePool(options);
}

/**
 * Runs `work` in one transaction: committed when it returns, rolled back when it throws. When the
 * connection is lost at the commit itself, whether it happened is unknown: the caller must be able
 * to do it again without harm.
 */
export async function inTransaction<T>(
  pool: Pool,
  work: (client: PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    await client.query('begin');
    const result = await work(client);
    await client.query('commit');
    return result;
  } catch (error) {
    // A lost session has nothing to undo; one whose rollback fails must not be used again.
    if (isStorageGone(error)) broken = error as Error;
    else {
      await client.query('rollback').catch((failure: Error) => {
        broken = failure;
      });
    }
    throw error;
  } finally {
    client.release(broken);
  }
}

/**
 * For work that takes as long as it takes. The session is the caller's alone: it must be ended with
 * `release(true)`.
 */
export async function withoutTimeouts(client: PoolClient): Promise<void> {
  streamOf(client).setTimeout(0);
  await client.query('set statement_timeout = 0');
}

class StoragePool extends pg.Pool {
  readonly #places: number;

  constructor(options: PoolOptions) {
    const chooser = chooserFor(options.places, options.log);
    const { statementTimeoutMs = STATEMENT_TIMEOUT_MS } = options;
    const session = sessionFor(statementTimeoutMs);
    super({
      max: options.max ?? 20,
      application_name: options.applicationName ?? 'postrider',
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      idleTimeoutMillis: 60_000,
      keepAlive: true,
      keepAliveInitialDelayMillis: 30_000,
      types: rowTypes,
      Client: chooser.clientClass(),
      onConnect: async (client) => {
        endWhenSilent(client, options.silentMsMax ?? statementTimeoutMs + SILENT_LONGER_MS);
        const answers = (await client.query(session)) as unknown as pg.QueryResult[];
        chooser.refuseStandby(client, answers.at(-1)?.rows[0].transaction_read_only !== 'off');
      },
    });
    this.#places = options.places.length;
    // Without a listener the loss of a connection at rest would end the process.
    this.on('error', (error) => options.log.debug({ err: error }, 'a database connection ended'));
  }

  /** The caller sees no failure while one of the places is the primary. */
  override connect = (async () => {
    for (let left = this.#places; ; left -= 1) {
      try {
        return await super.connect();
      } catch (error) {
        if (left === 1 || !isNoConnection(error)) throw error;
      }
    }
  }) as pg.Pool['connect'];

  /**
   * pg's own drops the connection after any error. An answer such as a broken constraint leaves the
   * session as good as before, and a new one costs milliseconds.
   */
  override query = (async (...args: Parameters<pg.ClientBase['query']>) => {
    const client = await this.connect();
    let broken: Error | undefined;
    try {
      return await ask(client, args);
    } catch (error) {
      // Where it was asked, instead of where the answer was read.
      if (error instanceof Error) Error.captureStackTrace(error);
      const answered = error instanceof pg.DatabaseError && !isStorageGone(error);
      if (!answered) broken = error as Error;
      throw error;
    } finally {
      client.release(broken);
    }
  }) as unknown as pg.Pool['query'];
}

/**
 * By a callback: the promises of pg keep each query, with its values and its rows, in memory until
 * the next full collection, and so call for one every two seconds under load. With `query_timeout` its
 * callbacks do, too.
 */
function ask(client: PoolClient, args: readonly unknown[]): Promise<pg.QueryResult> {
  const asked = client as unknown as { query(...args: unknown[]): void };
  return new Promise((resolve, reject) => {
    asked.query(...args, (error: Error | null, result: pg.QueryResult) => {
      if (error) reject(error);
      else resolve(result);
    });
  });
}

/** Ends a connection whose server owes an answer and says nothing. */
function endWhenSilent(client: pg.ClientBase, forMs: number): void {
  const inside = client as unknown as { readyForQuery: boolean };
  const stream = streamOf(client);
  stream.setTimeout(forMs).on('timeout', () => {
    if (!inside.readyForQuery) stream.destroy();
  });
}

function streamOf(client: pg.ClientBase): Socket {
  return (client as unknown as { connection: { stream: Socket } }).connection.stream;
}
