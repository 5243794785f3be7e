import pg from 'pg';
import type { Log } from '../base/log.ts';
import type { Places } from './database-url.ts';
import { PrimaryChooser } from './primary-chooser.ts';
import { rowTypes } from './row-types.ts';
import { isStorageGone } from './storage-gone.ts';

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
}

const CONNECT_TIMEOUT_MS = 5_000;
const STATEMENT_TIMEOUT_MS = 30_000;
const IDLE_IN_TRANSACTION_MS = 15_000;

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

class StoragePool extends pg.Pool {
  constructor(options: PoolOptions) {
    const chooser = new PrimaryChooser(options.places, options.log);
    super({
      max: options.max ?? 20,
      application_name: options.applicationName ?? 'postrider',
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      idleTimeoutMillis: 60_000,
      statement_timeout: options.statementTimeoutMs ?? STATEMENT_TIMEOUT_MS,
      // The server's own timeout comes first; this one is for a server that is silent.
      query_timeout: (options.statementTimeoutMs ?? STATEMENT_TIMEOUT_MS) + 5_000,
      idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
      keepAlive: true,
      keepAliveInitialDelayMillis: 30_000,
      types: rowTypes,
      Client: chooser.clientClass(),
      onConnect: async (client) => {
        await client.query("set timezone = 'UTC'");
        await chooser.check(client);
      },
    });
    // Without a listener the loss of a connection at rest would end the process.
    this.on('error', (error) => options.log.debug({ err: error }, 'a database connection ended'));
  }

  /**
   * pg's own drops the connection after any error. An answer such as a broken constraint leaves the
   * session as good as before, and a new one costs milliseconds.
   */
  override query = (async (...args: Parameters<pg.ClientBase['query']>) => {
    const values = takeValues(args);
    const client = await this.connect();
    let broken: Error | undefined;
    try {
      return await client.query(...args);
    } catch (error) {
      const answered = error instanceof pg.DatabaseError && !isStorageGone(error);
      if (!answered) broken = error as Error;
      throw error;
    } finally {
      client.release(broken);
      values.length = 0;
    }
  }) as unknown as pg.Pool['query'];
}

/**
 * Hands pg a list of the values that is its own, to be emptied when the statement has ended. With a
 * `query_timeout` a query stays in memory until the next full collection, and all that it holds: the
 * values of a group are half a megabyte, which called for a full collection every two seconds.
 */
function takeValues(args: unknown[]): unknown[] {
  const at = typeof args[0] === 'string' ? 1 : 0;
  const given = at === 1 ? args[1] : (args[0] as pg.QueryConfig).values;
  if (!Array.isArray(given)) return [];
  const values = [...given];
  args[at] = at === 1 ? values : { ...(args[0] as pg.QueryConfig), values };
  return values;
}
