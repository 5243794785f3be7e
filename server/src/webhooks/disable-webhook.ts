import type { TenantScope } from '../accounts/tenant-scope.ts';
import { inTransaction, type Pool } from '../db/connections/pool.ts';
import { appendEvents } from '../events/events-store.ts';
import { encodeId } from '../lib/ids.ts';
import type { DisableReason } from './dispatch/classify-response.ts';
import { disableEnabled } from './webhook-store.ts';

const EXPLANATIONS: Record<DisableReason, string> = {
  gone: 'The endpoint responded with 410 Gone.',
  failing: 'Nothing was delivered to the endpoint for five days.',
};

/**
 * Disables an endpoint and writes the event in the same commit, once, however many attempts find
 * the cause. An endpoint that has a new URL or works again stays enabled.
 */
export async function disableWebhook(
  pool: Pool,
  scope: TenantScope,
  id: string,
  { reason, url }: { reason: DisableReason; url: string },
  nowMs: number,
): Promise<void> {
  await inTransaction(pool, async (client) => {
    const webhook = await disableEnabled(client, scope, id, { reason, url }, nowMs);
    if (!webhook) return;
    await appendEvents(client, [
      {
        workspaceId: scope.workspaceId,
        mode: scope.mode,
        type: 'webhook.disabled',
        atMs: nowMs,
        data: {
          webhook: { id: encodeId('whk', id), url: webhook.url },
          reason,
          explanation: EXPLANATIONS[reason],
        },
      },
    ]);
  });
}
