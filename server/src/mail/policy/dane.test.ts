import { describe, expect, test } from 'vitest';
import {
  type Script,
  type ScriptedTlsa,
  startDnsServer,
} from '../../../test/harness/smtp/dns-server.ts';
import { systemClock } from '../../lib/time/clock.ts';
import { createResolver } from '../dns/resolver.ts';
import { lookUpDane } from './dane.ts';
import { resolveRoute } from './mx.ts';

// Goal: TLSA records apply exactly when every step to them is DNSSEC-validated. Method: route and
// TLSA lookups by the real resolver against a scripted DNS server.

const tlsa = (usage: number, selector: number, matchingType: number, length: number) => ({
  usage,
  selector,
  matchingType,
  data: Buffer.alloc(length, usage * 16 + matchingType),
});
const good = tlsa(3, 1, 1, 32);

function signed(records: readonly ScriptedTlsa[]): Script {
  return {
    'example.test': { MX: ['10 mx.test'], authenticated: true },
    'mx.test': { A: ['192.0.2.1'], authenticated: true },
    '_25._tcp.mx.test': { TLSA: records, authenticated: true },
  };
}

async function find(script: Script) {
  await using server = await startDnsServer(script);
  const resolver = createResolver({ servers: [server.address], clock: systemClock });
  const route = await resolveRoute('example.test', resolver, { addressAllowed: () => true });
  if (route.kind !== 'hosts') throw new Error(route.kind);
  const finding = await lookUpDane(
    {
      domain: 'example.test',
      host: route.hosts[0]!,
      routeAuthenticated: route.authenticated,
      port: 25,
    },
    resolver,
  );
  const queried = server.queries.filter(({ type }) => type === 'TLSA').map(({ name }) => name);
  return { finding, queried };
}

describe('TLSA records bind', () => {
  test('when MX, address and TLSA are all authenticated', async () => {
    const { finding } = await find(signed([good]));
    expect(finding).toEqual({
      kind: 'usable',
      records: [good],
      names: ['mx.test', 'example.test'],
    });
  });

  test.each(['example.test', 'mx.test', '_25._tcp.mx.test'])(
    'not when the answer about %s is not authenticated',
    async (name) => {
      const script = signed([good]);
      script[name] = { ...(script[name] as object), authenticated: false };
      expect((await find(script)).finding).toEqual({ kind: 'absent' });
    },
  );

  test('not when there are none', async () => {
    const script = signed([]);
    expect((await find(script)).finding).toEqual({ kind: 'absent' });
    delete script['_25._tcp.mx.test'];
    expect((await find(script)).finding).toEqual({ kind: 'absent' });
  });
});

describe('a failed TLSA lookup', () => {
  test('in a signed zone makes the host temporarily unusable', async () => {
    const script = { ...signed([]), '_25._tcp.mx.test': 'SERVFAIL' } as Script;
    expect((await find(script)).finding).toMatchObject({ kind: 'temporary' });
  });

  test('in an unsigned zone does not happen, because no query is sent', async () => {
    const script = { ...signed([]), '_25._tcp.mx.test': 'SERVFAIL' } as Script;
    script['mx.test'] = { A: ['192.0.2.1'] };
    expect(await find(script)).toEqual({ finding: { kind: 'absent' }, queried: [] });
  });
});

describe('of the records', () => {
  test.each([
    ['a public CA', tlsa(0, 1, 1, 32)],
    ['a certificate of a public CA', tlsa(1, 1, 1, 32)],
    ['an unknown usage', tlsa(4, 1, 1, 32)],
    ['an unknown selector', tlsa(3, 2, 1, 32)],
    ['an unknown digest', tlsa(3, 1, 3, 32)],
    ['a digest of the wrong length', tlsa(3, 1, 2, 32)],
    ['an empty certificate', tlsa(3, 0, 0, 0)],
  ])('%s is not usable: alone it still requires TLS', async (_, record) => {
    expect((await find(signed([record]))).finding).toEqual({ kind: 'unusable' });
    expect((await find(signed([record, good]))).finding).toMatchObject({ records: [good] });
  });

  test('only the strongest digest of each usage and selector counts', async () => {
    const strong = tlsa(3, 1, 2, 64);
    const whole = tlsa(3, 1, 0, 90);
    const anchor = tlsa(2, 0, 1, 32);
    const otherSelector = tlsa(3, 0, 1, 32);
    const { finding } = await find(signed([good, strong, whole, anchor, otherSelector]));
    expect(finding).toMatchObject({ records: [strong, whole, anchor, otherSelector] });
  });
});

describe('a host that is a CNAME', () => {
  const aliased: Script = {
    'example.test': { MX: ['10 mx.test'], authenticated: true },
    'mx.test': { CNAME: 'real.test', authenticated: true },
    'real.test': { A: ['192.0.2.1'], authenticated: true },
  };

  test('has its records at the end of the chain', async () => {
    const script: Script = {
      ...aliased,
      '_25._tcp.real.test': { TLSA: [good], authenticated: true },
    };
    expect((await find(script)).finding).toMatchObject({
      kind: 'usable',
      names: ['real.test', 'mx.test', 'example.test'],
    });
  });

  test('or else at its own name', async () => {
    const script: Script = {
      ...aliased,
      '_25._tcp.mx.test': { TLSA: [good], authenticated: true },
    };
    expect((await find(script)).finding).toMatchObject({
      kind: 'usable',
      names: ['mx.test', 'example.test'],
    });
  });

  test('into an unsigned zone has them only at its own name', async () => {
    const script: Script = {
      ...aliased,
      'real.test': { A: ['192.0.2.1'] },
      '_25._tcp.real.test': 'SERVFAIL',
      '_25._tcp.mx.test': { TLSA: [good], authenticated: true },
    };
    expect(await find(script)).toMatchObject({
      finding: { kind: 'usable', names: ['mx.test', 'example.test'] },
      queried: ['_25._tcp.mx.test'],
    });
  });

  test('has none when the CNAME itself is not authenticated', async () => {
    const script: Script = {
      ...aliased,
      'mx.test': { CNAME: 'real.test' },
      '_25._tcp.mx.test': { TLSA: [good], authenticated: true },
    };
    expect(await find(script)).toEqual({ finding: { kind: 'absent' }, queried: [] });
  });
});
