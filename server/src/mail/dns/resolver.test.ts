import { describe, expect, test } from 'vitest';
import { type Script, startDnsServer } from '../../../test/harness/smtp/dns-server.ts';
import { systemClock } from '../../lib/time/clock.ts';
import { ManualClock } from '../../lib/time/manual-clock.ts';
import { createResolver } from './resolver.ts';

// Goal: every kind of DNS answer is returned as its value, forged ones never are, and no query is
// repeated without need. Method: a scripted server on real sockets; time only moves with the test
// clock.

async function resolverFor(script: Script) {
  const server = await startDnsServer(script);
  const clock = new ManualClock(0);
  const resolver = createResolver({ servers: [server.address], clock });
  return { server, clock, resolver, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

const a = (address: string, ttlSeconds = 0) => ({ A: [address], ttlSeconds });

describe('an answer', () => {
  test('is found, for every type', async () => {
    const tlsa = { usage: 3, selector: 1, matchingType: 1, data: Buffer.alloc(32, 7) };
    await using dns = await resolverFor({
      'example.test': {
        MX: ['10 mx1.example.test', '20 mx2.example.test'],
        A: ['192.0.2.1'],
        AAAA: ['2001:db8::1'],
        TXT: [['v=spf1 ', '-all']],
        TLSA: [tlsa],
      },
      'alias.test': { CNAME: 'example.test' },
    });
    const { resolver } = dns;
    expect(await resolver.lookup('MX', 'Example.TEST.')).toEqual({
      kind: 'found',
      canonical: 'example.test',
      authenticated: false,
      records: [
        { preference: 10, host: 'mx1.example.test' },
        { preference: 20, host: 'mx2.example.test' },
      ],
    });
    expect(await resolver.lookup('A', 'example.test')).toMatchObject({ records: ['192.0.2.1'] });
    expect(await resolver.lookup('AAAA', 'example.test')).toMatchObject({
      records: ['2001:db8::1'],
    });
    expect(await resolver.lookup('TXT', 'example.test')).toMatchObject({
      records: [['v=spf1 ', '-all']],
    });
    expect(await resolver.lookup('TLSA', 'example.test')).toMatchObject({ records: [tlsa] });
    expect(await resolver.lookup('CNAME', 'alias.test')).toMatchObject({
      records: ['example.test'],
      canonical: 'alias.test',
    });
  });

  test('follows a CNAME chain and returns the name at its end', async () => {
    await using dns = await resolverFor({
      'one.test': { CNAME: 'Two.test' },
      'two.test': { CNAME: 'three.test' },
      'three.test': a('192.0.2.3'),
      'loose.test': { CNAME: 'nowhere.test' },
    });
    expect(await dns.resolver.lookup('A', 'one.test')).toMatchObject({
      kind: 'found',
      canonical: 'three.test',
      records: ['192.0.2.3'],
    });
    expect(await dns.resolver.lookup('A', 'loose.test')).toMatchObject({ kind: 'nxdomain' });
  });

  test('distinguishes a name without such a record from a name that does not exist', async () => {
    await using dns = await resolverFor({ 'sub.example.test': a('192.0.2.1') });
    expect(await dns.resolver.lookup('MX', 'sub.example.test')).toMatchObject({ kind: 'nodata' });
    expect(await dns.resolver.lookup('MX', 'example.test')).toMatchObject({ kind: 'nodata' });
    expect(await dns.resolver.lookup('MX', 'other.test')).toMatchObject({ kind: 'nxdomain' });
  });

  test('for an invalid name is negative, without a query', async () => {
    await using dns = await resolverFor({});
    expect(await dns.resolver.lookup('MX', 'a b\r\n.test')).toMatchObject({ kind: 'nxdomain' });
    expect(dns.server.queries).toEqual([]);
  });

  test.each(['SERVFAIL', 'REFUSED', 'FORMERR'] as const)('%s is a failure', async (trouble) => {
    await using dns = await resolverFor({ 'example.test': trouble });
    const answer = await dns.resolver.lookup('MX', 'example.test');
    expect(answer).toEqual({
      kind: 'failed',
      detail: `DNS lookup of MX example.test failed: the server returned ${trouble}.`,
    });
  });

  test('that is truncated is queried again over TCP', async () => {
    await using dns = await resolverFor({
      'cut.test': { A: ['192.0.2.1'], truncated: true },
      'large.test': { TXT: [Array.from({ length: 20 }, () => 'x'.repeat(200))] },
    });
    expect(await dns.resolver.lookup('A', 'cut.test')).toMatchObject({ records: ['192.0.2.1'] });
    expect(await dns.resolver.lookup('TXT', 'large.test')).toMatchObject({ kind: 'found' });
    expect(dns.server.queries.map((question) => question.transport)).toEqual([
      'udp',
      'tcp',
      'udp',
      'tcp',
    ]);
  });

  test('is authenticated when a server on this machine says so', async () => {
    await using dns = await resolverFor({
      'signed.test': { A: ['192.0.2.1'], authenticated: true },
      'alias.test': { CNAME: 'signed.test' },
    });
    expect(await dns.resolver.lookup('A', 'signed.test')).toMatchObject({ authenticated: true });
    expect(await dns.resolver.lookup('MX', 'signed.test')).toMatchObject({
      kind: 'nodata',
      authenticated: true,
    });
    expect(await dns.resolver.lookup('A', 'alias.test')).toMatchObject({ authenticated: false });
  });
});

describe('a server that times out', () => {
  test('fails the lookup after two attempts', async () => {
    await using dns = await resolverFor({ 'example.test': 'silence' });
    const pending = dns.resolver.lookup('MX', 'example.test');
    await expect.poll(() => dns.server.queries.length).toBe(1);
    dns.clock.advance(2000);
    await expect.poll(() => dns.server.queries.length).toBe(2);
    dns.clock.advance(2000);
    expect(await pending).toMatchObject({
      kind: 'failed',
      detail: expect.stringContaining('no response within 2000 ms'),
    });
  });

  test('is replaced by the next one, which is then preferred', async () => {
    await using silent = await startDnsServer({
      'example.test': 'silence',
      'other.test': 'silence',
    });
    await using good = await startDnsServer({
      'example.test': a('192.0.2.1'),
      'other.test': a('192.0.2.2'),
    });
    const clock = new ManualClock(0);
    const resolver = createResolver({ servers: [silent.address, good.address], clock });
    const pending = resolver.lookup('A', 'example.test');
    await expect.poll(() => silent.queries.length).toBe(1);
    clock.advance(2000);
    expect(await pending).toMatchObject({ records: ['192.0.2.1'] });
    expect(await resolver.lookup('A', 'other.test')).toMatchObject({ records: ['192.0.2.2'] });
    expect(silent.queries).toHaveLength(1);
  });

  test('with a closed port causes no delay', async () => {
    const gone = await startDnsServer({});
    await gone[Symbol.asyncDispose]();
    await using good = await startDnsServer({ 'example.test': a('192.0.2.1') });
    const servers = [gone.address, good.address];
    const resolver = createResolver({ servers, clock: new ManualClock(0) });
    expect(await resolver.lookup('A', 'example.test')).toMatchObject({ kind: 'found' });
  });

  test('without a route to it causes no delay', async () => {
    await using good = await startDnsServer({ 'example.test': a('192.0.2.1') });
    // The kernel refuses to connect to it, as to any address while the network is down.
    const servers = ['255.255.255.255', good.address];
    const resolver = createResolver({ servers, clock: new ManualClock(0) });
    expect(await resolver.lookup('A', 'example.test')).toMatchObject({ kind: 'found' });
    const alone = createResolver({ servers: ['255.255.255.255'], clock: new ManualClock(0) });
    expect(await alone.lookup('A', 'example.test')).toMatchObject({
      kind: 'failed',
      detail: expect.stringContaining('cannot be reached'),
    });
  });

  test('that returns SERVFAIL is not queried again, but the next one is', async () => {
    await using sick = await startDnsServer({ 'example.test': 'SERVFAIL' });
    await using good = await startDnsServer({ 'example.test': a('192.0.2.1') });
    const servers = [sick.address, good.address];
    const resolver = createResolver({ servers, clock: new ManualClock(0) });
    expect(await resolver.lookup('A', 'example.test')).toMatchObject({ kind: 'found' });
    expect(sick.queries).toHaveLength(1);
  });
});

describe('a datagram that does not match the query', () => {
  const forgeries: [string, (reply: Buffer) => Buffer][] = [
    ['another id', (reply) => withByte(reply, 1, (byte) => byte ^ 1)],
    ['different letter case', (reply) => withByte(reply, 13, (byte) => byte ^ 0x20)],
    ['another name', (reply) => withByte(reply, 13, () => 0x7a)],
    ['another type', (reply) => withByte(reply, 27, (byte) => byte ^ 4)],
    ['a query flag', (reply) => withByte(reply, 2, (byte) => byte & 0x7f)],
    ['random bytes', () => Buffer.from('noise')],
  ];

  test.each(forgeries)('(%s) is dropped, and TCP is used instead', async (_, forge) => {
    await using server = await startDnsServer(
      { 'example.test': a('192.0.2.1') },
      // The forged datagram arrives before the real one.
      { forgeUdp: (reply) => [withAddress(forge(Buffer.from(reply)), '198.51.100.66'), reply] },
    );
    const resolver = createResolver({ servers: [server.address], clock: new ManualClock(0) });
    expect(await resolver.lookup('A', 'example.test')).toMatchObject({ records: ['192.0.2.1'] });
    expect(server.queries.map(({ transport }) => transport)).toEqual(['udp', 'tcp']);
  });

  test('must not add records of other names', async () => {
    await using server = await startDnsServer(
      { 'example.test': a('192.0.2.1') },
      // The first letter of the answer's owner name, after the header and the question.
      { forgeUdp: (reply) => [withByte(Buffer.from(reply), 12 + 18 + 1, () => 0x7a)] },
    );
    const resolver = createResolver({ servers: [server.address], clock: new ManualClock(0) });
    expect(await resolver.lookup('A', 'example.test')).toMatchObject({ kind: 'nodata' });
  });
});

function withByte(bytes: Buffer, at: number, change: (byte: number) => number): Buffer {
  bytes[at] = change(bytes[at] as number);
  return bytes;
}

function withAddress(reply: Buffer, address: string): Buffer {
  if (reply.length > 20) Buffer.from(address.split('.').map(Number)).copy(reply, reply.length - 4);
  return reply;
}

test('the letter case is random for every query', async () => {
  const spellings = new Set<string>();
  await using server = await startDnsServer(
    { 'averylongname.test': a('192.0.2.1') },
    {
      forgeUdp(reply, query) {
        spellings.add(query.toString('latin1', 13, 26));
        return [reply];
      },
    },
  );
  const resolver = createResolver({ servers: [server.address], clock: new ManualClock(0) });
  for (let i = 0; i < 10; i++) await resolver.lookup('A', 'averylongname.test');
  expect(spellings.size).toBeGreaterThan(5);
});

test('a server without EDNS support is queried without it', async () => {
  await using server = await startDnsServer(
    { 'example.test': a('192.0.2.1') },
    {
      forgeUdp(reply, query) {
        const hasEdns = query.readUInt16BE(10) > 0;
        return [hasEdns ? withByte(Buffer.from(reply), 3, (byte) => byte | 1) : reply];
      },
    },
  );
  const resolver = createResolver({ servers: [server.address], clock: new ManualClock(0) });
  expect(await resolver.lookup('A', 'example.test')).toMatchObject({ kind: 'found' });
});

describe('memory', () => {
  test('keeps an answer for its TTL', async () => {
    await using dns = await resolverFor({ 'example.test': a('192.0.2.1', 60) });
    await dns.resolver.lookup('A', 'example.test');
    dns.server.setName('example.test', a('192.0.2.2', 60));
    dns.clock.advance(59_999);
    expect(await dns.resolver.lookup('A', 'EXAMPLE.test')).toMatchObject({
      records: ['192.0.2.1'],
    });
    dns.clock.advance(1);
    expect(await dns.resolver.lookup('A', 'example.test')).toMatchObject({
      records: ['192.0.2.2'],
    });
    expect(dns.server.queries).toHaveLength(2);
  });

  test('keeps a negative answer too, and a failure for five seconds', async () => {
    await using dns = await resolverFor({
      'example.test': a('192.0.2.1', 30),
      'sick.test': 'SERVFAIL',
    });
    await dns.resolver.lookup('MX', 'example.test');
    await dns.resolver.lookup('MX', 'sick.test');
    dns.clock.advance(4999);
    await dns.resolver.lookup('MX', 'example.test');
    await dns.resolver.lookup('MX', 'sick.test');
    expect(dns.server.queries).toHaveLength(2);
    dns.clock.advance(1);
    await dns.resolver.lookup('MX', 'example.test');
    await dns.resolver.lookup('MX', 'sick.test');
    expect(dns.server.queries.map(({ name }) => name)).toEqual([
      'example.test',
      'sick.test',
      'sick.test',
    ]);
  });

  test('of a CNAME chain uses the shortest TTL', async () => {
    await using dns = await resolverFor({
      'alias.test': { CNAME: 'example.test', ttlSeconds: 10 },
      'example.test': a('192.0.2.1', 60),
    });
    await dns.resolver.lookup('A', 'alias.test');
    dns.clock.advance(10_000);
    await dns.resolver.lookup('A', 'alias.test');
    expect(dns.server.queries).toHaveLength(2);
  });

  test('limits a TTL of years to an hour', async () => {
    await using dns = await resolverFor({ 'example.test': a('192.0.2.1', 10 ** 9) });
    await dns.resolver.lookup('A', 'example.test');
    dns.clock.advance(3_600_000);
    await dns.resolver.lookup('A', 'example.test');
    expect(dns.server.queries).toHaveLength(2);
  });

  test('is bypassed and renewed by a fresh lookup', async () => {
    await using dns = await resolverFor({ 'example.test': a('192.0.2.1', 60) });
    await dns.resolver.lookup('A', 'example.test');
    dns.server.setName('example.test', a('192.0.2.2', 60));
    const fresh = await dns.resolver.lookup('A', 'example.test', { fresh: true });
    expect(fresh).toMatchObject({ records: ['192.0.2.2'] });
    expect(await dns.resolver.lookup('A', 'example.test')).toBe(fresh);
    expect(dns.server.queries).toHaveLength(2);
  });

  test('of the absence of records is as long as the caller and the zone allow', async () => {
    await using dns = await resolverFor({ 'example.test': a('192.0.2.1', 1800) });
    const { resolver, clock, server } = dns;
    const lookup = () => resolver.lookup('TXT', 'example.test', { negativeTtlMaxSeconds: 3600 });
    await lookup();
    await resolver.lookup('MX', 'example.test');
    clock.advance(300_000);
    await lookup();
    await resolver.lookup('MX', 'example.test');
    clock.advance(1_500_000);
    await lookup();
    expect(server.queries.map(({ type }) => type)).toEqual(['TXT', 'MX', 'MX', 'TXT']);
  });

  test('counts the size of answers: a large one takes the place of many', async () => {
    const script: Script = { 'large.test': { TXT: ['x'.repeat(20_000)], ttlSeconds: 60 } };
    for (let n = 0; n < 20; n++) script[`n${n}.test`] = a('192.0.2.1', 60);
    await using server = await startDnsServer(script);
    const resolver = createResolver({
      servers: [server.address],
      clock: systemClock,
      cacheBytesMax: 20_000,
    });
    for (let n = 0; n < 20; n++) await resolver.lookup('A', `n${n}.test`);
    for (let n = 0; n < 20; n++) await resolver.lookup('A', `n${n}.test`);
    expect(server.queries).toHaveLength(20);
    await resolver.lookup('TXT', 'large.test');
    await resolver.lookup('A', 'n0.test');
    // Over UDP and TCP; then everything before it was evicted, and in the end the answer itself.
    expect(server.queries).toHaveLength(23);
  });

  test('is bounded and evicts the oldest answer first', async () => {
    await using server = await startDnsServer({
      'a.test': a('192.0.2.1', 60),
      'b.test': a('192.0.2.2', 60),
      'c.test': a('192.0.2.3', 60),
    });
    const resolver = createResolver({
      servers: [server.address],
      clock: systemClock,
      // For two answers.
      cacheBytesMax: 2 * 600,
    });
    for (const name of ['a.test', 'b.test', 'c.test', 'c.test', 'b.test', 'a.test']) {
      await resolver.lookup('A', name);
    }
    expect(server.queries.map(({ name }) => name)).toEqual([
      'a.test',
      'b.test',
      'c.test',
      'a.test',
    ]);
  });
});

test('identical concurrent lookups share one query', async () => {
  await using dns = await resolverFor({ 'example.test': a('192.0.2.1') });
  const names = ['example.test', 'Example.test', 'example.test.'];
  await Promise.all(names.map((name) => dns.resolver.lookup('A', name)));
  expect(dns.server.queries).toHaveLength(1);
  await dns.resolver.lookup('A', 'example.test');
  expect(dns.server.queries).toHaveLength(2);
});

test('many concurrent lookups share a limited number of sockets', async () => {
  const script: Script = {};
  for (let i = 0; i < 50; i++) script[`n${i}.test`] = 'silence';
  await using server = await startDnsServer(script);
  const clock = new ManualClock(0);
  const resolver = createResolver({ servers: [server.address], clock, inFlightMax: 3 });
  const lookups = Object.keys(script).map((name) => resolver.lookup('A', name));
  await expect.poll(() => server.queries.length).toBe(3);
  // Loopback preserves order: a fourth query would have arrived before these responses.
  const bystander = createResolver({ servers: [server.address], clock });
  for (let i = 0; i < 5; i++) await bystander.lookup('A', 'bystander.test');
  expect(server.queries.filter(({ name }) => name !== 'bystander.test')).toHaveLength(3);

  for (const name of Object.keys(script)) server.setName(name, a('192.0.2.1'));
  clock.advance(2000);
  const answers = await Promise.all(lookups);
  expect(answers.every((answer) => answer.kind === 'found')).toBe(true);
});

test.each(['127.0.0.1', '127.0.0.1:5354', '::1', '[::1]:53', '192.0.2.53'])(
  '%s is accepted as a server',
  (server) => {
    expect(() => createResolver({ servers: [server], clock: systemClock })).not.toThrow();
  },
);

test.each(['', 'dns.example', '127.0.0.1:', '127.0.0.1:99999', '[::1'])(
  '%j is not a server',
  (server) => {
    expect(() => createResolver({ servers: [server], clock: systemClock })).toThrow();
  },
);
