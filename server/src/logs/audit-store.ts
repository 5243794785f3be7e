import type { Mode } from '../accounts/tenant-scope.ts';
import type { Queryable } from '../db/connections/pool.ts';
import { sqlTime } from '../db/schema/row-types.ts';
import type { AuditIntentsRow, AuditLogRow } from '../db/schema/tables.ts';
import { recordset } from '../db/statements/recordset.ts';
import type { EventType } from '../events/event-types.ts';
import { INSERT_EVENTS } from '../events/events-store.ts';
import type { Scan, ScanBounds } from './scan-pages.ts';

/** Appends to the audit log, with an event for each entry, and reads it. */

export const ACTOR_TYPES = ['api_key', 'user', 'operator_key', 'cli'] as const;

export type ActorType = (typeof ACTOR_TYPES)[number];

/** The log of the server itself, which belongs to no workspace and has no events. */
export const SERVER_LOG = '00000000-0000-0000-0000-000000000000';

/** Unknown if the server ended, or lost the database, while the change was made. */
export const AUDIT_OUTCOMES = ['succeeded', 'unknown'] as const;
export type AuditOutcome = (typeof AUDIT_OUTCOMES)[number];

/** An entry for a workspace, or for all workspaces of a person if it concerns an account. */
export interface NewAuditRow
  extends Omit<AuditLogRow, 'workspace_id' | 'actor_type' | 'outcome' | 'details'> {
  workspace_id: string | null;
  member_id: string | null;
  actor_type: ActorType;
  outcome: AuditOutcome;
  details: string;
  /** The data of its event. */
  event_data: string;
}

const ROWS = recordset<NewAuditRow>({
  workspace_id: 'uuid',
  member_id: 'uuid',
  id: 'uuid',
  created_at: 'timestamptz',
  mode: 'mode',
  action: 'text',
  actor_type: 'text',
  actor_id: 'uuid',
  target: 'text',
  request_id: 'uuid',
  ip: 'text',
  user_agent: 'text',
  outcome: 'text',
  details: 'json',
  event_data: 'json',
});

const COLUMNS = ROWS.columns('workspace_id', 'member_id', 'event_data');
const TYPE: EventType = 'audit.recorded';

/**
 * Appends entries and their events, and deletes the intents of these changes, in one commit. Like the
 * audit log that they can read, live keys get the events of both modes, and test keys those of test
 * mode. An event has the id of its entry.
 */
export async function insertAuditEntries(
  db: Queryable,
  rows: readonly NewAuditRow[],
  intentIds: readonly string[] = [],
): Promise<void> {
  const columns = COLUMNS.split(', ').map((column) => `e.${column}`);
  await db.query({
    name: 'insert-audit-entries',
    text: `with entry as materialized (
        select coalesce(e.workspace_id, w.id) as workspace_id, ${columns.join(', ')}, e.event_data
        from ${ROWS.table('e', 1)}
        left join memberships m on e.workspace_id is null and m.person_id = e.member_id
        left join workspaces w on w.id = coalesce(e.workspace_id, m.workspace_id)
        where e.workspace_id = '${SERVER_LOG}'
          or (w.id is not null and w.purge_started_at is null)),
      finished as (
        delete from audit_intents where id = any($${ROWS.width + 1}::uuid[])),
      announced as (
        ${INSERT_EVENTS}
        select e.workspace_id, l.mode, event_log_tx(), e.id, '${TYPE}', e.created_at, null, null,
          e.event_data
        from entry e
        join (values ('live'::mode), ('test'::mode)) l (mode) on l.mode = 'live' or l.mode = e.mode
        where e.workspace_id <> '${SERVER_LOG}')
      insert into audit_log (workspace_id, ${COLUMNS})
      select workspace_id, ${COLUMNS} from entry`,
    values: [...ROWS.parameters(rows), intentIds],
  });
}

export interface Intent extends Omit<AuditIntentsRow, 'change'> {
  /** The change in JSON. */
  change: string;
}

