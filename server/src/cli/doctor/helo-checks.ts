import { type MailSource, namedSources } from '../../config/delivery-routes.ts';
import { namedAddresses } from '../../config/outgoing-addresses.ts';
import type { Config } from '../../config/read-config.ts';
import { isLocalAddress } from '../../lib/net/local-address.ts';
import { isPublicAddress } from '../../lib/net/public-address.ts';
import type { Clock } from '../../lib/time/clock.ts';
import { reverseName } from '../../mail/dns/dns-name.ts';
import type { Resolver } from '../../mail/dns/resolver.ts';
import { type CheckResult, fail, ok, warn } from './doctor-result.ts';
import { createDoctorResolver, printable } from './network-checks.ts';

/**
 * Checks how receivers see this server: the HELO name, the source address and its reverse DNS
 * record must match, for all mail and for each named route that has a source of its own.
 */
export async function checkHelo(
  { delivery, domains }: Pick<Config, 'delivery' | 'domains'>,
  clock: Clock,
): Promise<CheckResult[]> {
  const { heloName, outgoing, mxAllowPrivate } = delivery;
  const standard: MailSource = { setting: 'OUTGOING_ADDRESSES', outgoing, heloName };
  const named = namedSources(delivery);
  const results = await checkOutgoingAddresses([standard, ...named]);
  // Receivers see only the relay.
  const isRelayed = delivery.routes.every(({ kind }) => kind === 'relay');
  if (isRelayed)
    results.push(unqualified(heloName) ?? ok('helo', `HELO name for the relay: ${heloName}.`));
  const resolver = createDoctorResolver(delivery, clock);
  const sources = Map.groupBy(isRelayed ? named : [standard, ...named], (one) => one.heloName);
  for (const [name, ofName] of sources)
    results.push(...(await checkHeloName(name, ofName, { resolver, mxAllowPrivate })));
  const otherNames = named.filter((source) => source.heloName !== heloName);
  if (otherNames.length > 0 && domains.spfMechanism === `a:${heloName.toLowerCase()}`)
    results.push(...(await checkSpf(heloName, otherNames, resolver)));
  return results;
}

async function checkOutgoingAddresses(sources: readonly MailSource[]): Promise<CheckResult[]> {
  const name = 'outgoing address';
  return Promise.all(
    sources.flatMap(({ setting, outgoing }) =>
      namedAddresses(outgoing).map(async (address) =>
        (await isLocalAddress(address))
          ? ok(name, `Mail is sent from ${address}.`)
          : fail(name, `${address} is not an address of this host.`, `Set ${setting}.`),
      ),
    ),
  );
}

function unqualified(heloName: string): CheckResult | undefined {
  if (heloName.includes('.')) return undefined;
  const detail = `HELO name ${heloName} is not fully qualified; many receivers reject it.`;
  const fix = 'Set HELO_NAME to a name with an address record and matching reverse DNS.';
  return warn('helo', detail, fix);
}

async function checkHeloName(
  heloName: string,
  sources: readonly MailSource[],
  { resolver, mxAllowPrivate }: { resolver: Resolver; mxAllowPrivate: boolean },
): Promise<CheckResult[]> {
  const incomplete = unqualified(heloName);
  if (incomplete) return [incomplete];
  const listed = await addressesOf(heloName, resolver);
  if (listed === undefined) {
    const detail = `The HELO name ${heloName} could not be resolved.`;
    return [warn('helo', detail, 'Try again when the name servers respond.')];
  }
  const addresses = [
    ...(sources.some(({ outgoing }) => outgoing.ipv4) ? listed.ipv4 : []),
    ...(sources.some(({ outgoing }) => outgoing.ipv6) ? listed.ipv6 : []),
  ];
  if (addresses.length === 0) {
    const detail = `The HELO name ${heloName} has no address record; many receivers reject it.`;
    const fix = 'Publish an A record with the address that mail is sent from, or set HELO_NAME.';
    return [warn('helo', detail, fix)];
  }
  return [
    heloResult(heloName, sources, addresses),
    ...(await Promise.all(
      addresses
        .filter((address) => !mxAllowPrivate || isPublicAddress(address))
        .map((address) => checkReverseDns(address, heloName, resolver)),
    )),
  ];
}

/** Undefined if the name servers fail. */
async function addressesOf(
  name: string,
  resolver: Resolver,
): Promise<{ ipv4: readonly string[]; ipv6: readonly string[] } | undefined> {
  const [ipv4, ipv6] = await Promise.all([
    resolver.lookup('A', name, { fresh: true }),
    resolver.lookup('AAAA', name, { fresh: true }),
  ]);
  if (ipv4.kind === 'failed' || ipv6.kind === 'failed') return undefined;
  return {
    ipv4: ipv4.kind === 'found' ? ipv4.records : [],
    ipv6: ipv6.kind === 'found' ? ipv6.records : [],
  };
}

function heloResult(
  heloName: string,
  sources: readonly MailSource[],
  addresses: readonly string[],
): CheckResult {
  const unlisted = unlistedAddress(sources, addresses);
  const summary = `HELO name: ${heloName} (${addresses.join(', ')})`;
  return unlisted === undefined
    ? ok('helo', `${summary}.`)
    : warn(
        'helo',
        `${summary}, but mail is sent from ${unlisted}.`,
        'Add that address to the name.',
      );
}

/** Behind NAT the local address is not the one that receivers see. */
function unlistedAddress(
  sources: readonly MailSource[],
  addresses: readonly string[],
): string | undefined {
  return sources
    .flatMap(({ outgoing }) => namedAddresses(outgoing))
    .find((address) => isPublicAddress(address) && !addresses.includes(address));
}

/** The records that domains publish name HELO_NAME unless SPF_MECHANISM says otherwise. */
async function checkSpf(
  heloName: string,
  sources: readonly MailSource[],
  resolver: Resolver,
): Promise<CheckResult[]> {
  const listed = await addressesOf(heloName, resolver);
  const unlisted = listed && unlistedAddress(sources, [...listed.ipv4, ...listed.ipv6]);
  if (unlisted === undefined) return [];
  return [
    warn(
      'SPF',
      `The SPF records of domains contain a:${heloName.toLowerCase()}, which does not list ${unlisted}.`,
      'Add that address to the name, or set SPF_MECHANISM to an include: of a record that lists all addresses.',
    ),
  ];
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
