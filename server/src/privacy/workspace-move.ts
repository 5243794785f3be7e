import {
  countArchived,
  findPeopleByEmail,
  type MoveState,
  markActive,
  markMoving,
  personExists,
  readMoveState,
  readProfile,
} from '../accounts/workspace-move-store.ts';
import { acquireWithoutServers } from '../db/advisory-lock.ts';
import {
  type CopiedTable,
  copyTable,
  describeTable,
  insertRows,
  inTextTransaction,
  readRows,
  type TextRow,
  withTextFormat,
} from '../db/copy-rows.ts';
import { continueLogAfter } from '../db/event-log-offset.ts';
import { ensurePartitions, PARTITIONED_TABLES, partitionsStartMs } from '../db/partitions.ts';
import { inTransaction, type Pool, type PoolClient, type Queryable } from '../db/pool.ts';
import type { TenantTable } from '../db/purge-rows.ts';
import {
  areEventsConsumed,
  newestEventTx,
  readConsumerPosition,
  skipConsumersTo,
} from '../events/event-consumer-store.ts';
import type { Clock } from '../lib/clock.ts';
import { encodeId, uuidTime, uuidv7 } from '../lib/ids.ts';
import { silentLog } from '../lib/log.ts';
import { RefusedError } from '../lib/refused-error.ts';
import { DELIVERIES } from '../messages/deliveries/delivery-lease-store.ts';
import type { LeasedTable } from '../queue/lease-store.ts';
import { parkRows, unparkRows } from '../queue/parking-store.ts';
import { StatsAggregator } from '../stats/stats-aggregator.ts';
import { fanOut } from '../webhooks/fan-out-store.ts';
import { WEBHOOK_DELIVERIES } from '../webhooks/webhook-queue-store.ts';
import { tablesThatMove } from './moved-tables.ts';
import { insertPurge } from './workspace-purge-store.ts';
import { WorkspacePurges } from './workspace-purges.ts';

/**
 * Moves a workspace to another installation: another database, or another schema. What no server acts on
 * is copied while everything runs. Then the servers of the source are stopped, what has changed is
 * copied and verified, and the workspace becomes active at the target. Every step can be interrupted and
 * repeated: the state is in the two databases only, and at no time can both send.
 *
 * 1. Target: the numbers of its event log continue after those of the source, so that cursors stay
 *    valid, and its consumers skip the events that arrive, which the source has processed.
 * 2. Target: the workspace exists, as if its purge had started, and gets its history.
 * 3. Source, from here on without servers: all events are consumed; the workspace leaves. Its queues are
 *    parked and its keys refused, even if a server should start before the next step.
 * 4. Target: history and queues are copied until both sides are equal. Then, in one transaction, keys,
 *    domains, members and the rest are copied, and the workspace becomes active.
 * 5. Source: the copy there is purged.
 */
export interface WorkspaceMoveParts {
  source: Pool;
  target: Pool;
  clock: Clock;
  /** Called after every step. */
  onStep?: (step: MoveStep) => Promise<void> | void;
  /** Called often while a table is copied or compared, with the rows that are done. */
  onProgress?: (table: string, rows: number) => void;
}

export type MoveStep =
  | 'numbered'
  | 'arriving'
  | 'copied'
  | 'consumed'
  | 'leaving'
  | 'verified'
  | 'activated'
  | 'purging'
  | 'purged';

export interface MoveResult {
  /** `copied`: everything but the end is done, which needs the servers of the source stopped. */
  state: 'copied' | 'moved';
  /** The rows of each table. */
  rows: Record<string, number>;
}

/** More transactions than the source can have until the move has finished. */
const NUMBERS_AHEAD = 2 ** 30;
const PASSES_MAX = 5;
const DAY_MS = 86_400_000;
const BATCH_SIZE = 1_000;
const QUEUES = [
  ['deliveries', DELIVERIES],
  ['webhook_deliveries', WEBHOOK_DELIVERIES],
] as unknown as readonly [TenantTable, LeasedTable<never>][];

export class WorkspaceMove {
  readonly #parts: WorkspaceMoveParts;
  readonly #id: string;
  readonly #rows: Record<string, number> = {};

  constructor(parts: WorkspaceMoveParts, workspaceId: string) {
    this.#parts = parts;
    this.#id = workspaceId;
  }

