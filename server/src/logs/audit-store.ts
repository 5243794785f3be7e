import type { Mode } from '../accounts/tenant-scope.ts';
import type { Queryable } from '../db/pool.ts';
import { recordset } from '../db/recordset.ts';
import type { AuditLogRow } from '../db/tables.ts';
import type { Scan, ScanBounds } from './scan-pages.ts';

/** Appends to the audit log and reads it. */

export const ACTOR_TYPES = ['api_key', 'user', 'operator_key', 'cli'] as const;

export type ActorType = (typeof ACTOR_TYPES)[number];

/** An entry for a workspace, or for all workspaces of a person if it concerns an account. */
export interface NewAuditRow extends Omit<AuditLogRow, 'workspace_id' | 'actor_type' | 'details'> {
  workspace_id: string | null;
  member_id: string | null;
  actor_type: ActorType;
  details: string;
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
  details: 'json',
});

const COLUMNS = ROWS.columns('workspace_id', 'member_id');

export async function insertAuditEntries(
  db: Queryable,
  rows: readonly NewAuditRow[],
): Promise<void> {
  const columns = COLUMNS.split(', ').map((column) => `e.${column}`);
  await db.query({
    name: 'insert-audit-entries',
    text: `insert into audit_log (workspace_id, ${COLUMNS})
      select coalesce(e.workspace_id, m.workspace_id), ${columns.join(', ')}
      from ${ROWS.table('e', 1)}
      left join memberships m on e.workspace_id is null and m.person_id = e.member_id
      where e.workspace_id is not null or m.workspace_id is not null`,
    values: ROWS.parameters(rows),
  });
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
        t.request_id as "requestId", t.ip, t.user_agent as "userAgent", t.details, t.matched,
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
