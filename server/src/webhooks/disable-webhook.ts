import { inTransaction, type Pool } from '../db/pool.ts';
import { appendEvents } from '../events/events-store.ts';
import { encodeId } from '../lib/ids.ts';
import type { DisableReason } from './judgement.ts';
import { disableEnabled, type Scope } from './webhook-store.ts';

const EXPLANATIONS: Record<DisableReason, string> = {
  gone: 'The endpoint answered 410: it is gone for good.',
  failing: 'Nothing was delivered to the endpoint for five days.',
};

/**
 * Switches an endpoint off and tells of it in the same commit; once, however many find out. Not one
 * that has another address by now than the one that was tried, or that works again.
 */
export async function disableWebhook(
  pool: Pool,
  scope: Scope,
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
