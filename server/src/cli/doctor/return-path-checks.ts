import type { Config } from '../../config/read-config.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Resolver } from '../../mail/dns/resolver.ts';
import { resolveRoute } from '../../mail/policy/mx.ts';
import { type Finding, ok, warn } from './finding.ts';
import { greetingOf, isOurs, reachable, resolverOf } from './network-checks.ts';

/** The way back: the door for bounces and complaints, and whether the world finds it. */

const READ = 'docs/bounces.md tells how port 25 leads to it.';

export async function checkReturnPath(
  config: Config,
  clock: Clock,
  fromOutside: boolean,
): Promise<Finding[]> {
  const { bounceHost } = config.domains;
  const door = await checkDoor(config);
  const addresses = await addressesOf(bounceHost, resolverOf(config.delivery, clock));
  if (addresses === undefined) {
    const detail = `${bounceHost} (BOUNCE_HOST) could not be looked up.`;
    return [door, warn('way back', detail, 'Mend the name servers first.')];
  }
  if (addresses.length === 0) {
    const detail = `${bounceHost} (BOUNCE_HOST) has no address record: bounces and complaints cannot find us.`;
    return [door, warn('way back', detail, `Publish an A or AAAA record for it. ${READ}`)];
  }
  const found = ok('way back', `${bounceHost} (BOUNCE_HOST) leads to ${addresses.join(', ')}.`);
  return fromOutside ? [door, found, await checkFromOutside(config, addresses)] : [door, found];
}

/** Open, closed, or another's. */
async function checkDoor({ returnPath, delivery }: Config): Promise<Finding> {
  const name = 'return path';
  const { host, port, trustProxy } = returnPath;
  if (port === undefined) {
    const detail = 'RETURN_PATH_PORT is off: what receivers send back later is not heard of.';
    return warn(name, detail, 'Open it, unless another node takes bounces.');
  }
  const { greeting, reason } = await greetingOf(reachable(host), port, { trustProxy });
  if (greeting === undefined) {
    return ok(name, `Nothing listens on ${host}:${port} (${reason}): no server runs there.`);
  }
  return isOurs(greeting, delivery.heloName)
    ? ok(name, `The door on ${host}:${port} is open.`)
    : warn(
        name,
        `Another program listens on ${host}:${port}: ${greeting}`,
        'Set RETURN_PATH_PORT to a free port: the server starts without the door otherwise.',
      );
}

/** As a receiver would come. A machine that may not reach port 25 anywhere cannot tell. */
async function checkFromOutside(
  { delivery }: Config,
  addresses: readonly string[],
): Promise<Finding> {
  const name = 'incoming mail';
  const place = `${addresses[0]}:${delivery.mxPort}`;
  const { greeting, reason } = await greetingOf(addresses[0] as string, delivery.mxPort);
  if (greeting !== undefined && isOurs(greeting, delivery.heloName)) {
    return ok(name, `${place} is our own door.`);
  }
  const who = greeting === undefined ? `did not greet us: ${reason}` : `is not us: ${greeting}`;
  return warn(name, `${place} ${who}.`, `Lead that port to RETURN_PATH_PORT. ${READ}`);
}

/** Undefined when the name servers cannot tell. */
async function addressesOf(host: string, resolver: Resolver): Promise<string[] | undefined> {
  const route = await resolveRoute(host, resolver, { addressAllowed: () => true });
  if (route.kind === 'temporary') return undefined;
  return route.kind === 'hosts' ? route.hosts.flatMap(({ addresses }) => [...addresses]) : [];
}
