import { channel } from '../db/connections/notification-channels.ts';
import type { Queryable } from '../db/connections/pool.ts';
import { sqlTime } from '../db/schema/row-types.ts';
import { type PurgedTable, purgeRows } from '../db/statements/purge-rows.ts';
import { unprocessedEvents } from '../events/event-consumer-store.ts';
import { type MessageUsage, type Quotas, WARN_AT_PERCENT_DEFAULT } from './quota.ts';

/** Quotas, the leases of nodes, and the usage that they are compared with. */

const QUOTA_COLUMNS = `messages_per_hour, messages_per_day, messages_per_month,
  recipients_per_message, contacts, content_bytes, requests_per_second, warn_at_percent`;

export async function findQuotas(db: Queryable, workspaceId: string): Promise<Quotas | undefined> {
  const { rows } = await db.query<Quotas>({
    name: 'find-quotas',
    text: `select ${QUOTA_COLUMNS} from quotas where workspace_id = $1`,
    values: [workspaceId],
  });
  return rows[0];
}

/** Every node then reads the quotas again, and forgets what it was refused. */
export async function saveQuotas(
  db: Queryable,
  workspaceId: string,
  quotas: Quotas,
): Promise<void> {
  await db.query(
    `with saved as (
       insert into quotas (workspace_id, ${QUOTA_COLUMNS}) values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
       on conflict (workspace_id) do update set messages_per_hour = $2, messages_per_day = $3,
         messages_per_month = $4, recipients_per_message = $5, contacts = $6,
         content_bytes = $7, requests_per_second = $8, warn_at_percent = $9
       returning workspace_id)
     select pg_notify(${channel('quotas')}, workspace_id::text) from saved`,
    [
      workspaceId,
      quotas.messages_per_hour,
      quotas.messages_per_day,
      quotas.messages_per_month,
      quotas.recipients_per_message,
      quotas.contacts,
      quotas.content_bytes,
      quotas.requests_per_second,
      quotas.warn_at_percent ?? WARN_AT_PERCENT_DEFAULT,
    ],
  );
}

/** Live messages of a workspace by hour, as the statistics count them: without mail of the service. */
const counted = (when: string): string => `
  select at, sum(n) as n from statistics_totals_by_hour
   where workspace_id = $1 and mode = 'live' and counter = 'messages' and ${when} group by at`;

/**
 * Locks the lease of the hour, which serializes the nodes that lease for this workspace. An hour in which
 * the workspace got its first quota starts with what was counted so far. Requires a transaction.
 */
export async function lockLease(db: Queryable, workspaceId: string, hourMs: number): Promise<void> {
  await db.query(
    `insert into quota_leases (workspace_id, hour, leased)
     values ($1, $2, coalesce((select n from (${counted('at = $2')}) c), 0))
     on conflict (workspace_id, hour) do nothing`,
    [workspaceId, sqlTime(hourMs)],
  );
  await db.query('select from quota_leases where workspace_id = $1 and hour = $2 for update', [
    workspaceId,
    sqlTime(hourMs),
  ]);
}

export interface UsageBounds {
  hourMs: number;
  dayMs: number;
  monthMs: number;
  /** The statistics are complete before this time. */
  countedUntilMs: number;
}

/**
 * Counts hours that are complete by their messages, and others by what was leased, which is never less.
 * Reads at most two rows for each hour of the month.
 */
export async function readLeasedUsage(
  db: Queryable,
  workspaceId: string,
  { hourMs, dayMs, monthMs, countedUntilMs }: UsageBounds,
): Promise<MessageUsage> {
  const { rows } = await db.query<MessageUsage>({
    name: 'read-leased-usage',
    text: `with hours as (
        select coalesce(c.at, l.hour) as at,
          case when coalesce(c.at, l.hour) + interval '1 hour' <= $5 then coalesce(c.n, 0)
            else greatest(coalesce(c.n, 0), coalesce(l.leased, 0)) end as n
        from (${counted('at >= $4')}) c
        full join (select hour, leased from quota_leases where workspace_id = $1 and hour >= $4) l
          on l.hour = c.at)
      select coalesce(sum(n) filter (where at >= $2), 0)::float8 as messages_per_hour,
        coalesce(sum(n) filter (where at >= $3), 0)::float8 as messages_per_day,
        coalesce(sum(n), 0)::float8 as messages_per_month
      from hours`,
    values: [
      workspaceId,
      sqlTime(hourMs),
      sqlTime(dayMs),
      sqlTime(monthMs),
      sqlTime(countedUntilMs),
    ],
  });
  return rows[0] as MessageUsage;
}

