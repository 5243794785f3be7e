import type { Mode } from '../accounts/tenant-scope.ts';
import { tryLockForTransaction } from '../db/advisory-lock.ts';
import type { Queryable } from '../db/connections/pool.ts';
import { LOCKS } from '../db/lock-numbers.ts';
import { sqlTime } from '../db/schema/row-types.ts';
import type { AlarmsRow } from '../db/schema/tables.ts';
import { selectList } from '../db/statements/select-list.ts';
import { fewestThatMatter, troubledWorkspaces } from './troubled-workspaces.ts';

/** The readings behind the alarms, from the tables of several modules, and the raised alarms. */

export const ALARM_KINDS = [
  'bounce_rate',
  'complaint_rate',
  'stream_bounce_rate',
  'stream_complaint_rate',
  'queue_age',
  'webhook_failing',
  'key_expiring',
  'domain_degraded',
] as const;
export type AlarmKind = (typeof ALARM_KINDS)[number];

export interface AlarmReading {
  workspaceId: string;
  mode: Mode;
  kind: AlarmKind;
  subject: string;
  /** A share from 0 to 1 for rates, seconds for times, the number of records for a domain. */
  value: number;
}

/**
 * Rates of sending domains and of streams with enough live mail in the window. A workspace that uses
 * one stream has no rates of streams: they would repeat those of its domains. Test mode is excluded:
 * simulated bounces and complaints do not harm a domain's reputation.
 */
export async function readRates(
  db: Queryable,
  window: { fromMs: number; recipientsMin: number },
  thresholds: { bounceRate: number; complaintRate: number },
): Promise<AlarmReading[]> {
  const { fromMs, recipientsMin } = window;
  const { rows } = await db.query<AlarmReading>(
    // Minutes take long to read, so only those of workspaces that can have an alarm are.
    `with suspects as materialized (
       ${troubledWorkspaces(`date_trunc('hour', $1::timestamptz, 'UTC')`, '$3', '$4')}
       union select workspace_id from alarms where kind like '%_rate'),
     sums as (
       select m.workspace_id, mode, dimension, value as subject,
         dimension = 'stream'
           and count(*) over (partition by m.workspace_id, mode, dimension) = 1 as is_only,
         coalesce(sum(n) filter (where counter = 'delivered'), 0) as delivered,
         coalesce(sum(n) filter (where counter = 'bounced'), 0) as bounced,
         coalesce(sum(n) filter (where counter = 'complained'), 0) as complained,
         coalesce(sum(n) filter (where counter in ('bounced', 'failed', 'expired')), 0)
           -- A late bounce was counted as delivered first (query-stats.ts).
           + greatest(0, coalesce(sum(n) filter (where counter = 'delivered'), 0)
             - coalesce(sum(n) filter (where counter = 'bounced_later'), 0)) as ended
       from suspects w cross join lateral (
         -- The offset keeps the planner from joining, which would read the minutes of all workspaces.
         select * from statistics_by_minute m where m.workspace_id = w.workspace_id
            and mode = 'live' and dimension in ('domain', 'stream') and at >= $1
            and hour >= date_trunc('hour', $1::timestamptz, 'UTC') offset 0) m
       group by m.workspace_id, mode, dimension, value)
     select workspace_id as "workspaceId", mode,
            case dimension when 'stream' then 'stream_bounce_rate' else 'bounce_rate' end as kind,
            subject, (bounced / ended)::float8 as value from sums where ended >= $2 and not is_only
     union all
     select workspace_id, mode,
            case dimension when 'stream' then 'stream_complaint_rate' else 'complaint_rate' end,
            subject, (complained / delivered)::float8
       from sums where delivered >= $2 and not is_only`,
    [
      sqlTime(fromMs),
      recipientsMin,
      fewestThatMatter(recipientsMin, [thresholds.bounceRate]),
      fewestThatMatter(recipientsMin, [thresholds.complaintRate]),
    ],
  );
  return rows;
}

/**
 * The age of the oldest due delivery. The scan is bounded, because a longer queue does not change
 * the result much.
 */
