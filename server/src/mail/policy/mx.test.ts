import { isIPv4, isIPv6 } from 'node:net';
import { describe, expect, test } from 'vitest';
import { type Script, startDnsServer } from '../../../test/harness/smtp/dns-server.ts';
import { systemClock } from '../../lib/time/clock.ts';
import type { DnsAnswer } from '../dns/answer.ts';
import { createResolver, type Resolver } from '../dns/resolver.ts';
import { type MxRoute, type RouteSettings, resolveRoute } from './mx.ts';

// Goal: every form of a domain's DNS leads to the route that the RFCs require. Method: the real
// resolver against a scripted DNS server.

async function routeFor(
  domain: string,
  script: Script,
  settings: Partial<RouteSettings> = {},
): Promise<MxRoute> {
  await using server = await startDnsServer(script);
  const resolver = createResolver({ servers: [server.address], clock: systemClock });
  return await resolveRoute(domain, resolver, { addressAllowed: () => true, ...settings });
}

/** A short form of the route: each host with its addresses, in order. */
function short(route: MxRoute): unknown {
  return route.kind === 'hosts'
    ? route.hosts.map(({ host, addresses }) => [host, ...addresses])
    : route;
}

describe('a domain with mail hosts', () => {
  test('has all of them, sorted by preference', async () => {
    const route = await routeFor('example.test', {
      'example.test': { MX: ['30 c.test', '10 a.test', '20 b.test'], A: ['192.0.2.99'] },
      'a.test': { A: ['192.0.2.1'] },
      'b.test': { A: ['192.0.2.2'] },
      'c.test': { A: ['192.0.2.3'] },
    });
    expect(short(route)).toEqual([
      ['a.test', '192.0.2.1'],
      ['b.test', '192.0.2.2'],
      ['c.test', '192.0.2.3'],
    ]);
  });

  test('has hosts of equal preference shuffled, and only those', async () => {
    const script: Script = {
      'example.test': {
        MX: ['10 a.test', '10 b.test', '10 c.test', '20 last.test', '5 first.test'],
      },
    };
    for (const name of ['a', 'b', 'c', 'last', 'first'])
      script[`${name}.test`] = { A: ['192.0.2.1'] };
    const order = async (random: () => number) => {
      const route = await routeFor('example.test', script, { random });
      return route.kind === 'hosts' ? route.hosts.map(({ host }) => host[0]).join('') : route.kind;
    };
    const orders = new Set<string>();
    for (const value of [0, 0.3, 0.5, 0.8, 0.999]) orders.add(await order(() => value));
    expect(orders.size).toBeGreaterThan(2);
    for (const seen of orders) {
      expect(seen).toMatch(/^f[abc]{3}l$/);
      expect(new Set(seen).size).toBe(5);
    }
  });

  test('has a repeated host once, with its best preference', async () => {
    const route = await routeFor('example.test', {
      'example.test': { MX: ['20 A.test', '10 a.test', '15 b.test'] },
      'a.test': { A: ['192.0.2.1'] },
      'b.test': { A: ['192.0.2.2'] },
    });
    expect(short(route)).toEqual([
      ['a.test', '192.0.2.1'],
      ['b.test', '192.0.2.2'],
    ]);
  });

  test('may have a host that is a CNAME', async () => {
    const route = await routeFor('example.test', {
      'example.test': { MX: ['10 mx.test'] },
      'mx.test': { CNAME: 'real.test' },
      'real.test': { A: ['192.0.2.1'] },
    });
    expect(route).toMatchObject({
      hosts: [{ host: 'mx.test', canonical: 'real.test', addresses: ['192.0.2.1'] }],
    });
  });

  test('may itself be a CNAME', async () => {
    const route = await routeFor('www.example.test', {
      'www.example.test': { CNAME: 'example.test' },
      'example.test': { MX: ['10 mx.test'] },
      'mx.test': { A: ['192.0.2.1'] },
    });
    expect(short(route)).toEqual([['mx.test', '192.0.2.1']]);
  });

  test('may be internationalized', async () => {
    const route = await routeFor('BÜCHER.test', {
      'xn--bcher-kva.test': { MX: ['10 mx.xn--bcher-kva.test'] },
      'mx.xn--bcher-kva.test': { A: ['192.0.2.1'] },
    });
    expect(short(route)).toEqual([['mx.xn--bcher-kva.test', '192.0.2.1']]);
  });

  test('loses only the hosts without an address or with a failed lookup', async () => {
    const route = await routeFor('example.test', {
      'example.test': { MX: ['10 gone.test', '20 sick.test', '30 good.test'] },
      'sick.test': 'SERVFAIL',
      'good.test': { A: ['192.0.2.1'] },
    });
    expect(short(route)).toEqual([['good.test', '192.0.2.1']]);
  });

  test('has at most twenty of them, with eight addresses each', async () => {
    const hosts = Array.from({ length: 30 }, (_, i) => `h${i}.test`);
    const addresses = Array.from({ length: 20 }, (_, i) => `192.0.2.${i}`);
    const route = await routeFor('example.test', {
      'example.test': { MX: hosts.map((host, i) => `${i} ${host}`) },
      ...Object.fromEntries(hosts.map((host) => [host, { A: addresses }])),
    });
    if (route.kind !== 'hosts') throw new Error(route.kind);
    expect(route.hosts.map(({ host }) => host)).toEqual(hosts.slice(0, 20));
    expect(route.hosts.every((host) => host.addresses.length === 8)).toBe(true);
  });

  test('does not fall back to its own address when the MX lookup fails', async () => {
    const route = await routeFor('example.test', {
      'example.test': { MX: 'SERVFAIL', A: ['192.0.2.1'] },
    });
    expect(route).toMatchObject({ kind: 'temporary', detail: expect.stringContaining('SERVFAIL') });
  });

  test('fails temporarily when no host can be resolved now', async () => {
    const route = await routeFor('example.test', {
      'example.test': { MX: ['10 gone.test', '20 sick.test'] },
      'sick.test': 'SERVFAIL',
    });
    expect(route).toMatchObject({ kind: 'temporary' });
  });

  test('has no address when none of them has one', async () => {
    const route = await routeFor('example.test', {
      'example.test': { MX: ['10 gone.test'], A: ['192.0.2.1'] },
    });
    expect(route).toEqual({
      kind: 'no_address',
      detail: 'None of the mail servers of example.test (gone.test) has an address.',
    });
  });
});

