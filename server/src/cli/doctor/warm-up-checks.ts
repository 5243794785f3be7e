import { type WarmUpRoute, warmUpRoutes } from '../../config/delivery-routes.ts';
import type { Config } from '../../config/read-config.ts';
import type { Pool } from '../../db/connections/pool.ts';
import { capOf, WARM_UP_CAPS } from '../../delivery/warm-up/warm-up-plan.ts';
import { listWarmUps, type StoredWarmUp } from '../../delivery/warm-up/warm-up-store.ts';
import type { Clock } from '../../lib/time/clock.ts';
import { type CheckResult, ok, warn } from './doctor-result.ts';

/** Shows how far the warm-up of each route has come with each provider. */
export async function checkWarmUps(
  { delivery }: Pick<Config, 'delivery'>,
  pool: Pool,
  clock: Clock,
): Promise<CheckResult[]> {
  const routes = warmUpRoutes(delivery);
  if (routes.length === 0) return [];
  const nowMs = clock.now();
  const stored = await listWarmUps(pool, { nowMs, sinceMs: 0 });
  return routes.flatMap((route) => {
    const found = stored.filter(({ sender }) => sender === route.sender);
    return checkRoute(route, found, nowMs);
  });
}

const NAME = 'warm-up';

function checkRoute(
  route: WarmUpRoute,
  progress: readonly StoredWarmUp[],
  nowMs: number,
): CheckResult[] {
  const subject = `${route.sender} (${nameOf(route.route)})`;
  if (nowMs < route.startsAtMs) return [ok(NAME, `${subject} starts on ${route.startsOn}.`)];
  if (progress.length === 0) return [ok(NAME, `${subject} has sent no mail yet.`)];
  if (progress.every((one) => capOf(one) === null))
    return [
      warn(
        NAME,
        `${subject} is warmed up.`,
        `Remove warmup and overflow from the route in ${route.setting}.`,
      ),
    ];
  return progress.map((one) => checkProvider(subject, route, one));
}

function checkProvider(
  subject: string,
  { overflow }: WarmUpRoute,
  progress: StoredWarmUp,
): CheckResult {
  const { provider, planDay, leased, overflowed, refused } = progress;
  const cap = capOf(progress);
  if (cap === null) return ok(NAME, `${subject} to ${provider}: warmed up.`);
  const rest = overflow === undefined ? 'deferred' : `sent by ${nameOf(overflow)}`;
  const detail = `${subject} to ${provider}: day ${planDay} of ${WARM_UP_CAPS.length}, ${leased} of ${cap} messages today, ${overflowed} ${rest}.`;
  if (refused === 0) return ok(NAME, detail);
  return warn(
    NAME,
    `${detail} ${provider} refused ${refused} because of reputation or rate.`,
    'If it refuses one in 200, the cap does not grow tomorrow. Check bounces and complaints.',
  );
}

function nameOf(route: string | null): string {
  return route === null ? 'the standard route' : `the route ${route}`;
}