export async function readQueueAges(
  db: Queryable,
  nowMs: number,
  olderThanMs: number,
): Promise<AlarmReading[]> {
  const { rows } = await db.query<Omit<AlarmReading, 'value'> & { since: number }>(
    `select workspace_id as "workspaceId", mode, 'queue_age' as kind, '' as subject, min(due_at) as since
       from (select workspace_id, mode, due_at from deliveries
              where status in ('scheduled', 'queued', 'deferred') and due_at < $1 limit 100000) late
      group by workspace_id, mode`,
    [sqlTime(nowMs - olderThanMs)],
  );
  return rows.map(({ since, ...row }) => ({ ...row, value: Math.round((nowMs - since) / 1000) }));
}

export async function readFailingWebhooks(
  db: Queryable,
  nowMs: number,
  longerThanMs: number,
): Promise<AlarmReading[]> {
  const { rows } = await db.query<Omit<AlarmReading, 'value'> & { since: number }>(
    `select workspace_id as "workspaceId", mode, 'webhook_failing' as kind, id::text as subject,
            failing_since as since
       from webhooks where enabled and failing_since < $1`,
    [sqlTime(nowMs - longerThanMs)],
  );
  return rows.map(({ since, ...row }) => ({ ...row, value: Math.round((nowMs - since) / 1000) }));
}

/**
 * The remaining lifetime of keys that expire soon. Keys that were created with a shorter lifetime
 * are excluded: their expiry is expected.
 */
export async function readExpiringKeys(
  db: Queryable,
  nowMs: number,
  withinMs: number,
): Promise<AlarmReading[]> {
  const { rows } = await db.query<Omit<AlarmReading, 'value'> & { until: number }>(
    `select workspace_id as "workspaceId", mode, 'key_expiring' as kind, id::text as subject,
            expires_at as until
       from api_keys where revoked_at is null and expires_at > $1 and expires_at <= $2
        and expires_at - created_at > $3::float8 * interval '1 ms'`,
    [sqlTime(nowMs), sqlTime(nowMs + withinMs), withinMs],
  );
  return rows.map(({ until, ...row }) => ({ ...row, value: Math.round((until - nowMs) / 1000) }));
}

/**
 * Domains that lost DNS records after they were verified, with the number lost. Both modes share
 * them.
 */
export async function readDegradedDomains(db: Queryable): Promise<AlarmReading[]> {
  const { rows } = await db.query<AlarmReading>(
    `select workspace_id as "workspaceId", 'live' as mode, 'domain_degraded' as kind, name as subject,
            greatest(1, (select count(*) from json_array_elements(checks) record
                          where record->>'absentSinceMs' is not null))::int as value
       from domains where status in ('degraded', 'failed')`,
  );
  return rows;
}

export interface RaisedAlarm extends Omit<AlarmReading, 'value'> {
  raisedAtMs: number;
}

const RAISED = selectList<AlarmsRow, RaisedAlarm>({
  workspaceId: 'workspace_id',
  mode: 'mode',
  kind: 'kind',
  subject: 'subject',
  raisedAtMs: 'raised_at',
});

export async function readRaised(db: Queryable): Promise<RaisedAlarm[]> {
  const { rows } = await db.query<RaisedAlarm>(`select ${RAISED} from alarms`);
  return rows;
}

/** The raised alarms of one workspace and mode, newest first. */
export async function readRaisedInWorkspace(
  db: Queryable,
  scope: { workspaceId: string; mode: Mode },
): Promise<RaisedAlarm[]> {
  const { rows } = await db.query<RaisedAlarm>(
    `select ${RAISED} from alarms
      where workspace_id = $1 and mode = $2 order by raised_at desc, kind, subject`,
    [scope.workspaceId, scope.mode],
  );
  return rows;
}

export async function insertAlarm(db: Queryable, alarm: RaisedAlarm): Promise<void> {
  await db.query(
    'insert into alarms (workspace_id, mode, kind, subject, raised_at) values ($1, $2, $3, $4, $5)',
    [alarm.workspaceId, alarm.mode, alarm.kind, alarm.subject, sqlTime(alarm.raisedAtMs)],
  );
}

export async function deleteAlarm(db: Queryable, alarm: RaisedAlarm): Promise<void> {
  await db.query(
    'delete from alarms where workspace_id = $1 and mode = $2 and kind = $3 and subject = $4',
    [alarm.workspaceId, alarm.mode, alarm.kind, alarm.subject],
  );
}

/**
 * Takes the lock under which one node at a time checks the alarms. Returns false if another node
 * holds it.
 */
export function lockAlarms(db: Queryable): Promise<boolean> {
  return tryLockForTransaction(db, LOCKS.alarms);
}
