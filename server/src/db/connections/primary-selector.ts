import type { Socket } from 'node:net';
import pg from 'pg';
import type { Log } from '../../lib/log.ts';
import { NoConnectionError } from './database-errors.ts';
import type { DatabaseHosts } from './database-url.ts';

/** read_only_sql_transaction, the error that the first write would get. */
const READ_ONLY = '25006';

/** What a host must be: the primary, or any server that answers reads. */
export type DatabaseRole = 'primary' | 'standby';

const selectors = new WeakMap<DatabaseHosts, PrimarySelector>();

/** The selector is shared by all users of the same hosts, so that each failover is detected once. */
export function primarySelector(
  hosts: DatabaseHosts,
  log: Log,
  role: DatabaseRole,
): PrimarySelector {
  const known = selectors.get(hosts) ?? new PrimarySelector(hosts, log, role);
  selectors.set(hosts, known);
  return known;
}

/**
 * Tracks which of several hosts is the primary. New connections go to the assumed primary; a host that
 * is unreachable or read-only makes the selector try the next one. When the primary is found on another
 * host, connections to the other hosts are closed, because a machine that vanished would keep each of
 * them waiting until its timeout.
 */
class PrimarySelector {
  readonly #hosts: DatabaseHosts;
  readonly #log: Log;
  readonly #role: DatabaseRole;
  readonly #connected = new Map<pg.Client, number>();
  #current = 0;
  /** Logged once per search, which may try many hosts many times. */
  #searching = false;

  constructor(hosts: DatabaseHosts, log: Log, role: DatabaseRole) {
    this.#hosts = hosts;
    this.#log = log;
    this.#role = role;
  }

  /** The client class for the pool: every client connects to the primary assumed at that time. */
  clientClass(): new () => pg.ClientBase {
    const selector = this;
    const SelectingClient = class extends pg.Client {
      readonly #host: number;

      constructor(config?: pg.ClientConfig) {
        const host = selector.#current;
        super({ ...config, ...selector.#hosts[host] });
        this.#host = host;
        // An error between connect and the registration of the pool's listener would crash the
        // process. The next statement on this client reports the loss.
        this.on('error', () => {});
      }

      override connect(): Promise<this>;
      override connect(callback: (error: Error) => void): void;
      override connect(callback?: (error: Error) => void): Promise<this> | undefined {
        selector.#connected.set(this, this.#host);
        this.once('end', () => selector.#connected.delete(this));
        const attempt = super.connect().catch((error: Error) => {
          selector.#connected.delete(this);
          selector.#leave(this.#host);
          throw new NoConnectionError(error);
        });
        if (!callback) return attempt as Promise<this>;
        attempt.then(() => (callback as () => void)(), callback);
        return undefined;
      }

      judge(isSuitable: boolean): void {
        if (isSuitable) selector.found(this.#host);
        else selector.#leave(this.#host);
      }
    };
    return SelectingClient as unknown as new () => pg.ClientBase;
  }

  /** Rejects a standby where the primary is needed: it would answer reads but fail every write. */
  judge(client: pg.ClientBase, readOnly: boolean): void {
    const isSuitable = this.#role === 'standby' || !readOnly;
    (client as unknown as { judge(isSuitable: boolean): void }).judge(isSuitable);
    if (isSuitable) return;
    const reason = new Error('this PostgreSQL is read-only: it is a standby or in read-only mode');
    throw new NoConnectionError(Object.assign(reason, { code: READ_ONLY }));
  }

  /** The database was found on this host. */
  found(host: number): void {
    this.#current = host;
    for (const [client, other] of this.#connected) if (other !== host) destroySocket(client);
    if (!this.#searching) return;
    this.#searching = false;
    this.#log.info({ host: host + 1 }, `${this.#role} database found`);
  }

  #leave(host: number): void {
    if (this.#hosts.length === 1 || host !== this.#current) return;
    this.#current = (host + 1) % this.#hosts.length;
    if (this.#searching) return;
    this.#searching = true;
    this.#log.warn({ host: host + 1 }, `${this.#role} database lost: trying all hosts`);
  }
}

function destroySocket(client: pg.Client): void {
  (client as unknown as { connection: { stream: Socket } }).connection.stream.destroy();
}
