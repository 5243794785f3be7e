import pg from 'pg';
import { type Clock, systemClock, type Timer } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import type { Places } from './database-url.ts';
import { chooserFor } from './primary-chooser.ts';

/**
 * Notices between nodes (LISTEN/NOTIFY) over one connection of its own. Handlers of a channel get
 * each notice that arrives. A notice sent while the connection was down is lost for good, so after
 * each gap every gap handler is called: caches must be emptied, queues looked at.
 */
export interface Listener extends AsyncDisposable {
  /** Returns a function that takes the handler away. */
  on(channel: string, handler: NoticeHandler): () => void;
  onGap(handler: () => void): () => void;
  /** Whether notices arrive at this moment. */
  readonly connected: boolean;
  /** Settles when the connection has been made for the first time. */
  readonly ready: Promise<void>;
  stop(): Promise<void>;
}

export type NoticeHandler = (payload: string) => void;

export interface ListenOptions {
  places: Places;
  log: Log;
  clock?: Clock;
}

const RECONNECT_MIN_MS = 100;
const RECONNECT_MAX_MS = 5_000;
/** A connection that a firewall has forgotten looks alive; this finds out. */
const HEARTBEAT_MS = 15_000;
const ANSWER_WITHIN_MS = 5_000;
const CHANNEL = /^[a-z_][a-z0-9_]{0,62}$/;

export function listen(options: ListenOptions): Listener {
  const hub = new NoticeHub(options);
  hub.start();
  return hub;
}

class NoticeHub implements Listener {
  readonly ready: Promise<void>;
  readonly #options: ListenOptions;
  readonly #clock: Clock;
  readonly #handlers = new Map<string, Set<NoticeHandler>>();
  readonly #gapHandlers = new Set<() => void>();
  readonly #becameReady: () => void;
  #client: pg.Client | undefined;
  #place = 0;
  #asking: Promise<unknown> = Promise.resolve();
  #retry: Timer | undefined;
  #retryMs = RECONNECT_MIN_MS;
  #heartbeat: Timer | undefined;
  #connected = false;
  #connectedBefore = false;
  #stopped = false;

  constructor(options: ListenOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.ready = promise;
    this.#becameReady = resolve;
  }

  get connected(): boolean {
    return this.#connected;
  }

  on(channel: string, handler: NoticeHandler): () => void {
    if (!CHANNEL.test(channel)) throw new Error(`Broken invariant: channel ${channel}`);
    const handlers = this.#handlers.get(channel) ?? new Set();
    this.#handlers.set(channel, handlers);
    handlers.add(handler);
    // When this fails the connection is failing too, and the next one listens to every channel.
    // One after the other, and only on a connection that is up: one that is coming up listens to all.
    const client = this.#connected && handlers.size === 1 ? this.#client : undefined;
    if (client)
      this.#asking = this.#asking.then(() => client.query(`listen ${channel}`)).catch(() => {});
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
    this.#heartbeat?.cancel();
    this.#becameReady();
    const client = this.#client;
    this.#client = undefined;
    await client?.end().catch(() => {});
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #connect(): Promise<void> {
    const client = new pg.Client({
      ...this.#options.places[this.#place],
      application_name: 'postrider listen',
      connectionTimeoutMillis: ANSWER_WITHIN_MS,
      query_timeout: ANSWER_WITHIN_MS,
      keepAlive: true,
    });
    client.on('error', () => this.#lose(client));
    client.on('end', () => this.#lose(client));
    client.on('notification', ({ channel, payload }) => this.#tell(channel, payload ?? ''));
    this.#client = client;
    try {
      await client.connect();
      await this.#refuseStandby(client);
      // A channel that is added while this runs is at the end of the map: the loop comes to it.
      for (const channel of this.#handlers.keys()) await client.query(`listen ${channel}`);
    } catch (error) {
      this.#place = (this.#place + 1) % this.#options.places.length;
      this.#options.log.debug({ err: error }, 'no connection for notices');
      client.end().catch(() => {});
      this.#lose(client);
      return;
    }
    if (this.#client !== client) return;
    chooserFor(this.#options.places, this.#options.log).found(this.#place);
    this.#retryMs = RECONNECT_MIN_MS;
    this.#connected = true;
    this.#beat(client);
    this.#becameReady();
    // Told after listening began: what a handler reads now can no longer change unseen.
    if (this.#connectedBefore) this.#tellGap();
    this.#connectedBefore = true;
  }

  /** Notices are sent on the primary; a standby would be silent for ever. */
  async #refuseStandby(client: pg.Client): Promise<void> {
    const { rows } = await client.query<{ standby: boolean }>(
      'select pg_is_in_recovery() as standby',
    );
    if (rows[0]?.standby) throw new Error('This PostgreSQL is a standby');
  }

  #lose(client: pg.Client): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    this.#connected = false;
    this.#heartbeat?.cancel();
    if (this.#stopped) return;
    this.#retry = this.#clock.after(this.#retryMs, () => void this.#connect());
    this.#retryMs = Math.min(this.#retryMs * 2, RECONNECT_MAX_MS);
  }

  #beat(client: pg.Client): void {
    this.#heartbeat = this.#clock.after(HEARTBEAT_MS, () => {
      client.query('select').then(
        () => {
          if (this.#client === client) this.#beat(client);
        },
        () => {
          client.end().catch(() => {});
          this.#lose(client);
        },
      );
    });
  }

  #tell(channel: string, payload: string): void {
    for (const handler of this.#handlers.get(channel) ?? []) {
      this.#guarded(() => handler(payload));
    }
  }

  #tellGap(): void {
    this.#options.log.info('notices may have been missed: caches are emptied');
    for (const handler of this.#gapHandlers) this.#guarded(handler);
  }

  /** One handler's bug must not keep a notice from the others. */
  #guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#options.log.error({ err: error }, 'a notice handler failed');
    }
  }
}
