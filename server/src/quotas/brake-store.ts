import { channel } from '../db/connections/notification-channels.ts';
import type { Queryable } from '../db/connections/pool.ts';
import { sqlTime } from '../db/schema/row-types.ts';
import type { PurgedTable } from '../db/statements/purge-rows.ts';
import type { Brake, BrakeEvidence, BrakePolicy, BrakeState } from './brake.ts';

/** The brakes of workspaces. Nodes cache a brake with the quotas, so those are invalidated. */

interface Row extends BrakePolicy {
  state: BrakeState | null;
  sinceMs: number | null;
  evidence: BrakeEvidence | null;
}

const COLUMNS = `slow_bounce_rate as "slowBounceRate", pause_bounce_rate as "pauseBounceRate",
  slow_complaint_rate as "slowComplaintRate", pause_complaint_rate as "pauseComplaintRate",
  probation_ends_at as "probationEndsAtMs", state, since as "sinceMs", evidence`;

export interface WorkspaceBrake {
  policy: BrakePolicy;
  brake: Brake | null;
}

export async function findBrake(
  db: Queryable,
  workspaceId: string,
): Promise<WorkspaceBrake | undefined> {
  const { rows } = await db.query<Row>(`select ${COLUMNS} from brakes where workspace_id = $1`, [
    workspaceId,
  ]);
  return rows[0] && toBrake(rows[0]);
}

function toBrake({ state, sinceMs, evidence, ...policy }: Row): WorkspaceBrake {
  const brake = state && sinceMs !== null && evidence ? { state, sinceMs, evidence } : null;
  return { policy, brake };
}

export async function saveBrakePolicy(
  db: Queryable,
  workspaceId: string,
  policy: BrakePolicy,
): Promise<void> {
  await db.query(
    `with saved as (
       insert into brakes (workspace_id, slow_bounce_rate, pause_bounce_rate, slow_complaint_rate,
         pause_complaint_rate, probation_ends_at)
       values ($1, $2, $3, $4, $5, $6)
       on conflict (workspace_id) do update set slow_bounce_rate = $2, pause_bounce_rate = $3,
         slow_complaint_rate = $4, pause_complaint_rate = $5, probation_ends_at = $6
       returning workspace_id)
     select pg_notify(${channel('quotas')}, workspace_id::text) from saved`,
    [
      workspaceId,
      policy.slowBounceRate,
      policy.pauseBounceRate,
      policy.slowComplaintRate,
      policy.pauseComplaintRate,
      sqlTime(policy.probationEndsAtMs),
    ],
  );
}

export async function applyBrake(db: Queryable, workspaceId: string, brake: Brake): Promise<void> {
  await db.query(
    `with saved as (
       insert into brakes (workspace_id, state, since, evidence) values ($1, $2, $3, $4)
       on conflict (workspace_id) do update set state = $2, since = $3, evidence = $4
       returning workspace_id)
     select pg_notify(${channel('quotas')}, workspace_id::text) from saved`,
    [workspaceId, brake.state, sqlTime(brake.sinceMs), JSON.stringify(brake.evidence)],
  );
}

/** False if no brake was on. `judgedFromMs`: what happened before is forgotten; null keeps it. */
export async function releaseBrake(
  db: Queryable,
  workspaceId: string,
  judgedFromMs: number | null,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `with released as (
       update brakes set state = null, since = null, evidence = null,
         judged_from = coalesce($2, judged_from)
       where workspace_id = $1 and state is not null returning workspace_id)
     select pg_notify(${channel('quotas')}, workspace_id::text) from released`,
    [workspaceId, sqlTime(judgedFromMs)],
  );
  return rowCount === 1;
}

/** Brakes that are on, with whether the workspace is suspended, and the policies of workspaces. */
export async function listBrakes(
  db: Queryable,
): Promise<(WorkspaceBrake & { workspaceId: string; isSuspended: boolean })[]> {
  const { rows } = await db.query<Row & { workspaceId: string; isSuspended: boolean }>(
    `select b.workspace_id as "workspaceId", w.suspended_at is not null as "isSuspended", ${COLUMNS}
     from brakes b join workspaces w on w.id = b.workspace_id`,
  );
  return rows.map(({ workspaceId, isSuspended, ...row }) => ({
    workspaceId,
    isSuspended,
    ...toBrake(row),
  }));
}

const BRAKES: PurgedTable<'brakes'> = {
  table: 'brakes',
  async deleteRows(db, workspaceId) {
    const { rowCount } = await db.query('delete from brakes where workspace_id = $1', [
      workspaceId,
    ]);
    return { deleted: { brakes: rowCount ?? 0 }, next: undefined };
  },
};

export const BRAKE_PURGES = [BRAKES] as const;
