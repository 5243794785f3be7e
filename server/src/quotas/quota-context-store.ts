import type { Queryable } from '../db/connections/pool.ts';
import type { BrakeContext, BrakePolicy, BrakeState } from './brake.ts';
import type { Quotas } from './quota.ts';

interface Row extends Omit<Quotas, 'warn_at_percent'>, BrakePolicy {
  warn_at_percent: number | null;
  state: BrakeState | null;
  createdAtMs: number;
}

/** All that limits a workspace, in one query; undefined if there is no such workspace. */
export async function findQuotaContext(
  db: Queryable,
  workspaceId: string,
): Promise<{ quotas: Quotas | undefined; context: BrakeContext } | undefined> {
  const { rows } = await db.query<Row>({
    name: 'find-quota-context',
    text: `select q.messages_per_hour, q.messages_per_day, q.messages_per_month,
        q.recipients_per_message, q.contacts, q.content_bytes, q.requests_per_second, q.warn_at_percent,
        b.slow_bounce_rate as "slowBounceRate", b.pause_bounce_rate as "pauseBounceRate",
        b.slow_complaint_rate as "slowComplaintRate",
        b.pause_complaint_rate as "pauseComplaintRate",
        b.probation_ends_at as "probationEndsAtMs", b.state, w.created_at as "createdAtMs"
      from workspaces w left join quotas q on q.workspace_id = w.id
        left join brakes b on b.workspace_id = w.id
      where w.id = $1`,
    values: [workspaceId],
  });
  const [row] = rows;
  if (!row) return undefined;
  const { warn_at_percent, state, createdAtMs } = row;
  const quotas: Quotas | undefined =
    warn_at_percent === null
      ? undefined
      : {
          messages_per_hour: row.messages_per_hour,
          messages_per_day: row.messages_per_day,
          messages_per_month: row.messages_per_month,
          recipients_per_message: row.recipients_per_message,
          contacts: row.contacts,
          content_bytes: row.content_bytes,
          requests_per_second: row.requests_per_second,
          warn_at_percent,
        };
  const policy: BrakePolicy = {
    slowBounceRate: row.slowBounceRate,
    pauseBounceRate: row.pauseBounceRate,
    slowComplaintRate: row.slowComplaintRate,
    pauseComplaintRate: row.pauseComplaintRate,
    probationEndsAtMs: row.probationEndsAtMs,
  };
  return { quotas, context: { policy, state, createdAtMs } };
}
