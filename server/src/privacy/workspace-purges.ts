import { deleteWorkspace, startPurge } from '../accounts/workspace-store.ts';
import { isConnectionError, isSerializationFailure } from '../db/connections/database-errors.ts';
import { inTransaction, type Pool } from '../db/connections/pool.ts';
import { removeFence } from '../db/connections/write-fence.ts';
import { anyRowLeft, type PurgedRows, type PurgedTable } from '../db/statements/purge-rows.ts';
import { encodeId } from '../lib/ids.ts';
import type { Log } from '../lib/log.ts';
import type { Clock } from '../lib/time/clock.ts';
import { PURGED_TABLES } from './purged-tables.ts';
import {
  addDeletedRows,
  finishPurge,
  insertPurge,
  listDuePurges,
  lockPurge,
  schedulePass,
} from './workspace-purge-store.ts';

/**
 * Deletes everything that belongs to a workspace once it can no longer be restored. A pass walks
 * through all tables in short transactions, each of which deletes some rows and counts them. A stop
 * or a crash loses nothing: any node starts the next pass, which finds only what is left. Rows that
 * were locked, or written by work in progress elsewhere, are found by another pass a minute later;
 * the workspace is gone after a pass that finds nothing.
 */

const PURGES_MAX = 100;
/** Longer than work that was in progress when the purge started: requests, attempts, group commits. */
const QUIET_MS = 60_000;
/** For one workspace at a time, so that a large one does not delay the others for hours. */
const TURN_MS = 10_000;

export class WorkspacePurges {
  readonly #parts: { pool: Pool; clock: Clock; log: Log };
  #stopped = false;

  constructor(parts: { pool: Pool; clock: Clock; log: Log }) {
    this.#parts = parts;
  }

  /** Starts due purges and continues unfinished ones. */
  async work(): Promise<void> {
    const { pool, clock, log } = this.#parts;
    while (!this.#stopped && (await this.#startNext()));
    for (const { id, startedAtMs } of await listDuePurges(pool, clock.now(), PURGES_MAX)) {
      try {
        // A workspace that has moved away leaves a fence. By now, no process writes what it refuses.
        if (clock.now() >= startedAtMs + QUIET_MS) await removeFence(pool, id);
        await this.#runPass(id, clock.now() + TURN_MS);
      } catch (error) {
        if (isConnectionError(error)) throw error;
        // A failing purge must not block the others. It is retried on the next run.
        log.error({ err: error, workspace_id: encodeId('wsp', id) }, 'workspace purge failed');
      }
    }
  }

  stop(): void {
    this.#stopped = true;
  }

  async #startNext(): Promise<boolean> {
    const { pool, clock, log } = this.#parts;
    const nowMs = clock.now();
    const started = await inTransaction(pool, async (db) => {
      const workspace = await startPurge(db, nowMs);
      if (workspace) await insertPurge(db, workspace, nowMs);
      return workspace;
    });
    if (!started) return false;
    log.info({ workspace_id: encodeId('wsp', started.id) }, 'workspace purge started');
    return true;
  }

  /** Ends early when it is another workspace's turn, or when another node has the lease. */
  async #runPass(id: string, untilMs: number): Promise<void> {
    const { clock } = this.#parts;
    let found = 0;
    for (const table of PURGED_TABLES) {
      let after: PurgedRows['next'];
      do {
        if (this.#stopped || clock.now() >= untilMs) return;
        const purged = await this.#deleteRows(id, table, after);
        if (!purged) return;
        found += Object.values(purged.deleted).reduce((sum, rows) => sum + rows, 0);
        after = purged.next;
      } while (after);
    }
    await this.#endPass(id, found);
  }

  async #deleteRows(
    id: string,
    table: PurgedTable,
    after: PurgedRows['next'],
  ): Promise<PurgedRows | undefined> {
    try {
      return await inTransaction(this.#parts.pool, async (db) => {
        if (!(await lockPurge(db, id))) return undefined;
        const purged = await table.deleteRows(db, id, after);
        await addDeletedRows(db, id, purged.deleted);
        return purged;
      });
    } catch (error) {
      if (isSerializationFailure(error)) return undefined;
      throw error;
    }
  }

  async #endPass(id: string, found: number): Promise<void> {
    const { pool, clock, log } = this.#parts;
    const nowMs = clock.now();
    const finished = await inTransaction(pool, async (db) => {
      const purge = await lockPurge(db, id);
      if (!purge) return undefined;
      const tables = PURGED_TABLES.filter((one) => !one.foundThrough).map(({ table }) => table);
      const isQuiet = found === 0 && nowMs >= purge.startedAtMs + QUIET_MS;
      if (!isQuiet || (await anyRowLeft(db, tables, id))) {
        await schedulePass(db, id, nowMs + QUIET_MS);
        return undefined;
      }
      await deleteWorkspace(db, id);
      await finishPurge(db, id, nowMs);
      return purge;
    });
    if (!finished) return;
    log.info(
      { workspace_id: encodeId('wsp', id), deleted_rows: finished.deletedRows },
      'workspace purged',
    );
  }
}