  async run(): Promise<MoveResult> {
    const { here, there } = await this.#check();
    if (there !== 'active') {
      await this.#numberTarget();
      await this.#arrive(there);
      if (here === 'active') await this.#copyHistory({ isParked: false });
      await this.#step('copied');
      if (!(await this.#switchWithoutServers())) {
        if (here === 'active') return this.#result('copied');
        throw conflict('A server was started on the database that the workspace leaves. Stop it.');
      }
    }
    await this.#purgeSource();
    return this.#result('moved');
  }

  /** Gives up a move that has not reached the target: the workspace stays where it is. */
  async cancel(): Promise<void> {
    const { source, target, clock } = this.#parts;
    const [here, there] = [await this.#stateIn(source), await this.#stateIn(target)];
    if (there === 'active' || here === 'absent' || here === 'purging') {
      throw new RefusedError('conflict', 'The workspace has already moved.');
    }
    if (here === 'moving') {
      await inTransaction(source, async (client) => {
        for (const [, queue] of QUEUES) await unparkRows(client, queue, this.#id);
        await markActive(client, this.#id, await readProfile(client, this.#id));
      });
    }
    if (there !== 'moving') return;
    const purge = { id: this.#id, requestedAtMs: clock.now() };
    await inTransaction(target, (client) => insertPurge(client, purge, clock.now()));
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
        `${archived} contents of the workspace are in the content archive, from which they cannot be moved. Wait until they have expired.`,
      );
    }
    return { here, there };
  }

  async #numberTarget(): Promise<void> {
    const { source, target } = this.#parts;
    const newest = await newestEventTx(source, this.#id);
    if (!(await this.#isTargetAhead(newest + NUMBERS_AHEAD / 2))) {
      const last = newest + NUMBERS_AHEAD;
      await inTransaction(target, (client) => continueLogAfter(client, last));
      await this.#until('the consumers of the target have processed its event log', async () => {
        await this.#consume(target);
        return skipConsumersTo(target, last + 1);
      });
    }
    await this.#step('numbered');
  }

  async #isTargetAhead(tx: number): Promise<boolean> {
    const { target } = this.#parts;
    const positions = await Promise.all([
      readConsumerPosition(target, 'webhooks'),
      readConsumerPosition(target, 'statistics'),
    ]);
    return positions.every((position) => position.tx > tx);
  }

  async #arrive(there: MoveState): Promise<void> {
    const { source, target, clock } = this.#parts;
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
    await this.#createPartitions();
    await this.#step('arriving');
  }