/** A negative number returns what was not used. */
export async function addToLease(
  db: Queryable,
  workspaceId: string,
  hourMs: number,
  messages: number,
): Promise<void> {
  await db.query(
    `update quota_leases set leased = greatest(0, leased + $3)
     where workspace_id = $1 and hour = $2`,
    [workspaceId, sqlTime(hourMs), messages],
  );
}

/** False if the notice was published before. */
export async function insertNotice(
  db: Queryable,
  workspaceId: string,
  notice: string,
  periodStartMs: number,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `insert into quota_notices (workspace_id, notice, period_start) values ($1, $2, $3)
     on conflict do nothing`,
    [workspaceId, notice, sqlTime(periodStartMs)],
  );
  return rowCount === 1;
}

/**
 * For quotas without periods: false if the notice was published before and has not been deleted. Requires the
 * lock of the quotas.
 */
export async function insertStandingNotice(
  db: Queryable,
  workspaceId: string,
  notice: string,
  nowMs: number,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `insert into quota_notices (workspace_id, notice, period_start)
     select $1, $2, $3 where not exists (
       select from quota_notices where workspace_id = $1 and notice = $2)`,
    [workspaceId, notice, sqlTime(nowMs)],
  );
  return rowCount === 1;
}

/** Those of the notices that were published. */
export async function findNotices(
  db: Queryable,
  workspaceId: string,
  notices: readonly string[],
): Promise<string[]> {
  const { rows } = await db.query<{ notice: string }>(
    'select notice from quota_notices where workspace_id = $1 and notice = any($2)',
    [workspaceId, notices],
  );
  return rows.map(({ notice }) => notice);
}

/** Deletes notices that were published before a time, so that they can be published again. */
export async function deleteNotices(
  db: Queryable,
  workspaceId: string,
  notices: readonly string[],
  beforeMs: number,
): Promise<void> {
  if (notices.length === 0) return;
  await db.query(
    'delete from quota_notices where workspace_id = $1 and notice = any($2) and period_start < $3',
    [workspaceId, notices, sqlTime(beforeMs)],
  );
}

/** Exactly the messages that the statistics counted in each period. */
export async function readCountedUsage(
  db: Queryable,
  workspaceId: string,
  { hourMs, dayMs, monthMs }: Omit<UsageBounds, 'countedUntilMs'>,
): Promise<MessageUsage> {
  const { rows } = await db.query<MessageUsage>(
    `select coalesce(sum(n) filter (where at >= $2), 0)::float8 as messages_per_hour,
       coalesce(sum(n) filter (where at >= $3), 0)::float8 as messages_per_day,
       coalesce(sum(n), 0)::float8 as messages_per_month
     from (${counted('at >= $4')}) c`,
    [workspaceId, sqlTime(hourMs), sqlTime(dayMs), sqlTime(monthMs)],
  );
  return rows[0] as MessageUsage;
}

/** Live messages and their recipients in a period of whole days. */
export async function readCountedPeriod(
  db: Queryable,
  workspaceId: string,
  { startMs, endMs }: { startMs: number; endMs: number },
): Promise<{ messages: number; recipients: number }> {
  const { rows } = await db.query<{ messages: number; recipients: number }>(
    `select coalesce(sum(n) filter (where counter = 'messages'), 0)::float8 as messages,
       coalesce(sum(n) filter (where counter = 'accepted'), 0)::float8 as recipients
     from statistics_totals_by_day
     where workspace_id = $1 and mode = 'live'
       and counter in ('messages', 'accepted') and at >= $2 and at < $3`,
    [workspaceId, sqlTime(startMs), sqlTime(endMs)],
  );
  return rows[0] as { messages: number; recipients: number };
}

