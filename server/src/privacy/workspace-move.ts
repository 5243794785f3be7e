import {
  forgetMovedWorkspace,
  readBaseUrl,
  recordMovedWorkspace,
} from '../accounts/moved-workspace-store.ts';
import {
  countArchived,
  type MoveState,
  markActive,
  markMoving,
  readMoveState,
  readProfile,
} from '../accounts/workspace-move-store.ts';
import { acquireMove, acquireWithoutServers } from '../db/advisory-lock.ts';
import { inTransaction, type Pool, type Queryable } from '../db/connections/pool.ts';
import { removeFence } from '../db/connections/write-fence.ts';
import {
  type CopiedTable,
  copyTable,
  describeTable,
  insertRows,
  inTextTransaction,
  readRows,
  withTextFormat,
} from '../db/statements/copy-rows.ts';
import { findReceivingDomain, findReceivingNames } from '../domains/receiving-domain-store.ts';
import { newestEventTx } from '../events/event-consumer-store.ts';
import { encodeId } from '../lib/ids.ts';
import { silentLog } from '../lib/log.ts';
import { RefusedError } from '../lib/refused-error.ts';
import type { Clock } from '../lib/time/clock.ts';
import { closeWorkspace, reopenWorkspace } from './close-workspace.ts';
import { copyMembers } from './move-members.ts';
import { tablesThatMove } from './moved-tables.ts';
import { MOVING_QUEUES, unparkQueues } from './moving-queues.ts';
import { continueLogOf, createPartitions, isLogAhead, skipGap } from './prepare-target.ts';
import { insertPurge } from './workspace-purge-store.ts';
import { WorkspacePurges } from './workspace-purges.ts';

/**
 * Moves a workspace to another installation: another database, or another schema. What no server acts on
 * is copied while everything runs. Then the workspace is closed at the source, what has changed is copied
 * and verified, and the workspace becomes active at the target. Servers keep running on both sides. Every
 * step can be interrupted and repeated: the state is in the two databases only, and at no time can both
 * send.
 *
 * 1. Target: the numbers of its event log continue after those of the source, so that cursors stay
 *    valid, and its consumers skip the events that arrive, which the source has processed.
 * 2. Target: the workspace exists, as if its purge had started, and gets its history.
 * 3. Source: the workspace is closed (close-workspace.ts). Its keys are refused, its queues parked, its
 *    events processed and its tables fenced.
 * 4. Target: history and queues are copied until both sides are equal. Then, in one transaction, keys,
 *    domains, members and the rest are copied, and the workspace becomes active.
 * 5. Source: former members and holders of keys learn where the workspace is. The copy there is purged,
 *    and the fence removed with it.
 */
export interface WorkspaceMoveParts {
  source: Pool;
  target: Pool;
  clock: Clock;
  /** The public URL of the target, if it is not the one that its servers have written. */
  targetUrl?: string | undefined;
  /** Called after every step. */
  onStep?: (step: MoveStep) => Promise<void> | void;
  /** Called often while a table is copied or compared, with the rows that are done. */
  onProgress?: (table: string, rows: number) => void;
}

export type MoveStep =
  | 'numbered'
  | 'arriving'
  | 'copied'
  | 'drained'
  | 'leaving'
  | 'fenced'
  | 'verified'
  | 'activated'
  | 'purging'
  | 'purged';

export interface MoveResult {
  /** `copied`: only the history was copied, as requested. */
  state: 'copied' | 'moved';
  /** The rows of each table. */
  rows: Record<string, number>;
}

/** More transactions than the source can have until the move has finished. */
const NUMBERS_AHEAD = 2 ** 30;
const PASSES_MAX = 5;
/** Rows that are copied in a moment. */
const LEFT_MAX = 10_000;

export class WorkspaceMove {
  readonly #parts: WorkspaceMoveParts;
  readonly #id: string;
  readonly #rows: Record<string, number> = {};

  constructor(parts: WorkspaceMoveParts, workspaceId: string) {
    this.#parts = parts;
    this.#id = workspaceId;
  }

