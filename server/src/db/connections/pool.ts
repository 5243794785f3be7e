import type { Socket } from 'node:net';
import pg from 'pg';
import type { Log } from '../../lib/log.ts';
import { continueOnTimeline, type LogTimeline, READ_LOG_TIMELINE } from '../event-log-offset.ts';
import { SHOW_SERVER } from '../lock-numbers.ts';
import { rowTypes } from '../schema/row-types.ts';
import { isConnectionError, isNoConnection } from './database-errors.ts';
import { applicationNameIn, type DatabaseHosts, setSearchPath } from './database-url.ts';
import { type DatabaseRole, primarySelector } from './primary-selector.ts';

/**
 * The connection pool. Rows have times as milliseconds and int8 as numbers (row-types.ts). It
 * guarantees that a statement ends within its timeout, that a broken connection is not reused while
 * one with a failed statement is, that new connections follow the primary among several hosts, and that
 * the event log continues in order after a promotion.
 */
export type Pool = StoragePool;
export type PoolClient = pg.PoolClient;

/** Anything that runs statements: the pool, or the client of an open transaction. */
export type Queryable = Pick<pg.ClientBase, 'query'>;

export interface PoolOptions {
  hosts: DatabaseHosts;
  log: Log;
  max?: number;
  applicationName?: string;
  statementTimeoutMs?: number;
  /** A server's own pool, whose connections show that it is running. */
  isServer?: boolean;
  /** `standby` for reads only. */
  role?: DatabaseRole;
  /** A connection is closed if the server sends nothing for this long while a statement runs. */
  unresponsiveMsMax?: number;
}

const CONNECT_TIMEOUT_MS = 5_000;
const STATEMENT_TIMEOUT_MS = 30_000;
/** The statement timeout of the server comes first. */
const UNRESPONSIVE_MARGIN_MS = 5_000;
const IDLE_IN_TRANSACTION_MS = 15_000;

/**
 * Session settings that the statements rely on. JIT and parallel plans are off, because the statements
 * are short and would lose more than they gain: where plan types are disabled (events/feed-store.ts,
 * messages/deliveries/claim-store.ts) the planner assumes costs of billions and would always use JIT, which made
 * a page of the feed take more than a second instead of milliseconds. Sent as statements, because
 * poolers reject unknown startup parameters.
 */
function sessionSetup(statementTimeoutMs: number, { hosts, isServer }: PoolOptions): string[] {
  return [
    ...setSearchPath(hosts[0]),
    ...(isServer ? [SHOW_SERVER] : []),
    "set timezone = 'UTC'",
    `set statement_timeout = ${statementTimeoutMs}`,
    `set idle_in_transaction_session_timeout = ${IDLE_IN_TRANSACTION_MS}`,
    'set jit = off',
    'set max_parallel_workers_per_gather = 0',
  ];
}

/** What a new connection learns about its server in the round trip that sets up the session. */
interface Server {
  readOnly: boolean;
  /** Undefined if the server does not tell; see event-log-offset.ts. */
  timeline: LogTimeline | undefined;
}

async function setUpSession(client: pg.ClientBase, setup: readonly string[]): Promise<Server> {
  const run = async (...statements: string[]) =>
    (await client.query([...setup, ...statements].join('; '))) as unknown as pg.QueryResult[];
  const readOnly = (answers: pg.QueryResult[]) =>
    answers.at(-1)?.rows[0].transaction_read_only !== 'off';
  try {
    const answers = await run(READ_LOG_TIMELINE, 'show transaction_read_only');
    return { readOnly: readOnly(answers), timeline: answers.at(-2)?.rows[0] };
  } catch (error) {
    if (isConnectionError(error)) throw error;
    return { readOnly: readOnly(await run('show transaction_read_only')), timeline: undefined };
  }
}

/** How many connections a pool has, and how many callers are waiting for one. */
export type PoolUsage = Pick<Pool, 'totalCount' | 'idleCount' | 'waitingCount'>;

export function poolUsage({ totalCount, idleCount, waitingCount }: Pool): PoolUsage {
  return { totalCount, idleCount, waitingCount };
}

/** Opens no connection until the first statement. */
export function openPool(options: PoolOptions): Pool {
  return new StoragePool(options);
}

