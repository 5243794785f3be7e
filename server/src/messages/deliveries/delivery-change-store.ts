import type { TenantScope } from '../../accounts/tenant-scope.ts';
import type { Queryable } from '../../db/connections/pool.ts';
import { sqlTime } from '../../db/schema/row-types.ts';
import type { Bounce, SmtpFacts } from '../../events/event-types.ts';

/**
 * The changes that bounces, complaints, opens and clicks make to a delivery. The caller has locked
 * the row. The statements are not prepared: a plan made while the tables are small would scan them
 * later.
 */

export interface MessageRef extends TenantScope {
  messageId: string;
}

/** A deferred delivery must be queued first: the only transition out of `deferred`. */
export async function requeue(db: Queryable, message: MessageRef, ordinal: number): Promise<void> {
  await db.query(
    `update deliveries set status = 'queued'
     where workspace_id = $1 and mode = $2 and message_id = $3 and ordinal = $4
       and status = 'deferred' and lease is null`,
    [message.workspaceId, message.mode, message.messageId, ordinal],
  );
}

/** Returns the sequence number of the event among the recipient's events. */
export async function markBounced(
  db: Queryable,
  message: MessageRef,
  ordinal: number,
  { bounce, smtp, atMs }: { bounce: Bounce; smtp: SmtpFacts; atMs: number },
): Promise<number> {
  const { rows } = await db.query<{ event_sequence: number }>(
    `update deliveries set status = 'bounced', due_at = null, finished_at = $5, reason = $6,
       bounce = $7, smtp = $8, event_sequence = event_sequence + 1
     where workspace_id = $1 and mode = $2 and message_id = $3 and ordinal = $4 and lease is null
     returning event_sequence`,
    [
      message.workspaceId,
      message.mode,
      message.messageId,
      ordinal,
      sqlTime(atMs),
      bounce.reason,
      JSON.stringify(bounce),
      JSON.stringify(smtp),
    ],
  );
  return (rows[0] as { event_sequence: number }).event_sequence;
}

/** A complaint does not change the status. Returns the sequence number of its event. */
export async function markComplained(
  db: Queryable,
  message: MessageRef,
  ordinal: number,
  atMs: number,
): Promise<number> {
  const { rows } = await db.query<{ event_sequence: number }>(
    `update deliveries set complained_at = $5, event_sequence = event_sequence + 1
     where workspace_id = $1 and mode = $2 and message_id = $3 and ordinal = $4 returning event_sequence`,
    [message.workspaceId, message.mode, message.messageId, ordinal, sqlTime(atMs)],
  );
  return (rows[0] as { event_sequence: number }).event_sequence;
}

/** An unsubscription does not change the status either. Returns the sequence number of its event. */
export async function nextEventSequence(
  db: Queryable,
  message: MessageRef,
  ordinal: number,
): Promise<number> {
  const { rows } = await db.query<{ event_sequence: number }>(
    `update deliveries set event_sequence = event_sequence + 1
     where workspace_id = $1 and mode = $2 and message_id = $3 and ordinal = $4 returning event_sequence`,
    [message.workspaceId, message.mode, message.messageId, ordinal],
  );
  return (rows[0] as { event_sequence: number }).event_sequence;
}

/**
 * Part of the statement that records opens and clicks: adds `n` events to the first recipient of each
 * message in a table expression with the columns w, m, id and n. Returns them with the sequence number
 * of the last event before.
 */
export const addEventsToFirstRecipient = (source: string): string => `
    update deliveries d set event_sequence = d.event_sequence + c.n
      from ${source} c
     where d.workspace_id = c.w and d.mode = c.m and d.message_id = c.id and d.ordinal = 0
 returning d.workspace_id as w, d.mode as m, d.message_id as id, d.event_sequence - c.n as before`;
