import type { TenantScope } from '../../accounts/tenant-scope.ts';
import type { Pool } from '../../db/connections/pool.ts';
import { sqlTime } from '../../db/schema/row-types.ts';

/** Those of `messageIds` that messages of the workspace already have. */
export async function findUsedMessageIds(
  pool: Pool,
  { workspaceId, mode }: TenantScope,
  messageIds: readonly string[],
): Promise<Set<string>> {
  const { rows } = await pool.query<{ id: string }>({
    name: 'find-used-message-ids',
    text: `select header_message_id as id from messages
      where workspace_id = $1 and mode = $2 and header_message_id = any($3)`,
    values: [workspaceId, mode, messageIds],
  });
  return new Set(rows.map(({ id }) => id));
}

/** Whether a message was not stored because another one with its Message-ID was, just before. */
export function isMessageIdTaken(error: unknown): boolean {
  const { constraint } = (error ?? {}) as { constraint?: unknown };
  return constraint === 'message_id_reservations_pkey';
}

/** A reservation matters only while the message that it belongs to is being committed. */
const RESERVATION_MS = 24 * 60 * 60 * 1000;

/** Deletes up to `countMax` old reservations. Returns true when there may be more. */
export async function deleteOldReservations(
  pool: Pool,
  nowMs: number,
  countMax: number,
): Promise<boolean> {
  const { rowCount } = await pool.query(
    `delete from message_id_reservations where ctid = any(array(
       select ctid from message_id_reservations where created_at < $1 limit $2))`,
    [sqlTime(nowMs - RESERVATION_MS), countMax],
  );
  return rowCount === countMax;
}
