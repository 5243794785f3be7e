import type { TenantScope } from '../../accounts/tenant-scope.ts';
import type { Queryable } from '../../db/connections/pool.ts';
import { sqlTime } from '../../db/schema/row-types.ts';
import { uuidRange } from '../../lib/ids.ts';

/** Statements of stream-retention.ts: which messages are finished, and which are looked at again later. */

export interface ExaminedMessage {
  id: string;
  stream: string;
  /** All its deliveries are finished. */
  isFinished: boolean;
}

/** Messages of a workspace, whatever their stream, in the order of their ids. */
export async function readMessageRange(
  db: Queryable,
  { workspaceId, mode }: TenantScope,
  range: { after: string; before: string; limit: number },
): Promise<ExaminedMessage[]> {
  const { rows } = await db.query<ExaminedMessage>({
    name: 'retention-message-range',
    text: `${EXAMINED} and m.id > $3 and m.id < $4 order by m.id limit $5`,
    values: [workspaceId, mode, range.after, range.before, range.limit],
  });
  return rows;
}

export async function readMessages(
  db: Queryable,
  { workspaceId, mode }: TenantScope,
  ids: readonly string[],
): Promise<ExaminedMessage[]> {
  const { rows } = await db.query<ExaminedMessage>({
    name: 'retention-messages',
    text: `${EXAMINED} and m.id between $3 and $4 and m.id = any($5)`,
    values: [workspaceId, mode, ...uuidRange(ids), ids],
  });
  return rows;
}

/** $3 and $4 are bounds of the ids, which let PostgreSQL prune partitions. */
const EXAMINED = `select m.id, m.stream, not exists (select from deliveries d
    where d.workspace_id = $1 and d.mode = $2 and d.message_id = m.id
      and d.message_id between $3 and $4
      and d.status in ('scheduled', 'queued', 'deferred')) as "isFinished"
  from messages m where m.workspace_id = $1 and m.mode = $2`;

/** Late contents to look at now, locked until the transaction ends. */
export async function claimLateContents(
  db: Queryable,
  nowMs: number,
  limit: number,
): Promise<(TenantScope & { id: string })[]> {
  const { rows } = await db.query<TenantScope & { id: string }>(
    `select workspace_id as "workspaceId", mode, message_id as id from late_contents
     where due_at <= $1 order by due_at limit $2 for update skip locked`,
    [sqlTime(nowMs), limit],
  );
  return rows;
}

/** Sets when to look at the contents of messages. */
export async function saveLateContents(
  db: Queryable,
  { workspaceId, mode }: TenantScope,
  contents: readonly { id: string; dueAtMs: number }[],
): Promise<void> {
  if (contents.length === 0) return;
  await db.query(
    `insert into late_contents (workspace_id, mode, message_id, due_at)
     select $1, $2, * from unnest($3::uuid[], $4::timestamptz[])
     on conflict (workspace_id, mode, message_id) do update set due_at = excluded.due_at`,
    [
      workspaceId,
      mode,
      contents.map(({ id }) => id),
      contents.map(({ dueAtMs }) => sqlTime(dueAtMs)),
    ],
  );
}

export async function forgetLateContents(
  db: Queryable,
  { workspaceId, mode }: TenantScope,
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return;
  await db.query(
    'delete from late_contents where workspace_id = $1 and mode = $2 and message_id = any($3)',
    [workspaceId, mode, ids],
  );
}
