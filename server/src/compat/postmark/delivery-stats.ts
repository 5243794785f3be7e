import { Type } from 'typebox';
import type { BounceReason } from '../../events/event-types.ts';
import { type Operation, operation } from '../../http/operation.ts';
import type { AnyRequest } from '../../http/server/call-operation.ts';
import { postmarkBounceType } from '../../webhooks/formats/postmark.ts';
import type { CompatDependencies } from '../compat-provider.ts';
import { allSuppressions } from './suppressions.ts';

/** https://postmarkapp.com/developer/api/bounce-api#delivery-stats */

/** The longest range of our own statistics, which are kept by day. */
const DAYS_MAX = 1_499;

export function deliveryStatsOperations(deps: CompatDependencies): Operation[] {
  const get = (id: string, path: string) =>
    operation(
      {
        id,
        method: 'GET',
        path,
        tag: 'Messages',
        summary: 'Retrieve delivery stats',
        description:
          'Bounces and complaints of the last four years by type, which follows from the reason, and ' +
          'the number of suppressed addresses. Also requires the scope `read:suppressions`.',
        scope: 'read:messages',
        responses: { 200: { description: 'The counts.', body: Type.Object({}) } },
      },
      async (request) => ({ status: 200, body: await deliveryStats(deps, request) }),
    );
  return [
    get('postmarkGetDeliveryStats', '/deliverystats'),
    // As the client library spells it.
    get('postmarkGetDeliveryStatsCapital', '/deliveryStats'),
  ];
}

async function deliveryStats(
  { call, clock }: CompatDependencies,
  request: AnyRequest,
): Promise<object> {
  const from = new Date(clock.now() - DAYS_MAX * 86_400_000).toISOString();
  const query = { interval: 'day', from, points: 'false' };
  const { body } = await call(request, 'getStats', { query });
  const suppressions = await allSuppressions(call, request);
  const { bounced, complained, bounced_by_reason: byReason } = totalsOf(body.data);
  const counts = new Map<string, { Type: string; Name: string; Count: number }>();
  for (const [reason, count] of Object.entries({ ...byReason, complaint: complained })) {
    if (count === 0) continue;
    const { Type: type, Name } = postmarkBounceType(reason as BounceReason | 'complaint');
    counts.set(type, { Type: type, Name, Count: (counts.get(type)?.Count ?? 0) + count });
  }
  return {
    InactiveMails: suppressions.length,
    Bounces: [{ Name: 'All', Count: bounced + complained }, ...counts.values()],
  };
}

interface Totals {
  bounced: number;
  complained: number;
  bounced_by_reason: Record<string, number>;
}

/** Without any mail, there is no series. */
function totalsOf([series]: readonly { totals: Totals }[]): Totals {
  return series?.totals ?? { bounced: 0, complained: 0, bounced_by_reason: {} };
}
