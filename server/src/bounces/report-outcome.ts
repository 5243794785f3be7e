import type { TenantScope } from '../accounts/tenant-scope.ts';
import type { Pool, Queryable } from '../db/connections/pool.ts';
import type { Clock } from '../lib/time/clock.ts';
import type { Suppressions } from '../suppressions/suppressions.ts';

/** Whether a complaint stops the stream of the message, or all mail to the address. */
export type ComplaintScope = 'stream' | 'everywhere';

/** What recording a report needs, and what may come of it. */

export interface RecordReportParts {
  pool: Pool;
  clock: Clock;
  suppressions: Pick<Suppressions, 'suppress'>;
  complaintScope: ComplaintScope;
  /** The provider has refused the message because of the address that sent it, or it was complained about. */
  countRefusal(
    db: Queryable,
    scope: TenantScope,
    delivery: { messageId: string; ordinal: number },
  ): Promise<void>;
}

export const REPORT_OUTCOMES = [
  /** A delivery was marked as bounced. */
  'bounced',
  /** A complaint was recorded and its address suppressed. */
  'complained',
  /** The recipient of a message wrote to its address for unsubscribing. */
  'unsubscribed',
  /** Already recorded, by this report or an earlier one. */
  'duplicate',
  /** A failure of a delivery that is already final, or was never sent. */
  'not_applicable',
  /** A failure of a delivery that is being sent right now: the report must be sent again later. */
  'retry_later',
  /** Delayed, relayed, delivered or expanded: changes nothing. */
  'progress',
  /** `not-spam`, authentication failures and other feedback: changes nothing. */
  'feedback',
  /** A complaint without proof that it concerns a message of ours. */
  'unverified',
  /** It names no recipient of the message, and several recipients shared the return path. */
  'unknown_recipient',
  /** A vacation notice or another automatic reply. */
  'auto_reply',
  /** A report, or mail with a null sender, in an unknown format. */
  'unreadable',
  /** Ordinary mail: rejected. */
  'not_a_report',
] as const;
export type ReportOutcome = (typeof REPORT_OUTCOMES)[number];
