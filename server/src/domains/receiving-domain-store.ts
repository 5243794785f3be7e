import type { Queryable } from '../db/connections/pool.ts';
import type { Domain, ReceivingDomain } from './domain.ts';

/** SQL about the domains for which a workspace receives mail: one workspace for each name. */

export async function findReceivingDomain(
  db: Queryable,
  name: string,
): Promise<ReceivingDomain | undefined> {
  const { rows } = await db.query<ReceivingDomain>({
    name: 'find-receiving-domain',
    text: `select workspace_id as "workspaceId", id as "domainId", name from domains
      where name = $1 and receiving`,
    values: [name],
  });
  return rows[0];
}

/**
 * Ends receiving in a workspace that lost the domain, which a status of `failed` shows. Returns the
 * workspace.
 */
export async function endReceivingElsewhere(
  db: Queryable,
  { workspaceId, name }: Pick<Domain, 'workspaceId' | 'name'>,
): Promise<string | undefined> {
  const { rows } = await db.query<Pick<Domain, 'workspaceId'>>(
    `update domains set receiving = false
     where name = $1 and receiving and workspace_id <> $2 and status = 'failed'
     returning workspace_id as "workspaceId"`,
    [name, workspaceId],
  );
  return rows[0]?.workspaceId;
}

/** The domains for which the workspace receives mail. */
export async function findReceivingNames(db: Queryable, workspaceId: string): Promise<string[]> {
  const { rows } = await db.query<{ name: string }>(
    'select name from domains where workspace_id = $1 and receiving order by name',
    [workspaceId],
  );
  return rows.map(({ name }) => name);
}

/** Whether another workspace receives the mail of the domain. */
export function isReceivedElsewhere(error: unknown): boolean {
  return (error as { constraint?: unknown }).constraint === 'domains_receiving';
}
