import type { Config } from '../../config/read-config.ts';
import { relayTargets } from '../../delivery/transport/delivery-route.ts';
import type { Clock } from '../../lib/time/clock.ts';
import { openSmtp } from '../../mail/smtp-client/open-connection.ts';
import { type CheckResult, ok, warn } from './doctor-result.ts';
import { createDoctorResolver, printable } from './network-checks.ts';

/** Connects and authenticates to each relay of DELIVERY_ROUTE and STREAM_ROUTES, as deliveries do. */
export async function checkRelays(
  { delivery, roles }: Config,
  clock: Clock,
): Promise<CheckResult[]> {
  if (!roles.has('delivery')) return [];
  return Promise.all(relaysOf(delivery).map((relay) => checkRelay(relay, delivery, clock)));
}

interface ConfiguredRelay {
  setting: 'DELIVERY_ROUTE' | 'STREAM_ROUTES';
  route: Relay;
}

type Relay = Extract<Config['delivery']['routes'][number], { kind: 'relay' }>;

function relaysOf({ routes, streamRoutes }: Config['delivery']): ConfiguredRelay[] {
  const all = [
    ...routes.map((route) => ({ setting: 'DELIVERY_ROUTE' as const, route })),
    ...Object.values(streamRoutes).map((route) => ({ setting: 'STREAM_ROUTES' as const, route })),
  ];
  return all.flatMap(({ setting, route }) => (route.kind === 'relay' ? [{ setting, route }] : []));
}

const TIMEOUT_MS = 10_000;
const TIMEOUTS = {
  connectMs: TIMEOUT_MS,
  greetingMs: TIMEOUT_MS,
  ehloMs: TIMEOUT_MS,
  startTlsMs: TIMEOUT_MS,
  authMs: TIMEOUT_MS,
};

async function checkRelay(
  { setting, route }: ConfiguredRelay,
  delivery: Config['delivery'],
  clock: Clock,
): Promise<CheckResult> {
  const name = 'relay';
  const address = `${route.host}:${route.port}`;
  const resolver = createDoctorResolver(delivery, clock);
  const targets = await relayTargets(route, false, { resolver, outgoing: delivery.outgoing });
  const fix = `Check the relay and ${setting}. Until it works, mail takes the next route or is deferred.`;
  if (!Array.isArray(targets)) return warn(name, targets.detail, fix);
  const reasons: string[] = [];
  for (const target of targets) {
    const options = { heloName: delivery.heloName, clock, timeouts: TIMEOUTS };
    const opened = await openSmtp(target, options);
    if (opened.ok) {
      await opened.connection.quit();
      const how = route.auth ? 'accepts the credentials' : 'responds';
      return ok(name, `${address} ${how}.`);
    }
    const { failure } = opened;
    reasons.push(failure.kind === 'refused' ? failure.reply.text : failure.detail);
  }
  return warn(name, `${address} cannot be used: ${printable(reasons.join(' | '))}`, fix);
}
