import type { CellAddress } from '../config/cell-settings.ts';
import { CELL_LOOKUP_PATH, type CellState } from '../http/pages/cell-lookup.ts';
import type { Log } from '../lib/log.ts';
import { WeightedCache } from '../lib/memory/weighted-cache.ts';
import { RefusedError } from '../lib/refused-error.ts';
import type { Clock } from '../lib/time/clock.ts';
import type { RoutingSubject } from './routing-subject.ts';

/**
 * Finds the cell that holds what a request names. The cells themselves are the directory: the router
 * queries all of them when it sees a key for the first time, and keeps the answer in memory. An answer
 * about a key needs no expiry, because a cell that does not hold it any more refuses it and says so
 * (`locateAgain`). At most one cell answers `here`: a workspace is active at one place at any time.
 */
export interface CellDirectoryParts {
  cells: readonly CellAddress[];
  token: string;
  clock: Clock;
  log: Log;
}

export type Location =
  | { state: 'here'; cell: CellAddress }
  /** No cell holds it. */
  | { state: 'absent' }
  /** It is being moved, or a cell that may hold it does not answer. */
  | { state: 'unavailable' };

interface Entry {
  cell: CellAddress;
  foundAtMs: number;
}

const ENTRIES_MAX = 200_000;
const LOOKUPS_MAX = 1_000;
const LOOKUP_TIMEOUT_MS = 2_000;
/** Requests with a link do not show whether the cell still holds the workspace. */
const LINK_TTL_MS = 5_000;
const WARN_INTERVAL_MS = 60_000;

export class CellDirectory {
  readonly #parts: CellDirectoryParts;
  readonly #entries = new WeightedCache<Entry>(ENTRIES_MAX);
  readonly #running = new Map<string, Promise<Location>>();
  readonly #warnedAtMs = new Map<CellAddress, number>();
  readonly #lookups = { here: 0, absent: 0, unavailable: 0 };

  constructor(parts: CellDirectoryParts) {
    this.#parts = parts;
  }

  /** By result, since the start. */
  get lookups(): Readonly<Record<Location['state'], number>> {
    return this.#lookups;
  }

  /** Returns no promise when the cell is known. */
  locate(subject: RoutingSubject): Location | Promise<Location> {
    const entry = this.#entries.get(nameOf(subject));
    const isKept = entry && (isCertain(subject) || this.#age(entry) < LINK_TTL_MS);
    return isKept ? { state: 'here', cell: entry.cell } : this.#lookUp(subject);
  }

  /** After a cell has refused a request, or could not be reached. */
  locateAgain(subject: RoutingSubject): Promise<Location> {
    return this.#lookUp(subject);
  }

  /** Cells that do not answer lookups, with the reason. */
  async check(): Promise<{ cell: CellAddress; reason: string }[]> {
    const subject: RoutingSubject = { kind: 'workspace', value: '' };
    const found = await Promise.all(
      this.#parts.cells.map((cell) =>
        this.#ask(cell, subject).then(
          () => [],
          ({ message, cause }: Error) => [
            { cell, reason: cause instanceof Error ? cause.message : message },
          ],
        ),
      ),
    );
    return found.flat();
  }

  #age({ foundAtMs }: Entry): number {
    return this.#parts.clock.now() - foundAtMs;
  }

  /** Concurrent requests with the same key share a lookup. */
  #lookUp(subject: RoutingSubject): Promise<Location> {
    const name = nameOf(subject);
    const running = this.#running.get(name);
    if (running) return running;
    if (this.#running.size >= LOOKUPS_MAX) {
      const detail = 'Too many keys are being looked up. Nothing was accepted.';
      return Promise.reject(new RefusedError('overloaded', detail));
    }
    const lookup = this.#askAll(subject).finally(() => this.#running.delete(name));
    this.#running.set(name, lookup);
    return lookup;
  }

  async #askAll(subject: RoutingSubject): Promise<Location> {
    let isUncertain = false;
    const cell = await firstDefined(
      this.#parts.cells.map(async (one) => {
        const state = await this.#ask(one, subject).catch((error: Error) => {
          this.#warn(one, error);
          return undefined;
        });
        if (state !== 'absent' && state !== 'here') isUncertain = true;
        return state === 'here' ? one : undefined;
      }),
    );
    // The address of a report is used once.
    if (cell && subject.kind !== 'report') {
      this.#entries.set(nameOf(subject), { cell, foundAtMs: this.#parts.clock.now() }, 1);
    }
    const found: Location = cell
      ? { state: 'here', cell }
      : { state: isUncertain ? 'unavailable' : 'absent' };
    this.#lookups[found.state] += 1;
    return found;
  }

  async #ask(cell: CellAddress, { kind, value }: RoutingSubject): Promise<CellState> {
    const response = await fetch(
      `${cell.url}${CELL_LOOKUP_PATH}?${new URLSearchParams({ kind, value })}`,
      {
        headers: { authorization: `Bearer ${this.#parts.token}` },
        redirect: 'error',
        signal: AbortSignal.timeout(LOOKUP_TIMEOUT_MS),
      },
    );
    const text = await response.text();
    if (response.status !== 200) {
      throw new Error(`a lookup was answered with ${response.status}, not 200`);
    }
    return (JSON.parse(text) as { state: CellState }).state;
  }

  #warn(cell: CellAddress, error: Error): void {
    const { clock, log } = this.#parts;
    const nowMs = clock.now();
    if (nowMs - (this.#warnedAtMs.get(cell) ?? -Infinity) < WARN_INTERVAL_MS) return;
    this.#warnedAtMs.set(cell, nowMs);
    log.warn({ cell: cell.name, err: error }, 'a cell does not answer lookups');
  }
}

function nameOf({ kind, value }: RoutingSubject): string {
  return `${kind} ${value}`;
}

/** Whether a cell refuses what it does not hold. */
function isCertain({ kind }: RoutingSubject): boolean {
  return kind === 'key' || kind === 'credential';
}

/** Does not wait for the others: a cell that is down must not delay what another one holds. */
function firstDefined<T>(promises: readonly Promise<T | undefined>[]): Promise<T | undefined> {
  return new Promise((resolve) => {
    for (const promise of promises) {
      void promise.then((value) => {
        if (value !== undefined) resolve(value);
      });
    }
    void Promise.all(promises).then(() => resolve(undefined));
  });
}
