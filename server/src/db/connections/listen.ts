import pg from 'pg';
import type { Log } from '../../lib/log.ts';
import { type Clock, systemClock, type Timer } from '../../lib/time/clock.ts';
import { SHOW_SERVER } from '../lock-numbers.ts';
import { isLockTimeout } from './database-errors.ts';
import { applicationNameIn, type DatabaseHosts, setSearchPath } from './database-url.ts';
import { channelIn } from './notification-channels.ts';
import { primarySelector } from './primary-selector.ts';

/**
 * Notifications between nodes (LISTEN/NOTIFY) over a dedicated connection. Notifications sent while
 * the connection is down are lost, so after a reconnect all gap handlers are called: caches must be
 * cleared and queues polled.
 *
 * That nothing is lost while it is up is confirmed by echoes: notifications that the connection sends to
 * itself. PostgreSQL delivers notifications in the order of their commits, so an echo that arrives
 * proves that all notifications of earlier commits have arrived before it.
 */
export interface NotificationListener extends AsyncDisposable {
  /** Returns a function that removes the handler. */
  on(channel: string, handler: NotificationHandler): () => void;
  onGap(handler: () => void): () => void;
  /** Whether notifications currently arrive. */
  readonly connected: boolean;
  /** How long caches may use what they have read, as long as no notification invalidates it. */
  readonly cacheMaxAgeMs: number;
  /** Resolves when the first connection is established. */
  readonly ready: Promise<void>;
  stop(): Promise<void>;
}

export type NotificationHandler = (payload: string) => void;

export interface ListenOptions {
  hosts: DatabaseHosts;
  log: Log;
  clock?: Clock;
}

const RECONNECT_MIN_MS = 100;
const RECONNECT_MAX_MS = 5_000;
/** Echoes also detect connections that a firewall has dropped silently. */
const ECHO_INTERVAL_MS = 15_000;
const ECHO_RETRY_MS = 5_000;
const RESPONSE_TIMEOUT_MS = 5_000;
/**
 * Commits with notifications wait for each other, in the worst case for a standby. An echo does not wait
 * for them for long, because a connection that only waits is not broken.
 */
const ECHO_LOCK_TIMEOUT_MS = 2_000;
/** Half of what purges allow for caches that are out of date (privacy/workspace-purges.ts). */
const ECHO_VALID_MS = 30_000;

/** Bounds the effect of a change that was made without a notification. */
const MAX_AGE_CONFIRMED_MS = 3_600_000;
/** Bounds the effect of a notification that was lost unnoticed. */
const MAX_AGE_UNCONFIRMED_MS = 60_000;
const MAX_AGE_NOT_LISTENING_MS = 1_000;
const CHANNEL = /^[a-z_][a-z0-9_]{0,62}$/;

export function listen(options: ListenOptions): NotificationListener {
  const listener = new ReconnectingListener(options);
  listener.start();
  return listener;
}

class ReconnectingListener implements NotificationListener {
  readonly ready: Promise<void>;
  readonly #options: ListenOptions;
  readonly #clock: Clock;
  readonly #handlers = new Map<string, Set<NotificationHandler>>();
  readonly #gapHandlers = new Set<() => void>();
  readonly #resolveReady: () => void;
  #client: pg.Client | undefined;
  #host = 0;
  #listening: Promise<unknown> = Promise.resolve();
  #retry: Timer | undefined;
  #retryMs = RECONNECT_MIN_MS;
  #echoTimer: Timer | undefined;
  #echo: { channel: string; count: number; sentAtMs: number } | undefined;
  /** When the last echo that has arrived was sent. */
  #confirmedAtMs = Number.NEGATIVE_INFINITY;
  #warnedOfLostEcho = false;
  /** When the last channel was added: what was read before may have changed without a notification. */
  #listeningSinceMs = Number.POSITIVE_INFINITY;
  /** The schema of the connection: that of the hosts, or where the user's search path leads. */
  #schema: string | null = null;
  #connected = false;
  #connectedBefore = false;
  #stopped = false;