describe('a domain without mail hosts', () => {
  test('is its own host', async () => {
    const route = await routeFor('Example.test', {
      'example.test': { A: ['192.0.2.1'], AAAA: ['2001:db8::1'] },
    });
    expect(route).toEqual({
      kind: 'hosts',
      authenticated: false,
      hosts: [
        {
          host: 'example.test',
          canonical: 'example.test',
          preference: 0,
          implicit: true,
          authenticated: false,
          addresses: ['192.0.2.1', '2001:db8::1'],
        },
      ],
    });
  });

  test('and without addresses is unreachable', async () => {
    const route = await routeFor('example.test', { 'example.test': { TXT: ['hello'] } });
    expect(route).toEqual({
      kind: 'no_address',
      detail: 'example.test has neither a mail server (MX) nor an address.',
    });
  });

  test('with a null MX accepts no mail', async () => {
    const route = await routeFor('example.test', {
      'example.test': { MX: ['0 .'], A: ['192.0.2.1'] },
    });
    expect(route).toEqual({ kind: 'null_mx' });
  });

  test('that does not exist is a permanent failure', async () => {
    expect(await routeFor('example.test', {})).toEqual({ kind: 'no_domain' });
  });
});

describe('an unusable MX record', () => {
  test('beside a good one is skipped', async () => {
    const route = await routeFor('example.test', {
      'example.test': { MX: ['0 .', '5 192.0.2.7', '10 mx.test'] },
      'mx.test': { A: ['192.0.2.1'] },
    });
    expect(short(route)).toEqual([['mx.test', '192.0.2.1']]);
  });

  test('with an IP address is reported', async () => {
    const route = await routeFor('example.test', {
      'example.test': { MX: ['10 192.0.2.7'], A: ['192.0.2.1'] },
    });
    expect(route).toEqual({
      kind: 'no_address',
      detail:
        'The MX record of example.test contains an IP address (192.0.2.7) instead of a host name.',
    });
  });
});