/** What a list of workspaces shows of each. */
export interface WorkspaceSummary {
  brake: 'slowed' | 'paused' | null;
  /** Live messages since the given time. */
  messages: number;
}

/** Reads one row per workspace and day. */
export async function readSummaries(
  db: Queryable,
  workspaceIds: readonly string[],
  sinceMs: number,
): Promise<Map<string, WorkspaceSummary>> {
  const { rows } = await db.query<WorkspaceSummary & { id: string }>(
    `select w.id, b.state as brake, coalesce((
         select sum(n) from statistics_totals_by_day where workspace_id = w.id and mode = 'live'
           and at >= $2 and counter = 'messages'), 0)::float8 as messages
     from unnest($1::uuid[]) as w (id) left join brakes b on b.workspace_id = w.id`,
    [workspaceIds, sqlTime(sinceMs)],
  );
  return new Map(rows.map(({ id, ...summary }) => [id, summary]));
}

/** Live contacts, counted up to a maximum. */
export async function countContacts(
  db: Queryable,
  workspaceId: string,
  max: number,
): Promise<number> {
  const { rows } = await db.query<{ contacts: number }>(
    `select count(*)::float8 as contacts from (
       select from contacts where workspace_id = $1 and mode = 'live' limit $2) c`,
    [workspaceId, max],
  );
  return rows[0]?.contacts ?? 0;
}

/** How many events of a workspace are read that the statistics have not counted yet. */
const UNCOUNTED_EVENTS_MAX = 20_000;

/**
 * Bytes of content, live and test, that were accepted or received since the start of a day. One statement sees the
 * statistics and the events that they have not counted yet at the same moment, so that no message is missing
 * or counted twice.
 */
export async function readContentBytes(
  db: Queryable,
  workspaceId: string,
  sinceMs: number,
): Promise<number> {
  const { rows } = await db.query<{ bytes: number }>({
    name: 'read-content-bytes',
    text: `select (coalesce((
          select sum(n) from statistics_totals_by_day
           where workspace_id = $1 and mode in ('live', 'test')
             and at >= $2 and counter = 'content_bytes'), 0)
        + coalesce((
          select sum(coalesce(data->>'content_bytes', data->>'size_bytes')::bigint)
            from ${unprocessedEvents('statistics', { workspaceId: '$1', limit: UNCOUNTED_EVENTS_MAX })} e
           where type in ('message.accepted', 'inbound_message.received')), 0))::float8 as bytes`,
    values: [workspaceId, sqlTime(sinceMs)],
  });
  return rows[0]?.bytes ?? 0;
}

export async function deleteOldLeases(db: Queryable, beforeMs: number): Promise<void> {
  await db.query('delete from quota_leases where hour < $1', [sqlTime(beforeMs)]);
  // Notices of other quotas have no period, and stand until the usage falls.
  await db.query(
    `delete from quota_notices where period_start < $1 and notice like 'messages\\_per\\_%'`,
    [sqlTime(beforeMs)],
  );
}

const QUOTAS: PurgedTable<'quotas'> = {
  table: 'quotas',
  async deleteRows(db, workspaceId) {
    const { rowCount } = await db.query('delete from quotas where workspace_id = $1', [
      workspaceId,
    ]);
    // Nodes drop what they have leased: the workspace may move back within the hour.
    await db.query(`select pg_notify(${channel('quotas')}, $1)`, [workspaceId]);
    return { deleted: { quotas: rowCount ?? 0 }, next: undefined };
  },
};

export const QUOTA_PURGES = [
  QUOTAS,
  purgeRows({
    table: 'quota_leases',
    delete: 'delete from quota_leases d',
    key: ['hour timestamptz'],
  }),
  purgeRows({
    table: 'quota_notices',
    delete: 'delete from quota_notices d',
    key: ['notice text', 'period_start timestamptz'],
  }),
] as const;