  constructor(options: ListenOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.ready = promise;
    this.#resolveReady = resolve;
  }

  get connected(): boolean {
    return this.#connected;
  }

  get cacheMaxAgeMs(): number {
    if (!this.#connected) return MAX_AGE_NOT_LISTENING_MS;
    const nowMs = this.#clock.now();
    const confirmedForMs = nowMs - this.#confirmedAtMs;
    // A negative age comes from a clock that was set back.
    const isConfirmed = confirmedForMs >= 0 && confirmedForMs < ECHO_VALID_MS;
    if (!isConfirmed) return MAX_AGE_UNCONFIRMED_MS;
    const listeningForMs = nowMs - this.#listeningSinceMs;
    return Math.max(MAX_AGE_UNCONFIRMED_MS, Math.min(MAX_AGE_CONFIRMED_MS, listeningForMs));
  }

  on(channel: string, handler: NotificationHandler): () => void {
    if (!CHANNEL.test(channel)) throw new Error(`Invalid channel name ${channel}`);
    const handlers = this.#handlers.get(channel) ?? new Set();
    this.#handlers.set(channel, handlers);
    handlers.add(handler);
    // A connection that is being established listens to all channels anyway, and so does the next one
    // if this statement fails. Statements are queued, because pg does not allow concurrent ones.
    const client = this.#connected && handlers.size === 1 ? this.#client : undefined;
    if (client) this.#listening = this.#listening.then(() => this.#addChannel(client, channel));
    return () => {
      handlers.delete(handler);
    };
  }

  onGap(handler: () => void): () => void {
    this.#gapHandlers.add(handler);
    return () => {
      this.#gapHandlers.delete(handler);
    };
  }

  start(): void {
    void this.#connect();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#retry?.cancel();
    this.#echoTimer?.cancel();
    this.#resolveReady();
    const client = this.#client;
    this.#client = undefined;
    await client?.end().catch(() => {});
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #connect(): Promise<void> {
    const client = new pg.Client({
      ...this.#options.hosts[this.#host],
      application_name: applicationNameIn(this.#options.hosts[0].schema, 'postrider listen'),
      connectionTimeoutMillis: RESPONSE_TIMEOUT_MS,
      query_timeout: RESPONSE_TIMEOUT_MS,
      keepAlive: true,
    });
    client.on('error', () => this.#onDisconnect(client));
    client.on('end', () => this.#onDisconnect(client));
    client.on('notification', ({ channel, payload }) => {
      if (channel === this.#echo?.channel) this.#onEcho(payload);
      else this.#dispatch(channel, payload ?? '');
    });
    this.#client = client;
    try {
      await client.connect();
      await this.#setUp(client);
      // A channel that is added meanwhile goes to the end of the map and is reached by this loop.
      for (const channel of this.#handlers.keys()) await client.query(this.#listenTo(channel));
    } catch (error) {
      this.#host = (this.#host + 1) % this.#options.hosts.length;
      this.#options.log.debug({ err: error }, 'no connection for notifications');
      client.end().catch(() => {});
      this.#onDisconnect(client);
      return;
    }
    if (this.#client !== client) return;
    primarySelector(this.#options.hosts, this.#options.log, 'primary').found(this.#host);
    this.#retryMs = RECONNECT_MIN_MS;
    this.#connected = true;
    this.#listeningSinceMs = this.#clock.now();
    void this.#sendEcho(client);
    this.#resolveReady();
    // Called after listening began: later changes of what a handler reads now will be notified.
    if (this.#connectedBefore) this.#dispatchGap();
    this.#connectedBefore = true;
  }

  async #addChannel(client: pg.Client, channel: string): Promise<void> {
    if (this.#client !== client) return;
    this.#listeningSinceMs = Number.POSITIVE_INFINITY;
    try {
      await client.query(this.#listenTo(channel));
      if (this.#client === client) this.#listeningSinceMs = this.#clock.now();
    } catch {
      // The next connection listens to it.
    }
  }

  /**
   * Finds the schema and refuses a standby. Notifications are sent on the primary; a standby never
   * delivers any. Judged like the connections of a pool (primary-selector.ts): otherwise the two could
   * find the primary on different hosts, and close each other's connections.
   */
  async #setUp(client: pg.Client): Promise<void> {
    for (const statement of setSearchPath(this.#options.hosts[0])) await client.query(statement);
    await client.query(SHOW_SERVER);
    const { rows } = await client.query<{ schema: string | null; read_only: string; pid: number }>(
      `select current_schema() as schema, current_setting('transaction_read_only') as read_only,
              pg_backend_pid() as pid`,
    );
    const [row] = rows;
    if (row?.read_only !== 'off') throw new Error('This PostgreSQL is read-only');
    this.#schema = row.schema;
    // Only this session uses the channel, so the echoes of a node do not wake the others.
    this.#echo = { channel: `echo_${row.pid}`, count: 0, sentAtMs: 0 };
    await client.query(`set lock_timeout = ${ECHO_LOCK_TIMEOUT_MS}`);
    await client.query(`listen "${this.#echo.channel}"`);
  }

  #onDisconnect(client: pg.Client): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    this.#connected = false;
    this.#confirmedAtMs = Number.NEGATIVE_INFINITY;
    this.#echoTimer?.cancel();
    if (this.#stopped) return;
    this.#retry = this.#clock.after(this.#retryMs, () => void this.#connect());
    this.#retryMs = Math.min(this.#retryMs * 2, RECONNECT_MAX_MS);
  }

  async #sendEcho(client: pg.Client): Promise<void> {
    const echo = this.#echo;
    if (this.#client !== client || !echo) return;
    echo.count += 1;
    echo.sentAtMs = this.#clock.now();
    let nextMs = ECHO_INTERVAL_MS;
    try {
      await client.query('select pg_notify($1, $2)', [echo.channel, String(echo.count)]);
      // The notifications of a session arrive before the end of the statement that sent them.
      if (this.#confirmedAtMs < echo.sentAtMs) this.#warnOfLostEcho();
    } catch (error) {
      if (!isLockTimeout(error)) {
        client.end().catch(() => {});
        this.#onDisconnect(client);
        return;
      }
      nextMs = ECHO_RETRY_MS;
    }
    if (this.#client !== client) return;
    this.#echoTimer = this.#clock.after(nextMs, () => void this.#sendEcho(client));
  }

  /** Echoes that were given up can still arrive, and prove nothing about later commits. */
  #onEcho(payload: string | undefined): void {
    if (this.#echo && payload === String(this.#echo.count)) {
      this.#confirmedAtMs = this.#echo.sentAtMs;
    }
  }

  #warnOfLostEcho(): void {
    if (this.#warnedOfLostEcho) return;
    this.#warnedOfLostEcho = true;
    this.#options.log.warn(
      'notifications of PostgreSQL do not arrive: caches are used for a minute only',
    );
  }

  #listenTo(channel: string): string {
    return `listen "${channelIn(this.#schema, channel)}"`;
  }

  #dispatch(name: string, payload: string): void {
    const channel = name.slice(name.lastIndexOf('.') + 1);
    for (const handler of this.#handlers.get(channel) ?? []) {
      this.#runHandler(() => handler(payload));
    }
  }

  #dispatchGap(): void {
    this.#options.log.info('notifications may have been missed: caches cleared');
    for (const handler of this.#gapHandlers) this.#runHandler(handler);
  }

  /** An error in one handler must not affect the others. */
  #runHandler(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#options.log.error({ err: error }, 'notification handler failed');
    }
  }
}