describe('addresses', () => {
  const script: Script = {
    'example.test': { MX: ['10 mx.test'] },
    'mx.test': {
      A: ['192.0.2.1', '192.0.2.2'],
      AAAA: ['2001:db8::1', '2001:db8::2', '2001:db8::3'],
    },
  };

  test('of both families alternate', async () => {
    const route = await routeFor('example.test', script);
    expect(short(route)).toEqual([
      ['mx.test', '192.0.2.1', '2001:db8::1', '192.0.2.2', '2001:db8::2', '2001:db8::3'],
    ]);
  });

  test('that are unreachable are skipped', async () => {
    const route = await routeFor('example.test', script, { isReachable: isIPv4 });
    expect(short(route)).toEqual([['mx.test', '192.0.2.1', '192.0.2.2']]);
  });

  test.each([
    ['IPv4', isIPv6, { A: ['192.0.2.1'] }, '(192.0.2.1)'],
    ['IPv6', isIPv4, { AAAA: ['2001:db8::1', '2001:db8::2'] }, '(2001:db8::1, 2001:db8::2)'],
  ])(
    'of %s only, which this server does not send over, are unreachable rather than missing',
    async (kind, reaches, records, listed) => {
      const zone = { 'example.test': { MX: ['10 mx.test'] }, 'mx.test': records };
      expect(await routeFor('example.test', zone, { isReachable: reaches })).toEqual({
        kind: 'out_of_reach',
        detail: `The mail hosts of example.test have only ${kind} addresses ${listed}, and this server does not send over ${kind}.`,
      });
    },
  );

  test('that mail must not be sent to are skipped', async () => {
    const addressAllowed = (ip: string) => ip !== '192.0.2.1';
    const route = await routeFor('example.test', script, { addressAllowed, isReachable: isIPv4 });
    expect(short(route)).toEqual([['mx.test', '192.0.2.2']]);
  });

  test('that are all forbidden are reported', async () => {
    const route = await routeFor('example.test', script, { addressAllowed: () => false });
    expect(route).toMatchObject({
      kind: 'no_address',
      detail: expect.stringContaining('must not be sent to (192.0.2.1, 2001:db8::1, 192.0.2.2)'),
    });
  });
});

describe('DNSSEC', () => {
  test('is tracked for the route and for each host', async () => {
    const route = await routeFor('example.test', {
      'example.test': { MX: ['10 signed.test', '20 plain.test'], authenticated: true },
      'signed.test': { A: ['192.0.2.1'], authenticated: true },
      'plain.test': { A: ['192.0.2.2'] },
    });
    expect(route).toMatchObject({
      authenticated: true,
      hosts: [{ authenticated: true }, { authenticated: false }],
    });
  });

  test('of a host requires both of its address families', async () => {
    const answers: Record<string, DnsAnswer> = {
      MX: found([{ preference: 10, host: 'mx.test' }], true),
      A: found(['192.0.2.1'], true),
      AAAA: found(['2001:db8::1'], false),
    };
    const resolver = { lookup: async (type: string) => answers[type] } as Resolver;
    const route = await resolveRoute('example.test', resolver, { addressAllowed: () => true });
    expect(route).toMatchObject({ authenticated: true, hosts: [{ authenticated: false }] });
  });

  test('includes the absence of an MX', async () => {
    const route = await routeFor('example.test', {
      'example.test': { A: ['192.0.2.1'], authenticated: true },
    });
    expect(route).toMatchObject({ authenticated: true, hosts: [{ authenticated: true }] });
  });
});

function found(
  records: Extract<DnsAnswer, { kind: 'found' }>['records'],
  authenticated: boolean,
): DnsAnswer {
  return { kind: 'found', records, canonical: 'mx.test', authenticated };
}
