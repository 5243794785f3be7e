import { namedAddresses } from '../../config/outgoing.ts';
import type { Config } from '../../config/read-config.ts';
import type { Clock } from '../../lib/clock.ts';
import { isLocalAddress } from '../../lib/net/local-address.ts';
import type { Resolver } from '../../mail/dns/resolver.ts';
import { reverseName } from '../../mail/dns/reverse-name.ts';
import { isPublicAddress } from '../../lib/net/public-address.ts';
import { type Finding, fail, ok, warn } from './finding.ts';
import { printable, resolverOf } from './network-checks.ts';

/**
 * Who we are to receivers: they take the name we greet them with, the address we come from and its
 * reverse record, and want all three to be one.
 */
type Settings = Config['delivery'];

export async function checkGreeting(settings: Settings, clock: Clock): Promise<Finding[]> {
  const { heloName, routes } = settings;
  const bound = await checkOwnAddresses(settings);
  if (!heloName.includes('.')) {
    const detail = `We greet other servers as ${heloName}, which is no full name: many refuse it.`;
    const fix = 'Set HELO_NAME to a name that has an address record and a reverse record.';
    return [...bound, warn('greeting', detail, fix)];
  }
  // What the world sees then is the relay.
  if (routes.every(({ kind }) => kind === 'relay')) {
    return [...bound, ok('greeting', `We greet the relay as ${heloName}.`)];
  }
  return [...bound, ...(await checkName(settings, resolverOf(settings, clock)))];
}

async function checkOwnAddresses({ outgoing }: Settings): Promise<Finding[]> {
  const name = 'outgoing address';
  return Promise.all(
    namedAddresses(outgoing).map(async (address) =>
      (await isLocalAddress(address))
        ? ok(name, `Mail leaves from ${address}.`)
        : fail(name, `${address} is not an address of this machine.`, 'Set OUTGOING_ADDRESSES.'),
    ),
  );
}

async function checkName(settings: Settings, resolver: Resolver): Promise<Finding[]> {
  const { heloName, outgoing } = settings;
  const [ipv4, ipv6] = await Promise.all([
    resolver.lookup('A', heloName, { fresh: true }),
    resolver.lookup('AAAA', heloName, { fresh: true }),
  ]);
  if (ipv4.kind === 'failed' || ipv6.kind === 'failed') {
    const detail = `We greet other servers as ${heloName}, whose address could not be looked up.`;
    return [warn('greeting', detail, 'Look again when the name servers answer.')];
  }
  const addresses = [
    ...(ipv4.kind === 'found' && outgoing.ipv4 ? ipv4.records : []),
    ...(ipv6.kind === 'found' && outgoing.ipv6 ? ipv6.records : []),
  ];
  if (addresses.length === 0) {
    const detail = `We greet other servers as ${heloName}, which has no address record: many refuse it.`;
    const fix = 'Publish an A record with the address that mail leaves from, or set HELO_NAME.';
    return [warn('greeting', detail, fix)];
  }
  return [
    greetingAt(settings, addresses),
    ...(await Promise.all(
      addresses
        .filter((address) => !settings.mxAllowPrivate || isPublicAddress(address))
        .map((address) => checkReverse(address, heloName, resolver)),
    )),
  ];
}

function greetingAt({ heloName, outgoing }: Settings, addresses: readonly string[]): Finding {
  // Behind a translator the address here is not the one that receivers see.
  const stranger = namedAddresses(outgoing).find(
    (address) => isPublicAddress(address) && !addresses.includes(address),
  );
  const said = `We greet other servers as ${heloName} (${addresses.join(', ')})`;
  return stranger === undefined
    ? ok('greeting', `${said}.`)
    : warn('greeting', `${said}, and come from ${stranger}.`, 'Give the name that address too.');
}

async function checkReverse(ip: string, heloName: string, resolver: Resolver): Promise<Finding> {
  const name = 'reverse record';
  if (!isPublicAddress(ip)) {
    const detail = `${heloName} is ${ip}, an address that receivers cannot see.`;
    return warn(name, detail, 'Publish the address that mail leaves from.');
  }
  const answer = await resolver.lookup('PTR', reverseName(ip), { fresh: true });
  if (answer.kind === 'failed') {
    return warn(name, `That of ${ip} could not be looked up.`, 'Look again later.');
  }
  const names = answer.kind === 'found' ? answer.records.map(printable) : [];
  if (names.some((found) => found.toLowerCase() === heloName.toLowerCase())) {
    return ok(name, `${ip} is ${heloName}.`);
  }
  return names.length === 0
    ? warn(
        name,
        `${ip} has none: Google, Microsoft and others refuse mail from it.`,
        `Ask whoever gives you the address to set it to ${heloName}; if mail leaves by IPv4 alone, set OUTGOING_ADDRESSES.`,
      )
    : warn(
        name,
        `That of ${ip} says ${names[0]}, and not ${heloName}.`,
        'Set HELO_NAME to that name, or have the record changed.',
      );
}
