import type { Queryable } from '../storage/pool.ts';
import type { SenderDomain } from './sender-domains.ts';

/** The statements of the domains room. */

export async function findSenderDomain(
  db: Queryable,
  workspaceId: string,
  name: string,
): Promise<SenderDomain | undefined> {
  const { rows } = await db.query<SenderDomain>({
    name: 'find-sender-domain',
    text: `select name, trusted or status in ('verified', 'degraded') as "maySend",
        track_opens as "trackOpens", track_clicks as "trackClicks"
      from domains where workspace_id = $1 and name = $2`,
    values: [workspaceId, name],
  });
  return rows[0];
}
