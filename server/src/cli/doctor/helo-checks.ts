import { namedAddresses } from '../../config/outgoing-addresses.ts';
import type { Config } from '../../config/read-config.ts';
import type { Clock } from '../../lib/clock.ts';
import { isLocalAddress } from '../../lib/net/local-address.ts';
import { isPublicAddress } from '../../lib/net/public-address.ts';
import { reverseName } from '../../mail/dns/dns-name.ts';
import type { Resolver } from '../../mail/dns/resolver.ts';
import { type CheckResult, fail, ok, warn } from './doctor-result.ts';
import { createDoctorResolver, printable } from './network-checks.ts';

/**
 * Checks how receivers see this server: the HELO name, the source address and its reverse DNS
 * record must match.
 */
type Settings = Config['delivery'];

export async function checkHelo(settings: Settings, clock: Clock): Promise<CheckResult[]> {
  const { heloName, routes } = settings;
  const bound = await checkOutgoingAddresses(settings);
  if (!heloName.includes('.')) {
    const detail = `HELO name ${heloName} is not fully qualified; many receivers reject it.`;
    const fix = 'Set HELO_NAME to a name with an address record and matching reverse DNS.';
    return [...bound, warn('helo', detail, fix)];
  }
  // Receivers see only the relay.
  if (routes.every(({ kind }) => kind === 'relay')) {
    return [...bound, ok('helo', `HELO name for the relay: ${heloName}.`)];
  }
  return [...bound, ...(await checkHeloName(settings, createDoctorResolver(settings, clock)))];
}

async function checkOutgoingAddresses({ outgoing }: Settings): Promise<CheckResult[]> {
  const name = 'outgoing address';
  return Promise.all(
    namedAddresses(outgoing).map(async (address) =>
      (await isLocalAddress(address))
        ? ok(name, `Mail is sent from ${address}.`)
        : fail(name, `${address} is not an address of this host.`, 'Set OUTGOING_ADDRESSES.'),
    ),
  );
}

async function checkHeloName(settings: Settings, resolver: Resolver): Promise<CheckResult[]> {
  const { heloName, outgoing } = settings;
  const [ipv4, ipv6] = await Promise.all([
    resolver.lookup('A', heloName, { fresh: true }),
    resolver.lookup('AAAA', heloName, { fresh: true }),
  ]);
  if (ipv4.kind === 'failed' || ipv6.kind === 'failed') {
    const detail = `The HELO name ${heloName} could not be resolved.`;
    return [warn('helo', detail, 'Try again when the name servers respond.')];
  }
  const addresses = [
    ...(ipv4.kind === 'found' && outgoing.ipv4 ? ipv4.records : []),
    ...(ipv6.kind === 'found' && outgoing.ipv6 ? ipv6.records : []),
  ];
  if (addresses.length === 0) {
    const detail = `The HELO name ${heloName} has no address record; many receivers reject it.`;
    const fix = 'Publish an A record with the address that mail is sent from, or set HELO_NAME.';
    return [warn('helo', detail, fix)];
  }
  return [
    heloResult(settings, addresses),
    ...(await Promise.all(
      addresses
        .filter((address) => !settings.mxAllowPrivate || isPublicAddress(address))
        .map((address) => checkReverseDns(address, heloName, resolver)),
    )),
  ];
}

function heloResult({ heloName, outgoing }: Settings, addresses: readonly string[]): CheckResult {
  // Behind NAT the local address is not the one that receivers see.
  const unlisted = namedAddresses(outgoing).find(
    (address) => isPublicAddress(address) && !addresses.includes(address),
  );
  const summary = `HELO name: ${heloName} (${addresses.join(', ')})`;
  return unlisted === undefined
    ? ok('helo', `${summary}.`)
    : warn(
        'helo',
        `${summary}, but mail is sent from ${unlisted}.`,
        'Add that address to the name.',
      );
}

async function checkReverseDns(
  ip: string,
  heloName: string,
  resolver: Resolver,
): Promise<CheckResult> {
  const name = 'reverse DNS';
  if (!isPublicAddress(ip)) {
    const detail = `${heloName} resolves to ${ip}, which is not a public address.`;
    return warn(name, detail, 'Publish the public address that mail is sent from.');
  }
  const lookup = await resolver.lookup('PTR', reverseName(ip), { fresh: true });
  if (lookup.kind === 'failed') {
    return warn(name, `The PTR record of ${ip} could not be resolved.`, 'Try again later.');
  }
  const names = lookup.kind === 'found' ? lookup.records.map(printable) : [];
  if (names.some((found) => found.toLowerCase() === heloName.toLowerCase())) {
    return ok(name, `${ip} is ${heloName}.`);
  }
  return names.length === 0
    ? warn(
        name,
        `${ip} has no PTR record; Google, Microsoft and others reject its mail.`,
        `Ask your hosting provider to set it to ${heloName}. If mail is sent over IPv4 only, set OUTGOING_ADDRESSES.`,
      )
    : warn(
        name,
        `The PTR record of ${ip} is ${names[0]}, not ${heloName}.`,
        'Set HELO_NAME to that name, or change the record.',
      );
}
