import {
  announceMove,
  markActive,
  markMoving,
  readMoveState,
  readProfile,
} from '../accounts/workspace-move-store.ts';
import { isLockTimeout } from '../db/connections/database-errors.ts';
import { inTransaction, type Pool } from '../db/connections/pool.ts';
import { type FencedTable, fenceTables, removeFence } from '../db/connections/write-fence.ts';
import { areEventsConsumed } from '../events/event-consumer-store.ts';
import { RefusedError } from '../lib/refused-error.ts';
import { type Clock, pause } from '../lib/time/clock.ts';
import { areCountsFolded, foldCounts } from '../stats/fold-counts-store.ts';
import { consumeEvents } from './consume-events.ts';
import { areQueuesParked, isWorkLeft, parkQueues, unparkQueues } from './moving-queues.ts';

/**
 * Closes a workspace while the servers of its database keep running and serve the others, so that nothing
 * about it changes any more and it can be copied.
 *
 * 1. While requests are still accepted, servers are asked to start nothing for the workspace and to
 *    release what waits in memory. Attempts in progress end and are recorded, those before their final
 *    dot without having been attempts. This may take as long as a slow receiver.
 * 2. The workspace is marked. Servers learn it by the notification that invalidates their caches, and
 *    answer its keys and sessions with "try again".
 * 3. Its tables are fenced: from here on, a request that was authenticated before fails. What was
 *    accepted in between is parked, and its events are processed.
 * 4. The queue of mail is fenced, when no row of it is leased and none can become due.
 *
 * If one of them takes too long, the workspace is opened again.
 */
export interface ClosingParts {
  pool: Pool;
  clock: Clock;
  /**
   * Set when no server is running: resolves while none can start, and rejects when that is no longer
   * certain. Leases are then ended without waiting for anyone.
   */
  stillAlone?: (() => Promise<void>) | undefined;
  onStep: (step: 'drained' | 'leaving' | 'fenced') => Promise<void>;
}

const POLL_MS = 200;
/** Receivers that do not answer are waited for while the workspace is open. */
const DRAIN_MAX_MS = 120_000;
/** What is accepted in the meantime gets a lease for a moment. */
const ACCEPTING_MS = 2_000;
/** The workspace is closed meanwhile. */
const SETTLE_MAX_MS = 30_000;

const ALL = { insert: true, update: true, delete: true } as const;

/** What requests write. Whatever is written for many workspaces at once is left out. */
const REQUEST_TABLES: readonly FencedTable[] = [
  { table: 'messages', insert: true, update: true },
  { table: 'inbound_messages', ...ALL },
  { table: 'contacts', ...ALL },
  { table: 'contact_subscriptions', ...ALL },
  { table: 'contact_imports', insert: true, update: true },
  { table: 'contact_import_chunks', insert: true },
  { table: 'erasures', ...ALL },
  { table: 'templates', ...ALL },
  { table: 'template_versions', ...ALL },
  { table: 'template_publications', ...ALL },
  { table: 'streams', ...ALL },
  { table: 'domains', insert: true, delete: true },
  { table: 'domain_keys', insert: true, delete: true },
  {
    table: 'api_keys',
    insert: true,
    // Not the times of the last use and of the notice of expiry.
    update: ['scopes', 'expires_at', 'revoked_at'],
  },
  { table: 'api_key_secrets', ...ALL },
  { table: 'ses_credentials', ...ALL },
  { table: 'invitations', insert: true },
  { table: 'memberships', ...ALL },
  { table: 'oidc_connections', ...ALL },
];

/** What the results of attempts write too, so these wait for them. */
const RESULT_TABLES: readonly FencedTable[] = [
  { table: 'deliveries', insert: true, update: true },
  // The job that removes expired ones does it for all workspaces.
  {
    table: 'suppressions',
    insert: true,
    update: true,
    delete: 'old.expires_at is null or old.expires_at > clock_timestamp()',
  },
  { table: 'webhooks', ...ALL },
  { table: 'webhook_secrets', ...ALL },
];

export async function closeWorkspace(parts: ClosingParts, id: string): Promise<void> {
  const { pool, clock, onStep } = parts;
  if ((await readMoveState(pool, id)) === 'active') {
    if (!parts.stillAlone) await drain(parts, id);
    await onStep('drained');
    await markMoving(pool, id, clock.now());
    await onStep('leaving');
  }
  try {
    await fenceTables(pool, id, REQUEST_TABLES);
    await settle(parts, id);
  } catch (error) {
    if (!isLockTimeout(error) && !(error instanceof RefusedError)) throw error;
    await reopenWorkspace(pool, id);
    if (error instanceof RefusedError) throw error;
    throw tooSlow('a lock on its tables is free');
  }
  await onStep('fenced');
}

/** Undoes it, at whichever point it was. */
export async function reopenWorkspace(pool: Pool, id: string): Promise<void> {
  await removeFence(pool, id);
  await inTransaction(pool, async (client) => {
    await unparkQueues(client, id);
    await markActive(client, id, await readProfile(client, id));
  });
}

async function drain({ pool, clock }: ClosingParts, id: string): Promise<void> {
  for (const untilMs = clock.now() + DRAIN_MAX_MS; ; ) {
    await announceMove(pool, id);
    await pause(clock, POLL_MS);
    if (!(await isWorkLeft(pool, id, clock.now() - ACCEPTING_MS))) return;
    if (clock.now() > untilMs) throw tooSlow('attempts in progress have ended');
  }
}

/** Fences the queues at a moment when they are parked, and all events are processed and added up. */
async function settle({ pool, clock, stillAlone }: ClosingParts, id: string): Promise<void> {
  const isSettled = async (): Promise<boolean> =>
    (await areQueuesParked(pool, id)) &&
    (await areEventsConsumed(pool, id)) &&
    (await areCountsFolded(pool, id));
  for (const untilMs = clock.now() + SETTLE_MAX_MS; ; ) {
    await stillAlone?.();
    await announceMove(pool, id);
    if (!(await isSettled())) {
      // A request that was authenticated before may have changed something while the queues were fenced.
      await removeFence(pool, id, RESULT_TABLES);
      await parkQueues(pool, id, { evenLeased: stillAlone !== undefined });
      await consumeEvents(pool, clock);
      await foldCounts(pool, [
        { workspaceId: id, mode: 'live' },
        { workspaceId: id, mode: 'test' },
      ]);
    }
    if (await isSettled()) {
      await fenceTables(pool, id, RESULT_TABLES);
      if (await isSettled()) return;
    }
    if (clock.now() > untilMs) {
      throw tooSlow('attempts in progress have ended and all events are processed');
    }
    await pause(clock, POLL_MS);
  }
}

function tooSlow(what: string): RefusedError {
  const detail = `The workspace stays open here, because it takes too long until ${what}. Run the command again.`;
  return new RefusedError('conflict', detail);
}
