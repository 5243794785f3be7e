import type { Config } from '../../config/read-config.ts';
import type { Clock } from '../../lib/time/clock.ts';
import type { Resolver } from '../../mail/dns/resolver.ts';
import { resolveRoute } from '../../mail/policy/mx.ts';
import { type CheckResult, ok, warn } from './doctor-result.ts';
import {
  connectableHost,
  createDoctorResolver,
  isOwnGreeting,
  readGreeting,
} from './network-checks.ts';

/** Checks the listener for bounces, complaints and inbound mail, and whether others can reach it. */

const SEE_DOCS = 'See docs/bounces.md.';

export async function checkReturnPath(
  config: Config,
  clock: Clock,
  probeIncoming: boolean,
): Promise<CheckResult[]> {
  const { bounceHost } = config.domains;
  const listener = await checkListener(config);
  const addresses = await addressesOf(bounceHost, createDoctorResolver(config.delivery, clock));
  if (addresses === undefined) {
    const detail = `${bounceHost} (BOUNCE_HOST) could not be resolved.`;
    return [listener, warn('bounce host', detail, 'Fix the name servers first.')];
  }
  if (addresses.length === 0) {
    const detail = `${bounceHost} (BOUNCE_HOST) has no address record, so bounces, complaints and inbound mail cannot arrive.`;
    return [listener, warn('bounce host', detail, `Publish an A or AAAA record. ${SEE_DOCS}`)];
  }
  const resolved = ok(
    'bounce host',
    `${bounceHost} (BOUNCE_HOST) resolves to ${addresses.join(', ')}.`,
  );
  return probeIncoming
    ? [listener, resolved, await checkReachability(config, addresses)]
    : [listener, resolved];
}

/** Reports whether the port is open, closed, or used by another program. */
async function checkListener({ returnPath, delivery }: Config): Promise<CheckResult> {
  const name = 'return path';
  const { host, port, trustProxy } = returnPath;
  if (port === undefined) {
    const detail =
      'RETURN_PATH_PORT is off: asynchronous bounces, complaints and inbound mail are not received.';
    return warn(name, detail, 'Enable it, unless another node receives them.');
  }
  const { greeting, reason } = await readGreeting(connectableHost(host), port, { trustProxy });
  if (greeting === undefined) {
    return ok(
      name,
      `Nothing is listening on ${host}:${port} (${reason}); no server is running there.`,
    );
  }
  return isOwnGreeting(greeting, delivery.heloName)
    ? ok(name, `Listening on ${host}:${port}.`)
    : warn(
        name,
        `Another program is listening on ${host}:${port}: ${greeting}`,
        'Set RETURN_PATH_PORT to a free port; otherwise the server starts without it.',
      );
}

/**
 * Connects as a receiver would. On a host that cannot reach port 25 anywhere this is inconclusive.
 */
async function checkReachability(
  { delivery }: Config,
  addresses: readonly string[],
): Promise<CheckResult> {
  const name = 'incoming mail';
  const address = `${addresses[0]}:${delivery.mxPort}`;
  const { greeting, reason } = await readGreeting(addresses[0] as string, delivery.mxPort);
  if (greeting !== undefined && isOwnGreeting(greeting, delivery.heloName)) {
    return ok(name, `${address} is this server.`);
  }
  const problem =
    greeting === undefined ? `did not respond: ${reason}` : `is another server: ${greeting}`;
  return warn(name, `${address} ${problem}.`, `Forward that port to RETURN_PATH_PORT. ${SEE_DOCS}`);
}

/** Undefined when the name servers fail. */
async function addressesOf(host: string, resolver: Resolver): Promise<string[] | undefined> {
  const route = await resolveRoute(host, resolver, { addressAllowed: () => true });
  if (route.kind === 'temporary') return undefined;
  return route.kind === 'hosts' ? route.hosts.flatMap(({ addresses }) => [...addresses]) : [];
}
