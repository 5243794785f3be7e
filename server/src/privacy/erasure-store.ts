import type { TenantScope } from '../accounts/tenant-scope.ts';
import type { Queryable } from '../db/connections/pool.ts';
import { sqlTime } from '../db/schema/row-types.ts';
import type { ErasuresRow } from '../db/schema/tables.ts';
import { purgeRows } from '../db/statements/purge-rows.ts';
import { selectList } from '../db/statements/select-list.ts';

/** The erasures in progress and their counts. */

export interface ErasureCounts {
  contacts: number;
  messages: number;
  attempts: number;
  events: number;
}

export interface ErasureRef extends TenantScope {
  emailKey: string;
}

interface Cursors {
  /** How far the erasure has come in the events without a message. */
  eventsAfter: string | null;
  /** How far it has come in the request log. */
  requestsAfter: string | null;
}

const REF = selectList<ErasuresRow, ErasureRef>({
  workspaceId: 'workspace_id',
  mode: 'mode',
  emailKey: 'email_key',
});

const PROGRESS = selectList<ErasuresRow, ErasureCounts & Cursors>({
  contacts: 'contacts',
  messages: 'messages',
  attempts: 'attempts',
  events: 'events',
  eventsAfter: 'events_cursor',
  requestsAfter: 'requests_cursor',
});

/** Idempotent: a repeated request restarts the erasure. */
export async function insertErasure(
  db: Queryable,
  ref: ErasureRef,
  contacts: number,
  nowMs: number,
): Promise<void> {
  await db.query(
    `insert into erasures as old (workspace_id, mode, email_key, requested_at, contacts)
     values ($1, $2, $3, $4, $5)
     on conflict (workspace_id, mode, email_key)
       do update set requested_at = excluded.requested_at,
         contacts = old.contacts + excluded.contacts, events_cursor = null,
         requests_cursor = null`,
    [ref.workspaceId, ref.mode, ref.emailKey, sqlTime(nowMs), contacts],
  );
}

export interface ErasureProgress extends Cursors {
  counts: ErasureCounts;
}

/**
 * Locked until the transaction ends, so that nodes take turns. Undefined when the erasure is
 * finished.
 */
export async function lockErasure(
  db: Queryable,
  ref: ErasureRef,
): Promise<ErasureProgress | undefined> {
  const { rows } = await db.query<ErasureCounts & Cursors>(
    `select ${PROGRESS} from erasures
     where workspace_id = $1 and mode = $2 and email_key = $3 for update`,
    [ref.workspaceId, ref.mode, ref.emailKey],
  );
  if (!rows[0]) return undefined;
  const { eventsAfter, requestsAfter, ...counts } = rows[0];
  return { counts, eventsAfter, requestsAfter };
}

export async function advanceEventCursor(
  db: Queryable,
  ref: ErasureRef,
  eventsAfter: string,
): Promise<void> {
  await db.query(
    `update erasures set events_cursor = $4
     where workspace_id = $1 and mode = $2 and email_key = $3`,
    [ref.workspaceId, ref.mode, ref.emailKey, eventsAfter],
  );
}

export async function advanceRequestCursor(
  db: Queryable,
  ref: ErasureRef,
  requestsAfter: string,
): Promise<void> {
  await db.query(
    `update erasures set requests_cursor = $4
     where workspace_id = $1 and mode = $2 and email_key = $3`,
    [ref.workspaceId, ref.mode, ref.emailKey, requestsAfter],
  );
}

export async function addErasureCounts(
  db: Queryable,
  ref: ErasureRef,
  more: Omit<ErasureCounts, 'contacts'>,
): Promise<void> {
  await db.query(
    `update erasures set messages = messages + $4, attempts = attempts + $5, events = events + $6
     where workspace_id = $1 and mode = $2 and email_key = $3`,
    [ref.workspaceId, ref.mode, ref.emailKey, more.messages, more.attempts, more.events],
  );
}

export async function deleteErasure(db: Queryable, ref: ErasureRef): Promise<void> {
  await db.query('delete from erasures where workspace_id = $1 and mode = $2 and email_key = $3', [
    ref.workspaceId,
    ref.mode,
    ref.emailKey,
  ]);
}

/**
 * Unfinished erasures that were requested before this time, oldest first. Those of a workspace on its way
 * to another installation are continued there.
 */
export async function listErasures(
  db: Queryable,
  requestedBeforeMs: number,
  limit: number,
): Promise<ErasureRef[]> {
  const { rows } = await db.query<ErasureRef>(
    `select ${REF} from erasures e where requested_at < $1
       and not exists (select from workspaces w
                        where w.id = e.workspace_id and w.purge_started_at is not null)
     order by requested_at limit $2`,
    [sqlTime(requestedBeforeMs), limit],
  );
  return rows;
}

export const ERASURE_PURGES = [
  purgeRows({
    table: 'erasures',
    delete: 'delete from erasures d',
    key: ['mode mode', 'email_key text'],
  }),
] as const;
