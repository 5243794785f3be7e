import { NOT_PURGED } from '../accounts/api-key-store.ts';
import { WorkspaceMovingError } from '../accounts/workspace-moving.ts';
import type { Pool, Queryable } from '../db/connections/pool.ts';
import type { DeliveriesRow, MessagesRow } from '../db/schema/tables.ts';
import { selectList } from '../db/statements/select-list.ts';
import type { SmtpFacts } from '../events/event-types.ts';
import { encodeId } from '../lib/ids.ts';
import type { ReturnPath } from '../mail/return-path-address.ts';
import type { DeliveryStatus } from '../messages/message-status.ts';
import { addressDomain } from '../messages/queue-shard.ts';

/**
 * Finds and locks the deliveries that reports concern; messages/deliveries/ changes them. Only live
 * mail is delivered, so only live mail bounces. The statements are not prepared: a plan made while
 * the tables are small would scan them later.
 */

/** The message that a return path identifies, in the workspace that sent it. */
export interface SentMessage {
  workspaceId: string;
  mode: 'live';
  messageId: string;
  /** Undefined: the report must name the recipient. */
  ordinal: number | undefined;
}

/**
 * Finds the message of a return path. The host limits the search to the workspaces whose domain
 * uses it. The domain may have been deleted or changed its host since; in that case the sender of
 * the message decides. With `anyHost`, a host of no domain is accepted too: it is the bounce host of the
 * cell from which the mail was sent. An undefined host means the server's own bounce host.
 */
export async function findSentMessage(
  pool: Pool,
  path: ReturnPath,
  host: string | undefined,
  { anyHost = false } = {},
): Promise<SentMessage | undefined> {
  const sent = await findSender(pool, path, host);
  if (sent || host === undefined) return sent;
  const anywhere = await findSender(pool, path, undefined);
  if (!anywhere || (await isSentByParentDomain(pool, anywhere, host))) return anywhere;
  return anyHost && !(await isHostOfDomain(pool, host)) ? anywhere : undefined;
}

/**
 * The tail of the workspace's ID has an index (workspaces_tail), so that the number of workspaces does not
 * matter. A workspace that is being purged is not searched: it was deleted, or has moved, and what is
 * recorded would be lost.
 */
async function findSender(
  pool: Pool,
  { messageId, workspaceTail, ordinal }: ReturnPath,
  host: string | undefined,
): Promise<SentMessage | undefined> {
  const usesHost = `exists (select from domains
    where workspace_id = w.id and return_path_host = $4 and name = any($5))`;
  const { rows } = await pool.query<{ workspaceId: string; isMoving: boolean }>({
    text: `select w.id as "workspaceId", w.purge_started_at is not null as "isMoving"
      from workspaces w
      cross join lateral (select 1 from deliveries
        where workspace_id = w.id and mode = 'live' and message_id = $1
          and ($2::smallint is null or ordinal = $2) limit 1) d
      where right(w.id::text, 8) = $3 and ${NOT_PURGED}
        ${host === undefined ? '' : `and ${usesHost}`} limit 1`,
    values: [
      ...[messageId, ordinal ?? null, workspaceTail],
      ...(host === undefined ? [] : [host, parentDomains(host)]),
    ],
  });
  const [found] = rows;
  if (found?.isMoving) throw new WorkspaceMovingError();
  return found && { workspaceId: found.workspaceId, mode: 'live', messageId, ordinal };
}

/** Whether a workspace uses the host as its return path. Others cannot. */
async function isHostOfDomain(pool: Pool, host: string): Promise<boolean> {
  const { rows } = await pool.query(
    'select from domains where return_path_host = $1 and name = any($2) limit 1',
    [host, parentDomains(host)],
  );
  return rows.length > 0;
}

async function isSentByParentDomain(pool: Pool, sent: SentMessage, host: string): Promise<boolean> {
  const { rows } = await pool.query<{ sender: string }>(
    'select sender from messages where workspace_id = $1 and mode = $2 and id = $3',
    [sent.workspaceId, sent.mode, sent.messageId],
  );
  return rows[0] !== undefined && parentDomains(host).includes(addressDomain(rows[0].sender));
}

/** A return-path host is a subdomain of its domain, and domains are found by name. */
function parentDomains(host: string): string[] {
  const labels = host.split('.');
  return labels.map((_, index) => labels.slice(index + 1).join('.'));
}

export interface ReportedDelivery {
  ordinal: number;
  recipient: string;
  recipientKey: string;
  status: DeliveryStatus;
  leased: boolean;
  attempts: number;
  smtp: SmtpFacts | null;
  stream: string;
  metadata: Record<string, string>;
  tags: string[];
}

const REPORTED = `${selectList<
  DeliveriesRow,
  Omit<ReportedDelivery, 'leased' | 'stream' | 'metadata' | 'tags'>
>(
  {
    ordinal: 'ordinal',
    recipient: 'recipient',
    recipientKey: 'recipient_key',
    status: 'status',
    attempts: 'attempts',
    smtp: 'smtp',
  },
  'd',
)}, ${selectList<MessagesRow, Pick<ReportedDelivery, 'stream' | 'metadata' | 'tags'>>(
  { stream: 'stream', metadata: 'metadata', tags: 'tags' },
  'm',
)}`;

/** The data that every event about a delivery contains. */
export function deliveryEventFacts({ messageId }: SentMessage, delivery: ReportedDelivery) {
  const { recipient, attempts: attempt, stream, metadata, tags } = delivery;
  return { message_id: encodeId('msg', messageId), recipient, attempt, stream, metadata, tags };
}

/** Locks deliveries until the transaction ends, by their ordinal or by recipient. */
export async function lockReportedDeliveries(
  db: Queryable,
  sent: SentMessage,
  recipientKeys: readonly string[],
): Promise<ReportedDelivery[]> {
  const { rows } = await db.query<ReportedDelivery>({
    text: `select ${REPORTED}, d.lease is not null as leased
      from deliveries d join messages m on m.workspace_id = d.workspace_id and m.mode = d.mode
        and m.id = d.message_id
      where d.workspace_id = $1 and d.mode = $2 and d.message_id = $3
        and case when $4::smallint is null then d.recipient_key = any($5) else d.ordinal = $4 end
      order by d.ordinal for update of d`,
    values: [sent.workspaceId, sent.mode, sent.messageId, sent.ordinal ?? null, recipientKeys],
  });
  return rows;
}

/**
 * Whether the event exists: any complaint by this recipient, or a bounce from this report. Checked
 * under the lock, so that concurrent copies of a report are recorded once.
 */
export async function hasEvent(
  db: Queryable,
  sent: SentMessage,
  recipient: string,
  event: { type: 'message.complained' } | { type: 'message.bounced'; reportId: string },
): Promise<boolean> {
  const { rows } = await db.query<{ found: boolean }>({
    text: `select exists (select from events
      where workspace_id = $1 and mode = $2 and message_id = $3 and type = $4
        and data->>'recipient' = $5
        and ($6::text is null or data->'report'->>'id' = $6)) as found`,
    values: [
      sent.workspaceId,
      sent.mode,
      sent.messageId,
      event.type,
      recipient,
      'reportId' in event ? event.reportId : null,
    ],
  });
  return rows[0]?.found ?? false;
}
