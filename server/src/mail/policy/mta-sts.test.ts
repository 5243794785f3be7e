import { describe, expect, test } from 'vitest';
import { startDnsServer } from '../../../test/harness/smtp/dns-server.ts';
import { ManualClock } from '../../lib/time/manual-clock.ts';
import { createResolver } from '../dns/resolver.ts';
import { createMtaSts } from './mta-sts.ts';
import type { FetchedPolicy } from './mta-sts-fetch.ts';

// Goal: a policy is fetched when needed, never more often, and survives the loss of its DNS record
// or web server. Method: scripted DNS, a scripted policy fetcher, and a test clock.

const HOUR_MS = 3_600_000;

function file(mode: string, maxAgeSeconds = 7 * 24 * 3600): FetchedPolicy {
  const text = `version: STSv1\nmode: ${mode}\nmx: mx.test\nmax_age: ${maxAgeSeconds}\n`;
  return { kind: 'fetched', text };
}

const away: FetchedPolicy = { kind: 'failed', detail: 'away' };

async function rig(first: FetchedPolicy, entriesMax = 100) {
  const server = await startDnsServer({ '_mta-sts.example.test': { TXT: ['v=STSv1; id=1;'] } });
  const clock = new ManualClock(0);
  const web = { answer: first, fetches: [] as string[] };
  const sts = createMtaSts({
    resolver: createResolver({ servers: [server.address], clock }),
    clock,
    entriesMax,
    async fetchPolicy(domain) {
      web.fetches.push(domain);
      return web.answer;
    },
  });
  const mode = async (domain = 'example.test') => (await sts.policyFor(domain))?.mode;
  const announce = (id: string) =>
    server.set('_mta-sts.example.test', 'TXT', [`v=STSv1; id=${id};`]);
  return {
    server,
    clock,
    web,
    sts,
    mode,
    announce,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

describe('a domain', () => {
  test('without the TXT record has no policy, and nothing is fetched', async () => {
    await using at = await rig(file('enforce'));
    expect(await at.mode('other.test')).toBeUndefined();
    expect(at.web.fetches).toEqual([]);
  });

  test('with the TXT record has the policy of its web server, fetched once', async () => {
    await using at = await rig(file('enforce'));
    const both = await Promise.all([at.mode(), at.mode('EXAMPLE.test')]);
    expect(both).toEqual(['enforce', 'enforce']);
    expect(await at.mode()).toBe('enforce');
    expect(at.web.fetches).toEqual(['example.test']);
  });

  test('that announces a new id gets its new policy at once', async () => {
    await using at = await rig(file('enforce'));
    await at.mode();
    at.announce('2');
    at.web.answer = file('none');
    expect(await at.mode()).toBe('none');
    expect(at.web.fetches).toHaveLength(2);
  });
});

describe('a cached policy', () => {
  test.each(['NXDOMAIN', 'SERVFAIL'] as const)('stays valid through %s', async (trouble) => {
    await using at = await rig(file('enforce', 86_400));
    await at.mode();
    at.server.setName('_mta-sts.example.test', trouble);
    at.clock.advance(86_400_000 - 1);
    expect(await at.mode()).toBe('enforce');
    at.clock.advance(1);
    expect(await at.mode()).toBeUndefined();
  });

  test('stays valid when the new one cannot be fetched or parsed', async () => {
    await using at = await rig(file('enforce'));
    await at.mode();
    at.announce('2');
    at.web.answer = away;
    expect(await at.mode()).toBe('enforce');
    at.web.answer = { kind: 'fetched', text: '<html>' };
    at.clock.advance(HOUR_MS);
    expect(await at.mode()).toBe('enforce');
    expect(at.web.fetches).toHaveLength(3);
  });

  test('is refreshed within a day in the background', async () => {
    await using at = await rig(file('enforce'));
    await at.mode();
    at.clock.advance(24 * HOUR_MS - 1);
    await at.mode();
    expect(at.web.fetches).toHaveLength(1);
    at.clock.advance(1);
    at.web.answer = file('testing');
    expect(await at.mode()).toBe('enforce');
    expect(await at.mode()).toBe('testing');
    expect(at.web.fetches).toHaveLength(2);
  });

  test('with max_age 0 is not fetched for every message', async () => {
    await using at = await rig(file('enforce', 0));
    for (let i = 0; i < 5; i++) expect(await at.mode()).toBe('enforce');
    expect(at.web.fetches).toHaveLength(1);
    at.clock.advance(5 * 60_000);
    await at.mode();
    expect(at.web.fetches).toHaveLength(2);
  });
});

test('a failed fetch is not repeated within five minutes', async () => {
  await using at = await rig(away);
  expect(await at.mode()).toBeUndefined();
  at.web.answer = file('enforce');
  at.clock.advance(5 * 60_000 - 1);
  expect(await at.mode()).toBeUndefined();
  expect(at.web.fetches).toHaveLength(1);
  at.clock.advance(1);
  expect(await at.mode()).toBe('enforce');
});

test('the cache is bounded', async () => {
  await using at = await rig(file('enforce'), 1);
  at.server.set('_mta-sts.other.test', 'TXT', ['v=STSv1; id=1;']);
  await at.mode();
  await at.mode('other.test');
  await at.mode('other.test');
  await at.mode();
  expect(at.web.fetches).toEqual(['example.test', 'other.test', 'example.test']);
});
