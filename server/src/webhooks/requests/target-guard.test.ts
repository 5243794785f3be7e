import http from 'node:http';
import { describe, expect, test } from 'vitest';
import { startDnsServer } from '../../../test/harness/smtp/dns-server.ts';
import { startWebhookReceiver } from '../../../test/harness/webhooks/webhook-receiver.ts';
import { systemClock } from '../../lib/time/clock.ts';
import { createResolver } from '../../mail/dns/resolver.ts';
import { createTargetGuard, isPublicTarget } from './target-guard.ts';

describe('addresses', () => {
  test.each([
    ['loopback', '127.0.0.1'],
    ['loopback, elsewhere', '127.255.255.254'],
    ['this network', '0.0.0.0'],
    ['private A', '10.1.2.3'],
    ['private B', '172.16.0.1'],
    ['private B, end', '172.31.255.255'],
    ['private C', '192.168.1.1'],
    ['carrier-grade NAT', '100.64.0.1'],
    ['link-local', '169.254.1.1'],
    ['cloud metadata', '169.254.169.254'],
    ['IETF protocol assignments', '192.0.0.8'],
    ['documentation 1', '192.0.2.1'],
    ['documentation 2', '198.51.100.1'],
    ['documentation 3', '203.0.113.1'],
    ['benchmarking', '198.18.0.1'],
    ['6to4 relay', '192.88.99.1'],
    ['multicast', '224.0.0.1'],
    ['reserved', '240.0.0.1'],
    ['broadcast', '255.255.255.255'],
    ['IPv6 loopback', '::1'],
    ['IPv6 unspecified', '::'],
    ['IPv4-mapped loopback', '::ffff:127.0.0.1'],
    ['IPv4-mapped public', '::ffff:8.8.8.8'],
    ['IPv4-compatible loopback', '::127.0.0.1'],
    ['IPv4-translated', '::ffff:0:127.0.0.1'],
    ['NAT64 of loopback', '64:ff9b::127.0.0.1'],
    ['NAT64 of a public address', '64:ff9b::8.8.8.8'],
    ['local NAT64', '64:ff9b:1::8.8.8.8'],
    ['6to4 of a private address', '2002:0a01:0203::1'],
    ['6to4 of a public address', '2002:0808:0808::1'],
    ['Teredo', '2001:0:4136:e378:8000:63bf:3fff:fdd2'],
    ['unique local', 'fd00::1'],
    ['unique local, fc', 'fc00::1'],
    ['link-local', 'fe80::1'],
    ['site-local', 'fec0::1'],
    ['multicast', 'ff02::1'],
    ['documentation', '2001:db8::1'],
    ['documentation, new', '3fff::1'],
    ['discard', '100::1'],
    ['ORCHID', '2001:20::1'],
    ['cloud metadata', 'fd00:ec2::254'],
    ['segment routing', '5f00::1'],
    ['not an address', 'localhost'],
  ])('%s (%s) is not allowed', (_, address) => {
    expect(isPublicTarget(address)).toBe(false);
  });

  test.each([
    '8.8.8.8',
    '93.184.216.34',
    '100.63.255.255',
    '172.32.0.1',
    '2606:4700:4700::1111',
    '2a00:1450::1',
  ])('%s is', (address) => {
    expect(isPublicTarget(address)).toBe(true);
  });
});

async function guardOn(script: Parameters<typeof startDnsServer>[0], allowPrivate = false) {
  const dns = await startDnsServer(script);
  const resolver = createResolver({ clock: systemClock, servers: [dns.address] });
  return { dns, guard: createTargetGuard({ resolver, allowPrivate }) };
}

describe('names', () => {
  test('one private address among public ones rejects the host', async () => {
    const { dns, guard } = await guardOn({
      'mixed-a.example': { A: ['8.8.8.8', '10.0.0.1'] },
      'mixed-aaaa.example': { A: ['8.8.8.8'], AAAA: ['::1'] },
      'mapped.example': { AAAA: ['::ffff:169.254.169.254'] },
      'alias.example': { CNAME: 'inside.example' },
      'inside.example': { A: ['127.0.0.1'] },
      'public.example': { A: ['8.8.8.8'], AAAA: ['2606:4700:4700::1111'] },
    });
    await using _ = dns;
    for (const [host, address] of [
      ['mixed-a.example', '10.0.0.1'],
      ['mixed-aaaa.example', '::1'],
      ['alias.example', '127.0.0.1'],
      ['localhost', '127.0.0.1'],
      ['a.localhost', '127.0.0.1'],
    ] as const) {
      expect([host, await guard.resolve(host)]).toEqual([host, { kind: 'refused', address }]);
    }
    expect((await guard.resolve('mapped.example')).kind).toBe('refused');
    expect(await guard.resolve('public.example')).toEqual({
      kind: 'found',
      addresses: ['8.8.8.8', '2606:4700:4700::1111'],
    });
  });

  test('distinguishes a missing name from a failed lookup', async () => {
    const { dns, guard } = await guardOn({ 'silent.example': 'SERVFAIL' });
    await using _ = dns;
    expect((await guard.resolve('missing.example')).kind).toBe('absent');
    expect((await guard.resolve('silent.example')).kind).toBe('failed');
  });

  test('the operator may allow private networks, but never broadcast or multicast', async () => {
    const { dns, guard } = await guardOn(
      { 'inside.example': { A: ['10.0.0.1'] }, 'many.example': { A: ['224.0.0.1'] } },
      true,
    );
    await using _ = dns;
    expect((await guard.resolve('inside.example')).kind).toBe('found');
    expect((await guard.resolve('many.example')).kind).toBe('refused');
    expect(guard.allowed('0.0.0.0')).toBe(false);
    expect(guard.allowed('169.254.169.254')).toBe(true);
  });
});

/** A request through the guard, as a webhook makes it; returns the error code or the status. */
function requestVia(lookup: http.RequestOptions['lookup'], url: string): Promise<string> {
  return new Promise((resolve) => {
    const request = http.request(url, {
      lookup,
      agent: false,
      method: 'POST',
    } as http.RequestOptions);
    request.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    request.on('response', (response) => {
      response.resume();
      resolve(String(response.statusCode));
    });
    request.end();
  });
}

describe('sockets', () => {
  test('a name that changed to a private address after the check is rejected at connect', async () => {
    await using receiver = await startWebhookReceiver();
    const { dns, guard } = await guardOn({ 'rebind.example': { A: ['8.8.8.8'] } });
    await using _ = dns;
    expect((await guard.resolve('rebind.example')).kind).toBe('found');
    dns.set('rebind.example', 'A', ['127.0.0.1']);
    const outcome = await requestVia(guard.lookup, `http://rebind.example:${receiver.port}/`);
    expect(outcome).toBe('TARGET_REFUSED');
    expect(receiver.connections).toBe(0);
  });

  test('the socket connects to the checked address, not to a second answer', async () => {
    await using receiver = await startWebhookReceiver();
    const { dns, guard } = await guardOn({ 'once.example': { A: ['127.0.0.1'] } }, true);
    await using _ = dns;
    const outcome = await requestVia(guard.lookup, `http://once.example:${receiver.port}/`);
    expect(outcome).toBe('204');
    const queries = dns.queries.filter(({ name, type }) => name === 'once.example' && type === 'A');
    expect(queries).toHaveLength(1);
  });
});