  /** For rows as old as those of the workspace. */
  async #createPartitions(): Promise<void> {
    const { source, target, clock } = this.#parts;
    for (const table of PARTITIONED_TABLES) {
      const oldestMs = Math.max(await partitionsStartMs(source, table.table), uuidTime(this.#id));
      for (let atMs = oldestMs; atMs < clock.now(); atMs += (table.aheadDays - 1) * DAY_MS) {
        await ensurePartitions(target, atMs, [table]);
      }
    }
  }

  /** Returns how many rows differed. */
  async #copyHistory({ isParked }: { isParked: boolean }): Promise<number> {
    const { source, target } = this.#parts;
    return withTextFormat(source, (from) =>
      withTextFormat(target, async (to) => {
        let copied = await this.#copyTables(from, to, 'history');
        for (const [name, { unfinished }] of QUEUES) {
          const table = await describeTable(from, name);
          copied += await this.#copyTable(from, to, {
            ...table,
            ...(isParked ? {} : { only: `not (${unfinished})` }),
          });
        }
        return copied;
      }),
    );
  }

  async #copyTables(from: Queryable, to: Queryable, way: 'history' | 'switch'): Promise<number> {
    let copied = 0;
    for (const name of tablesThatMove(way)) {
      copied += await this.#copyTable(from, to, await describeTable(from, name));
    }
    return copied;
  }

  async #copyTable(from: Queryable, to: Queryable, table: CopiedTable): Promise<number> {
    const { rows, copied } = await copyTable(from, to, table, this.#id, (done) =>
      this.#parts.onProgress?.(table.name, done),
    );
    this.#rows[table.name] = rows;
    return copied;
  }

  /** Returns false if a server is running. */
  async #switchWithoutServers(): Promise<boolean> {
    const session = await this.#parts.source.connect();
    try {
      if (!(await acquireWithoutServers(session))) return false;
      await this.#switch(session);
      return true;
    } finally {
      // Closes the session, which releases the locks.
      session.release(true);
    }
  }

  async #switch(session: PoolClient): Promise<void> {
    const { source, clock } = this.#parts;
    await this.#until('the events of the workspace are processed', async () => {
      await this.#consume(source);
      return areEventsConsumed(source, this.#id);
    });
    await this.#step('consumed');
    await inTransaction(source, async (client) => {
      for (const [, queue] of QUEUES) await parkRows(client, queue, this.#id);
      await markMoving(client, this.#id, clock.now());
    });
    await this.#step('leaving');
    if (!(await this.#isTargetAhead(await newestEventTx(source, this.#id)))) {
      throw new Error('Broken invariant: the event log of the source has overtaken the target');
    }
    await this.#until('both copies are equal', async () => {
      return (await this.#copyHistory({ isParked: true })) === 0;
    });
    await this.#step('verified');
    // Throws if the session was lost, and with it the locks: a server may have started since.
    await acquireWithoutServers(session);
    await this.#activate();
    await this.#step('activated');
  }

  async #activate(): Promise<void> {
    const { source, target } = this.#parts;
    await withTextFormat(source, (from) =>
      inTextTransaction(target, async (to) => {
        await this.#copyTables(from, to, 'switch');
        if ((await this.#copyTables(from, to, 'switch')) > 0) {
          throw new Error('Broken invariant: source and target are not equal');
        }
        await this.#copyMembers(from, to);
        for (const [, queue] of QUEUES) await unparkRows(to, queue, this.#id);
        await markActive(to, this.#id, await readProfile(from, this.#id));
      }),
    );
  }

  /** Members with an account at the target keep it; the others get theirs copied. */
  async #copyMembers(from: PoolClient, to: PoolClient): Promise<void> {
    const people = await describeTable(from, 'people');
    const found = await readRows(
      from,
      people,
      't.id in (select person_id from memberships where workspace_id = $1)',
      [this.#id],
    );
    const known = await findPeopleByEmail(
      to,
      found.map((person) => String(person.email_key)),
    );
    const ids = new Map<string, string>();
    for (const person of found) {
      const id = String(person.id);
      const same = known.get(String(person.email_key));
      const isFree = same === undefined && !(await personExists(to, id));
      ids.set(id, same ?? (isFree ? id : uuidv7(this.#parts.clock.now())));
    }
    const added = found.filter((person) => !known.has(String(person.email_key)));
    await insertRows(
      to,
      people,
      // Who may manage the target is decided there.
      added.map((person) => ({
        ...person,
        id: ids.get(String(person.id)) ?? null,
        is_instance_owner: 'false',
      })),
    );
    for (const name of tablesThatMove('person')) {
      const table = await describeTable(from, name);
      const rows = await readRows(from, table, 't.workspace_id = $1', [this.#id]);
      const mapped: TextRow[] = rows.flatMap((row) => {
        const personId = ids.get(String(row.person_id));
        return personId === undefined ? [] : [{ ...row, person_id: personId }];
      });
      this.#rows[name] = await insertRows(to, table, mapped);
    }
  }

  async #purgeSource(): Promise<void> {
    const { source, clock } = this.#parts;
    if ((await this.#stateIn(source)) === 'moving') {
      const purge = { id: this.#id, requestedAtMs: clock.now() };
      await inTransaction(source, (client) => insertPurge(client, purge, clock.now()));
    }
    await this.#step('purging');
    await new WorkspacePurges({ pool: source, clock, log: silentLog }).work();
    await this.#step('purged');
  }

  /** Does what running servers would do: webhooks are queued, and events counted. */
  async #consume(pool: Pool): Promise<void> {
    const { clock } = this.#parts;
    const nowMs = clock.now();
    const nothing = {
      total: 0,
      defaultPerEndpoint: 0,
      perEndpoint: [],
      defaultPerWorkspace: 0,
      perWorkspace: [],
    };
    const terms = { nowMs, leaseEndsAtMs: nowMs, lease: 0 };
    while ((await fanOut(pool, BATCH_SIZE, nothing, terms)).seen > 0);
    const statistics = new StatsAggregator({ pool, clock, log: silentLog });
    while (await statistics.aggregateNext());
  }

  async #until(what: string, check: () => Promise<boolean>): Promise<void> {
    const { clock } = this.#parts;
    for (let pass = 0; pass < PASSES_MAX; pass += 1) {
      if (await check()) return;
      await new Promise<void>((resolve) => clock.after(PAUSE_MS, resolve));
    }
    throw conflict(
      `The workspace ${encodeId('wsp', this.#id)} cannot be moved yet: it takes too long until ${what}. A transaction may be open. Run the command again.`,
    );
  }
}

const PAUSE_MS = 1_000;

function conflict(detail: string): RefusedError {
  return new RefusedError('conflict', detail);
}