  /** With `copyOnly`, the workspace stays where it is; moving it later takes less time. */
  run({ copyOnly = false } = {}): Promise<MoveResult> {
    return this.#exclusively(async () => {
      const { here, there } = await this.#check();
      if (there !== 'active') {
        await this.#numberTarget();
        await this.#arrive(there);
        if (here === 'active') await this.#copyOpen();
        await this.#step('copied');
        if (copyOnly) return this.#result('copied');
        await this.#switch();
      }
      await this.#purgeSource();
      return this.#result('moved');
    });
  }

  /** Gives up a move that has not reached the target: the workspace stays where it is. */
  cancel(): Promise<void> {
    return this.#exclusively(() => this.#cancel());
  }

  async #cancel(): Promise<void> {
    const { source, target, clock } = this.#parts;
    const [here, there] = [await this.#stateIn(source), await this.#stateIn(target)];
    if (there === 'active' || here === 'absent' || here === 'purging') {
      throw new RefusedError('conflict', 'The workspace has already moved.');
    }
    if (here === 'moving') {
      await reopenWorkspace(source, this.#id);
    }
    if (there !== 'moving') return;
    const purge = { id: this.#id, requestedAtMs: clock.now() };
    await inTransaction(target, (client) => insertPurge(client, purge, clock.now()));
  }

  /** Two processes that move or cancel at the same time could make both copies active. */
  async #exclusively<T>(work: () => Promise<T>): Promise<T> {
    const session = await this.#parts.source.connect();
    try {
      if (await acquireMove(session, this.#id)) return await work();
      throw conflict('Another process is moving the workspace.');
    } finally {
      // Closes the session, which releases the lock.
      session.release(true);
    }
  }

  #result(state: MoveResult['state']): MoveResult {
    return { state, rows: this.#rows };
  }

  async #step(step: MoveStep): Promise<void> {
    await this.#parts.onStep?.(step);
  }

  #stateIn(pool: Pool): Promise<MoveState> {
    return readMoveState(pool, this.#id);
  }

  async #check(): Promise<{ here: MoveState; there: MoveState }> {
    const { source, target } = this.#parts;
    const [here, there] = [await this.#stateIn(source), await this.#stateIn(target)];
    if (here === 'absent') throw new RefusedError('not_found', 'There is no such workspace.');
    if (here === 'deleting') throw conflict('The workspace is scheduled for deletion.');
    if (there === 'purging' || there === 'deleting') {
      throw conflict('A copy of the workspace is still being deleted at the target.');
    }
    if (there === 'active' && here === 'active') {
      throw conflict('The workspace is already at the target.');
    }
    if (here === 'purging' && there !== 'active') throw conflict('The workspace is being deleted.');
    const archived = await countArchived(source, this.#id);
    if (archived > 0 && there !== 'active') {
      throw conflict(
        `The content archive has ${archived} contents of the workspace, which cannot be moved. Wait until they have expired.`,
      );
    }
    if (there !== 'active') await this.#checkReceiving();
    return { here, there };
  }

  /** Only one workspace of an installation can receive the mail of a domain. */
  async #checkReceiving(): Promise<void> {
    const { source, target } = this.#parts;
    for (const name of await findReceivingNames(source, this.#id)) {
      const receiving = await findReceivingDomain(target, name);
      if (!receiving || receiving.workspaceId === this.#id) continue;
      throw conflict(
        `Another workspace at the target receives the mail of ${name}. Turn off receiving in one of them first.`,
      );
    }
  }

  async #numberTarget(): Promise<void> {
    const { source, target, clock } = this.#parts;
    const newest = await newestEventTx(source, this.#id);
    if (!(await isLogAhead(target, newest + NUMBERS_AHEAD / 2))) {
      const last = newest + NUMBERS_AHEAD;
      await continueLogOf(target, last);
      await this.#until('the consumers of the target have processed its event log', () =>
        skipGap(target, last, clock),
      );
    }
    await this.#step('numbered');
  }

  async #arrive(there: MoveState): Promise<void> {
    const { source, target, clock } = this.#parts;
    // One from before, of which the purge has not removed the fence.
    await removeFence(target, this.#id);
    if (there === 'absent') {
      await withTextFormat(source, async (from) => {
        const table = await describeTable(from, 'workspaces');
        const rows = await readRows(from, table, 't.id = $1', [this.#id]);
        await inTransaction(target, async (to) => {
          await insertRows(
            to,
            table,
            rows.map((row) => ({ ...row, origin_id: null })),
          );
          await markMoving(to, this.#id, clock.now());
        });
      });
    }
    await createPartitions(source, target, this.#id, clock);
    await this.#step('arriving');
  }

  /** Again while much has changed meanwhile, so that little is left for when the workspace is closed. */
  async #copyOpen(): Promise<void> {
    for (let pass = 0; pass < PASSES_MAX; pass += 1) {
      const { copied } = await this.#copyHistory({ isParked: false });
      if (copied < LEFT_MAX) return;
    }
  }

  async #copyHistory({ isParked }: { isParked: boolean }): Promise<Difference> {
    const { source, target } = this.#parts;
    return withTextFormat(source, (from) =>
      withTextFormat(target, async (to) => {
        const sum = await this.#copyTables(from, to, 'history');
        for (const { table: name, queue } of MOVING_QUEUES) {
          const table = await describeTable(from, name);
          const only = isParked ? {} : { only: `not (${queue.unfinished})` };
          add(sum, await this.#copyTable(from, to, { ...table, ...only }));
        }
        return sum;
      }),
    );
  }

  async #copyTables(
    from: Queryable,
    to: Queryable,
    way: 'history' | 'switch',
  ): Promise<Difference> {
    const sum = { copied: 0, unequal: 0 };
    for (const name of tablesThatMove(way)) {
      add(sum, await this.#copyTable(from, to, await describeTable(from, name)));
    }
    return sum;
  }

  async #copyTable(from: Queryable, to: Queryable, table: CopiedTable): Promise<Difference> {
    const { rows, ...difference } = await copyTable(from, to, table, this.#id, (done) =>
      this.#parts.onProgress?.(table.name, done),
    );
    this.#rows[table.name] = rows;
    return difference;
  }

  /** With servers or without. */
  async #switch(): Promise<void> {
    const { source, clock } = this.#parts;
    const session = await source.connect();
    let isAlone = false;
    try {
      isAlone = await acquireWithoutServers(session);
    } finally {
      // Closes the session, which releases the locks.
      if (!isAlone) session.release(true);
    }
    // Throws if the session was lost, and with it the locks: a server may have started since.
    const stillAlone = isAlone
      ? async () => void (await acquireWithoutServers(session))
      : undefined;
    const onStep = (step: MoveStep) => this.#step(step);
    try {
      await closeWorkspace({ pool: source, clock, stillAlone, onStep }, this.#id);
    } finally {
      if (isAlone) session.release(true);
    }
    await this.#copyClosed();
    await this.#activate();
    await this.#step('activated');
  }

  /** Nothing changes at the source any more, so what was equal once stays equal. */
  async #copyClosed(): Promise<void> {
    const { source, target } = this.#parts;
    if (!(await isLogAhead(target, await newestEventTx(source, this.#id)))) {
      throw new Error('Broken invariant: the event log of the source has overtaken the target');
    }
    await this.#until('both copies are equal', async () => {
      return (await this.#copyHistory({ isParked: true })).unequal === 0;
    });
    await this.#step('verified');
  }

  async #activate(): Promise<void> {
    const { source, target, clock } = this.#parts;
    await withTextFormat(source, (from) =>
      inTextTransaction(target, async (to) => {
        // Servers of the source still write when a key was last used, or a domain checked.
        for (let pass = 1; (await this.#copyTables(from, to, 'switch')).unequal > 0; pass += 1) {
          if (pass === PASSES_MAX) throw this.#tooLong('both copies are equal');
        }
        Object.assign(this.#rows, await copyMembers(from, to, this.#id, clock));
        await forgetMovedWorkspace(to, this.#id);
        await unparkQueues(to, this.#id);
        await markActive(to, this.#id, await readProfile(from, this.#id));
      }),
    );
  }

  async #purgeSource(): Promise<void> {
    const { source, clock } = this.#parts;
    if ((await this.#stateIn(source)) === 'moving') {
      const purge = { id: this.#id, requestedAtMs: clock.now() };
      const url = await this.#newUrl();
      await inTransaction(source, async (client) => {
        await insertPurge(client, purge, clock.now());
        await recordMovedWorkspace(client, this.#id, url, clock.now());
      });
    }
    await this.#step('purging');
    await new WorkspacePurges({ pool: source, clock, log: silentLog }).work();
    await this.#step('purged');
  }

  /** Where members and clients find the workspace; null if that is not known or not another address. */
  async #newUrl(): Promise<string | null> {
    const { source, target, targetUrl } = this.#parts;
    const url = targetUrl ?? (await readBaseUrl(target));
    return url === undefined || url === (await readBaseUrl(source)) ? null : url;
  }

  async #until(what: string, check: () => Promise<boolean>): Promise<void> {
    const { clock } = this.#parts;
    for (let pass = 0; pass < PASSES_MAX; pass += 1) {
      if (await check()) return;
      await new Promise<void>((resolve) => clock.after(PAUSE_MS, resolve));
    }
    throw this.#tooLong(what);
  }

  #tooLong(what: string): RefusedError {
    return conflict(
      `The workspace ${encodeId('wsp', this.#id)} cannot be moved yet: it takes too long until ${what}. A transaction may be open. Run the command again.`,
    );
  }
}

interface Difference {
  copied: number;
  unequal: number;
}

function add(sum: Difference, { copied, unequal }: Difference): void {
  sum.copied += copied;
  sum.unequal += unequal;
}

const PAUSE_MS = 1_000;

function conflict(detail: string): RefusedError {
  return new RefusedError('conflict', detail);
}
