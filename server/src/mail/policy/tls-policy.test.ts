import { describe, expect, test } from 'vitest';
import { type Script, startDnsServer } from '../../../test/harness/smtp/dns-server.ts';
import { systemClock } from '../../lib/time/clock.ts';
import { createResolver } from '../dns/resolver.ts';
import { createMtaSts } from './mta-sts.ts';
import { resolveRoute } from './mx.ts';
import { tlsPolicyFor } from './tls-policy.ts';

// Goal: the strictest of DANE, MTA-STS and the sender's own setting applies.

const record = { usage: 3, selector: 1, matchingType: 1, data: Buffer.alloc(32, 1) };

const plain: Script = {
  'example.test': { MX: ['10 mx.test'] },
  'mx.test': { A: ['192.0.2.1'] },
};
const signed: Script = {
  'example.test': { MX: ['10 mx.test'], authenticated: true },
  'mx.test': { A: ['192.0.2.1'], authenticated: true },
};
const sts: Script = { '_mta-sts.example.test': { TXT: ['v=STSv1; id=1;'] } };
const dane: Script = { '_25._tcp.mx.test': { TLSA: [record], authenticated: true } };
const unusableDane: Script = {
  '_25._tcp.mx.test': { TLSA: [{ ...record, usage: 0 }], authenticated: true },
};
const brokenDane: Script = { '_25._tcp.mx.test': 'SERVFAIL' };

async function decide(
  script: Script,
  more: { mode?: string; mx?: string; required?: boolean } = {},
) {
  await using server = await startDnsServer(script);
  const resolver = createResolver({ servers: [server.address], clock: systemClock });
  const { mode = 'enforce', mx = 'mx.test', required = false } = more;
  const text = `version: STSv1\nmode: ${mode}\nmx: ${mx}\nmax_age: 600\n`;
  const mtaSts = createMtaSts({
    resolver,
    clock: systemClock,
    fetchPolicy: async () => ({ kind: 'fetched', text }),
  });
  const route = await resolveRoute('example.test', resolver, { addressAllowed: () => true });
  if (route.kind !== 'hosts') throw new Error(route.kind);
  const question = {
    domain: 'example.test',
    host: route.hosts[0]!,
    routeAuthenticated: route.authenticated,
    tlsRequired: required,
  };
  return await tlsPolicyFor(question, resolver, mtaSts);
}

const opportunistic = { kind: 'policy', policy: { kind: 'opportunistic' } };
const required = { kind: 'policy', policy: { kind: 'required' } };
const verified = { kind: 'policy', policy: { kind: 'verified', names: ['mx.test'] } };
const byDane = {
  kind: 'policy',
  policy: { kind: 'dane', records: [record], names: ['mx.test', 'example.test'] },
};

describe('TLS is', () => {
  test('opportunistic by default', async () => {
    expect(await decide(plain)).toEqual(opportunistic);
    expect(await decide({ ...plain, ...sts }, { mode: 'testing' })).toEqual(opportunistic);
    expect(await decide({ ...plain, ...sts }, { mode: 'none' })).toEqual(opportunistic);
  });

  test('required when the sender asks for it', async () => {
    expect(await decide(plain, { required: true })).toEqual(required);
  });

  test("verified when MTA-STS enforces it, whatever the sender's setting", async () => {
    expect(await decide({ ...plain, ...sts })).toEqual(verified);
    expect(await decide({ ...plain, ...sts }, { required: true })).toEqual(verified);
  });

  test('decided by DANE if present, whatever else is published', async () => {
    expect(await decide({ ...signed, ...dane })).toEqual(byDane);
    expect(await decide({ ...signed, ...dane, ...sts }, { mx: 'other.test' })).toEqual(byDane);
    expect(await decide({ ...signed, ...dane }, { required: true })).toEqual(byDane);
  });

  test('required when DANE records exist but none is usable', async () => {
    expect(await decide({ ...signed, ...unusableDane })).toEqual(required);
    expect(await decide({ ...signed, ...unusableDane, ...sts })).toEqual(verified);
  });
});

describe('the host is not used', () => {
  test('when an enforced MTA-STS policy does not include it', async () => {
    expect(await decide({ ...plain, ...sts }, { mx: 'other.test' })).toEqual({
      kind: 'host_refused',
      detail: 'The MTA-STS policy of example.test does not include the mail server mx.test.',
    });
  });

  test('while its TLSA lookup fails', async () => {
    expect(await decide({ ...signed, ...brokenDane })).toMatchObject({ kind: 'temporary' });
  });
});
