import type { Queryable } from '../db/connections/pool.ts';
import { sqlTime } from '../db/schema/row-types.ts';

/** The whole server at this moment, for the operator. */
export interface ServerStatus {
  workspaces: number;
  suspended: number;
  deleting: number;
  slowed: number;
  paused: number;
  /** Processes that deliver mail. */
  nodes: number;
}

export async function readServerStatus(db: Queryable): Promise<ServerStatus> {
  const { rows } = await db.query<ServerStatus>(
    `select count(*)::int as workspaces,
       count(*) filter (where suspended_at is not null)::int as suspended,
       count(*) filter (where deletion_requested_at is not null)::int as deleting,
       count(*) filter (where b.state = 'slowed')::int as slowed,
       count(*) filter (where b.state = 'paused')::int as paused,
       (select count(distinct name)::int from lease_holders where queue = 'deliveries') as nodes
     from workspaces w left join brakes b on b.workspace_id = w.id`,
  );
  return rows[0] as ServerStatus;
}

export interface ServerCounts {
  messages: number;
  delivered: number;
  bounced: number;
  complained: number;
}

const HOUR_MS = 3_600_000;

/** Live mail of all workspaces in the whole hours since a time. */
export async function readServerCounts(db: Queryable, sinceMs: number): Promise<ServerCounts> {
  const { rows } = await db.query<ServerCounts>(
    `select coalesce(sum(messages), 0)::float8 as messages,
       coalesce(sum(delivered), 0)::float8 as delivered,
       coalesce(sum(bounced), 0)::float8 as bounced,
       coalesce(sum(complained), 0)::float8 as complained
     from statistics_outcomes where mode = 'live' and at >= $1`,
    [sqlTime(Math.ceil(sinceMs / HOUR_MS) * HOUR_MS)],
  );
  return rows[0] as ServerCounts;
}