/**
 * Runs `work` in one transaction: committed when it returns, rolled back when it throws. If the
 * connection is lost during the commit, its result is unknown, so the caller must be able to repeat
 * the work safely.
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
    // A lost session has nothing to roll back; one whose rollback fails must not be reused.
    if (isConnectionError(error)) broken = error as Error;
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

/** Disables timeouts for long operations. The session must be closed with `release(true)`. */
export async function withoutTimeouts(client: PoolClient): Promise<void> {
  streamOf(client).setTimeout(0);
  await client.query('set statement_timeout = 0');
}

class StoragePool extends pg.Pool {
  /** The schema of DATABASE_SCHEMA. */
  readonly schema: string | undefined;
  readonly #hostCount: number;

  constructor(options: PoolOptions) {
    const selector = primarySelector(options.hosts, options.log, options.role ?? 'primary');
    const { statementTimeoutMs = STATEMENT_TIMEOUT_MS } = options;
    const setup = sessionSetup(statementTimeoutMs, options);
    super({
      max: options.max ?? 20,
      application_name: applicationNameIn(
        options.hosts[0].schema,
        options.applicationName ?? 'postrider',
      ),
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      idleTimeoutMillis: 60_000,
      keepAlive: true,
      keepAliveInitialDelayMillis: 30_000,
      types: rowTypes,
      Client: selector.clientClass(),
      onConnect: async (client) => {
        closeWhenUnresponsive(
          client,
          options.unresponsiveMsMax ?? statementTimeoutMs + UNRESPONSIVE_MARGIN_MS,
        );
        const { readOnly, timeline } = await setUpSession(client, setup);
        selector.judge(client, readOnly);
        if (readOnly || !timeline?.recorded || timeline.recorded === timeline.current) return;
        if (await continueOnTimeline(client))
          options.log.warn('database was promoted; event log numbering continues');
      },
    });
    this.schema = options.hosts[0].schema;
    this.#hostCount = options.hosts.length;
    // Without a listener, the loss of an idle connection would crash the process.
    this.on('error', (error) =>
      options.log.debug({ err: error }, 'idle database connection closed'),
    );
  }

  /** Tries all hosts, so that the caller sees no failure while one of them is the primary. */
  override connect = (async () => {
    for (let left = this.#hostCount; ; left -= 1) {
      try {
        return await super.connect();
      } catch (error) {
        if (left === 1 || !isNoConnection(error)) throw error;
      }
    }
  }) as pg.Pool['connect'];

  /**
   * pg.Pool closes the connection after any error. An error such as a violated constraint leaves the
   * session intact, and a new session costs milliseconds.
   */
  override query = (async (...args: Parameters<pg.ClientBase['query']>) => {
    const client = await this.connect();
    let broken: Error | undefined;
    try {
      return await runQuery(client, args);
    } catch (error) {
      // The stack of the caller instead of the socket handler.
      if (error instanceof Error) Error.captureStackTrace(error);
      const answered = error instanceof pg.DatabaseError && !isConnectionError(error);
      if (!answered) broken = error as Error;
      throw error;
    } finally {
      client.release(broken);
    }
  }) as unknown as pg.Pool['query'];
}

/**
 * Uses callbacks, because the promises of pg keep every query with its values and rows in memory until
 * the next major garbage collection, which then runs every two seconds under load. Callbacks with
 * `query_timeout` have the same problem.
 */
function runQuery(client: PoolClient, args: readonly unknown[]): Promise<pg.QueryResult> {
  const target = client as unknown as { query(...args: unknown[]): void };
  return new Promise((resolve, reject) => {
    target.query(...args, (error: Error | null, result: pg.QueryResult) => {
      if (error) reject(error);
      else resolve(result);
    });
  });
}

/** Closes a connection whose server does not respond to a running statement. */
function closeWhenUnresponsive(client: pg.ClientBase, forMs: number): void {
  const inside = client as unknown as { readyForQuery: boolean };
  const stream = streamOf(client);
  stream.setTimeout(forMs).on('timeout', () => {
    if (!inside.readyForQuery) stream.destroy();
  });
}

function streamOf(client: pg.ClientBase): Socket {
  return (client as unknown as { connection: { stream: Socket } }).connection.stream;
}