/** Binary, because json_to_recordset refuses NUL characters, which requests may contain. */
const INTENTS = recordset<Intent>({ id: 'uuid', created_at: 'timestamptz', change: 'json' });

export async function insertIntents(db: Queryable, intents: readonly Intent[]): Promise<void> {
  await db.query({
    name: 'insert-audit-intents',
    text: `insert into audit_intents (${INTENTS.columns()})
      select ${INTENTS.columns()} from ${INTENTS.table('i', 1)}`,
    values: INTENTS.parameters(intents),
  });
}

export async function deleteIntents(db: Queryable, ids: readonly string[]): Promise<void> {
  await db.query({
    name: 'delete-audit-intents',
    text: 'delete from audit_intents where id = any($1::uuid[])',
    values: [ids],
  });
}

/** Deletes intents that are older than a time and returns them; those that others handle are skipped. */
export async function takeOldIntents<Change>(
  db: Queryable,
  beforeMs: number,
  limit: number,
): Promise<{ createdAtMs: number; change: Change }[]> {
  const { rows } = await db.query<{ createdAtMs: number; change: Change }>(
    `delete from audit_intents where id in (
       select id from audit_intents where created_at < $1 order by id limit $2
       for update skip locked)
     returning created_at as "createdAtMs", change`,
    [sqlTime(beforeMs), limit],
  );
  return rows;
}

export interface AuditEntry {
  id: string;
  createdAtMs: number;
  mode: Mode | null;
  action: string;
  actorType: ActorType;
  actorId: string | null;
  /** As it is now; null if the key or person no longer exists. */
  actorName: string | null;
  target: string | null;
  requestId: string | null;
  ip: string | null;
  userAgent: string | null;
  outcome: AuditOutcome;
  details: Record<string, unknown>;
}

export interface AuditFilter {
  mode?: Mode;
  actorType?: ActorType;
  actorId?: string;
  action?: string;
  target?: string;
}

/** Scans at most `scanMax` entries, newest first, and returns those that match. */
export async function scanAuditEntries(
  db: Queryable,
  workspaceId: string,
  filter: AuditFilter,
  { beforeId, sinceId, scanMax }: ScanBounds,
): Promise<Scan<AuditEntry>> {
  const { rows } = await db.query<AuditEntry & { matched: boolean; scanned: number }>({
    name: 'scan-audit-log',
    text: `with scanned as materialized (
        select * from audit_log where workspace_id = $1 and id < $2 and id >= $3
        order by id desc limit $4),
      tested as (
        select *, ($5::mode is null or mode = $5) and ($6::text is null or actor_type = $6)
          and ($7::uuid is null or actor_id = $7) and ($8::text is null or action = $8)
          and ($9::text is null or target = $9) as matched from scanned)
      select t.id, t.created_at as "createdAtMs", t.mode, t.action, t.actor_type as "actorType",
        t.actor_id as "actorId", coalesce(p.name, k.name, o.name) as "actorName", t.target,
        t.request_id as "requestId", t.ip, t.user_agent as "userAgent", t.outcome, t.details,
        t.matched,
        (select count(*) from scanned) as scanned
      from tested t
        left join people p on t.actor_type = 'user' and p.id = t.actor_id
        left join api_keys k on t.actor_type = 'api_key'
          and k.workspace_id = t.workspace_id and k.id = t.actor_id
        left join operator_keys o on t.actor_type = 'operator_key' and o.id = t.actor_id
      where t.matched or t.id = (select id from scanned order by id limit 1)
      order by t.id desc`,
    values: [
      workspaceId,
      beforeId,
      sinceId,
      scanMax,
      filter.mode ?? null,
      filter.actorType ?? null,
      filter.actorId ?? null,
      filter.action ?? null,
      filter.target ?? null,
    ],
  });
  return {
    matches: rows.filter(({ matched }) => matched),
    scanned: rows[0]?.scanned ?? 0,
    lastId: rows.at(-1)?.id ?? null,
  };
}
