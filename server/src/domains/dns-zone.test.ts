import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ScriptedDnsServer, startDnsServer } from '../../test/harness/smtp/dns-server.ts';
import { systemClock } from '../lib/time/clock.ts';
import { createResolver, type Resolver } from '../mail/dns/resolver.ts';
import { dnsProvider, findDnsZone } from './dns-zone.ts';

let dns: ScriptedDnsServer;
let resolver: Resolver;

beforeAll(async () => {
  dns = await startDnsServer({
    'acme.test': { NS: ['Tim.NS.Cloudflare.com', 'ada.ns.cloudflare.com'] },
    'mail.acme.test': { TXT: ['no zone of its own'] },
    'own.acme.test': { NS: ['ns1.own.test'] },
    'alias.acme.test': { CNAME: 'own.acme.test' },
    test: { NS: ['a.nic.test'] },
  });
  resolver = createResolver({ clock: systemClock, servers: [dns.address] });
});
afterAll(() => dns[Symbol.asyncDispose]());

const ACME = {
  zone: 'acme.test',
  nameServers: ['ada.ns.cloudflare.com', 'tim.ns.cloudflare.com'],
  provider: 'cloudflare',
};

test('a domain is in the zone of its closest ancestor with name servers', async () => {
  expect(await findDnsZone('acme.test', resolver)).toEqual(ACME);
  expect(await findDnsZone('a.b.mail.acme.test', resolver)).toEqual(ACME);
  expect(await findDnsZone('own.acme.test', resolver)).toEqual({
    zone: 'own.acme.test',
    nameServers: ['ns1.own.test'],
    provider: null,
  });
});

test('the target of an alias is another zone', async () => {
  expect(await findDnsZone('alias.acme.test', resolver)).toEqual(ACME);
});

test('a domain that does not exist, or whose servers are silent, has no zone', async () => {
  expect(await findDnsZone('nowhere.test', resolver)).toBeUndefined();
  dns.setName('silent.test', 'silence');
  const impatient = createResolver({ clock: systemClock, servers: [dns.address], timeoutMs: 200 });
  expect(await findDnsZone('silent.test', impatient)).toBeUndefined();
});

test.each([
  [['ns-1.awsdns-08.com', 'ns-2.awsdns-13.co.uk'], 'route53'],
  [['ns51.domaincontrol.com', 'ns52.domaincontrol.com'], 'godaddy'],
  [['dns1.registrar-servers.com'], 'namecheap'],
  [['hydrogen.ns.hetzner.com', 'helium.ns.hetzner.de'], 'hetzner'],
  [['ns1045.ui-dns.org', 'ns1107.ui-dns.biz'], 'ionos'],
  // Two providers at once: instructions for one of them would be wrong for the other.
  [['ada.ns.cloudflare.com', 'ns51.domaincontrol.com'], null],
  [['ns.cloudflare.com.evil.test'], null],
  [[], null],
])('%j are run by %s', (nameServers, provider) => {
  expect(dnsProvider(nameServers)).toBe(provider);
});
