import type { Socket } from 'node:net';
import pg from 'pg';
import type { Log } from '../lib/log.ts';
import type { Places } from './database-url.ts';
import { NoConnectionError } from './storage-gone.ts';

/** read_only_sql_transaction, as the first write would be told. */
const READ_ONLY = '25006';

const choosers = new WeakMap<Places, PrimaryChooser>();

/** One for all who use the same places: what one of them finds out the others need not. */
export function chooserFor(places: Places, log: Log): PrimaryChooser {
  const known = choosers.get(places) ?? new PrimaryChooser(places, log);
  choosers.set(places, known);
  return known;
}

/**
 * Of several places, one is the primary at a time, and after a failover another. New connections go
 * to the place believed in; one that cannot be reached or only reads makes us believe in the next.
 * When the primary is found elsewhere, connections to other places are ended: a machine that vanished
 * without a word would keep each of them waiting for its own time-out.
 */
export class PrimaryChooser {
  readonly #places: Places;
  readonly #log: Log;
  readonly #connected = new Map<pg.Client, number>();
  #at = 0;
  /** Told once for each search, which may try many places many times. */
  #searching = false;

  constructor(places: Places, log: Log) {
    this.#places = places;
    this.#log = log;
  }

  /** The class that the pool makes its clients from: each aims at the place believed in by then. */
  clientClass(): new () => pg.ClientBase {
    const chooser = this;
    const aimed = class extends pg.Client {
      readonly #aim: number;

      constructor(config?: pg.ClientConfig) {
        const aim = chooser.#at;
        super({ ...config, ...chooser.#places[aim] });
        this.#aim = aim;
        // Between its connect and the pool's own listener a client may be told that PostgreSQL dies;
        // heard by nobody, that would end the process. The next statement on it reports the loss.
        this.on('error', () => {});
      }

      override connect(): Promise<this>;
      override connect(callback: (error: Error) => void): void;
      override connect(callback?: (error: Error) => void): Promise<this> | undefined {
        chooser.#connected.set(this, this.#aim);
        this.once('end', () => chooser.#connected.delete(this));
        const attempt = super.connect().catch((error: Error) => {
          chooser.#connected.delete(this);
          chooser.#leave(this.#aim);
          throw new NoConnectionError(error);
        });
        if (!callback) return attempt as Promise<this>;
        attempt.then(() => (callback as () => void)(), callback);
        return undefined;
      }

      judge(isPrimary: boolean): void {
        if (isPrimary) chooser.found(this.#aim);
        else chooser.#leave(this.#aim);
      }
    };
    return aimed as unknown as new () => pg.ClientBase;
  }

  /** A standby is no database to us: it would answer who reads, and refuse whatever is written. */
  refuseStandby(client: pg.ClientBase, readOnly: boolean): void {
    (client as unknown as { judge(isPrimary: boolean): void }).judge(!readOnly);
    if (!readOnly) return;
    const reason = new Error(
      'this PostgreSQL takes no writes: it is a standby, or set to only read',
    );
    throw new NoConnectionError(Object.assign(reason, { code: READ_ONLY }));
  }

  /** Somebody has seen the primary there. */
  found(aim: number): void {
    this.#at = aim;
    for (const [client, other] of this.#connected) if (other !== aim) cut(client);
    if (!this.#searching) return;
    this.#searching = false;
    this.#log.info({ place: aim + 1 }, 'the primary database is found');
  }

  #leave(aim: number): void {
    if (this.#places.length === 1 || aim !== this.#at) return;
    this.#at = (aim + 1) % this.#places.length;
    if (this.#searching) return;
    this.#searching = true;
    this.#log.warn(
      { place: aim + 1 },
      'the primary database is gone: looking for it in all places',
    );
  }
}

function cut(client: pg.Client): void {
  (client as unknown as { connection: { stream: Socket } }).connection.stream.destroy();
}
