import { afterAll, beforeAll, expect, test } from 'vitest';
import { startApp, type TestApp } from '../../harness/app.ts';
import { type EventState, eventsOf } from '../../harness/database/enqueue-messages.ts';
import { type ScriptedDnsServer, startDnsServer } from '../../harness/smtp/dns-server.ts';
import { type ListedRecord, publishRecords } from '../../harness/smtp/publish-dns-records.ts';

/**
 * A domain that one workspace has verified can be used by another only with the consent of the zone's
 * owner, and never unnoticed. Two workspaces share a server, with one zone in a scripted DNS server.
 */

let dns: ScriptedDnsServer;
let app: TestApp;
let keys: { shop: string; rival: string };
let workspaces: { shop: string; rival: string };

beforeAll(async () => {
  dns = await startDnsServer();
  app = await startApp({ env: { DNS_SERVERS: dns.address, HELO_NAME: 'mail.postrider.test' } });
  const rival = await app.app.workspaces.create('Rival');
  const key = await app.newKey({ mode: 'live', workspaceId: rival.id });
  keys = { shop: app.liveKey, rival: key };
  workspaces = { shop: app.workspaceId, rival: rival.id };
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await dns[Symbol.asyncDispose]();
});

type Who = keyof typeof keys;

async function add(who: Who, name: string): Promise<{ id: string; records: ListedRecord[] }> {
  const { status, json } = await app.call('POST', '/domains', { key: keys[who], body: { name } });
  expect(status).toBe(201);
  return json;
}

async function verify(who: Who, id: string) {
  return (await app.call('POST', `/domains/${id}/verify`, { key: keys[who] })).json;
}

/** Reads the events table: the feed may be slightly behind. */
async function claimEvents(who: Who): Promise<EventState[]> {
  const events = await eventsOf(app.database.pool, workspaces[who]);
  return events.filter(({ type }) => type.startsWith('domain.'));
}

const ownership = (records: readonly ListedRecord[]): ListedRecord =>
  records.find(({ purpose }) => purpose === 'ownership') as ListedRecord;

test('the same domain needs its own token, and then both may send', async () => {
  const shops = await add('shop', 'shared.test');
  publishRecords(dns, shops.records);
  expect((await verify('shop', shops.id)).status).toBe('verified');

  const rivals = await add('rival', 'shared.test');
  expect(ownership(rivals.records).value).not.toBe(ownership(shops.records).value);
  const selectors = (records: ListedRecord[]) =>
    records.filter(({ purpose }) => purpose === 'dkim').map(({ name }) => name);
  expect(selectors(rivals.records)).not.toEqual(
    expect.arrayContaining([expect.toBeOneOf(selectors(shops.records))]),
  );

  // Everything but the token: DKIM keys alone prove nothing.
  publishRecords(
    dns,
    rivals.records.filter(({ purpose }) => purpose !== 'ownership'),
  );
  const claimed = await verify('rival', rivals.id);
  expect(claimed.status).toBe('pending');
  expect(ownership(claimed.records)).toMatchObject({
    status: 'wrong',
    mistakes: [{ code: 'other_value' }],
  });
  expect(await claimEvents('rival')).toEqual([]);

  const { name, value } = ownership(rivals.records);
  dns.set(name, 'TXT', [ownership(shops.records).value, value]);
  expect((await verify('rival', rivals.id)).status).toBe('verified');
  expect((await verify('shop', shops.id)).status).toBe('verified');
  expect((await claimEvents('shop')).map(({ type }) => type)).toEqual([
    'domain.verified',
    'domain.claimed',
  ]);
  expect((await claimEvents('shop'))[1]?.data).toEqual({
    domain: { id: shops.id, name: 'shared.test', status: 'verified' },
    claimed_name: 'shared.test',
  });
});

test('a subdomain needs its own token, and the claim is reported', async () => {
  const shops = await add('shop', 'parent.test');
  publishRecords(dns, shops.records);
  await verify('shop', shops.id);
  const before = (await claimEvents('shop')).length;

  const rivals = await add('rival', 'news.eu.parent.test');
  expect((await verify('rival', rivals.id)).status).toBe('pending');
  // An unverified domain is not reported: otherwise anyone could raise false alarms.
  expect(await claimEvents('shop')).toHaveLength(before);

  publishRecords(dns, rivals.records);
  expect((await verify('rival', rivals.id)).status).toBe('verified');
  expect((await claimEvents('shop')).slice(before)).toMatchObject([
    {
      type: 'domain.claimed',
      data: { domain: { name: 'parent.test' }, claimed_name: 'news.eu.parent.test' },
    },
  ]);
  // Reported once: a record that disappears and returns is not a new claim.
  dns.remove(ownership(rivals.records).name);
  expect((await verify('rival', rivals.id)).status).toBe('degraded');
  publishRecords(dns, rivals.records);
  expect((await verify('rival', rivals.id)).status).toBe('verified');
  expect(await claimEvents('shop')).toHaveLength(before + 1);
});

test('a parent or sibling domain is not a claim', async () => {
  const shops = await add('shop', 'mail.deep.test');
  publishRecords(dns, shops.records);
  await verify('shop', shops.id);
  const before = (await claimEvents('shop')).length;
  for (const name of ['deep.test', 'other.deep.test', 'deep.mail.deep.test.test']) {
    const rivals = await add('rival', name);
    publishRecords(dns, rivals.records);
    expect((await verify('rival', rivals.id)).status).toBe('verified');
  }
  expect(await claimEvents('shop')).toHaveLength(before);
});

test('domains of other workspaces are invisible and cannot be changed', async () => {
  const { id } = await add('shop', 'private.test');
  const requests: [string, string, unknown][] = [
    ['GET', `/domains/${id}`, undefined],
    ['PATCH', `/domains/${id}`, { tls: 'required' }],
    ['POST', `/domains/${id}/verify`, undefined],
    ['POST', `/domains/${id}/rotate-dkim`, undefined],
    ['DELETE', `/domains/${id}`, undefined],
  ];
  for (const [method, path, body] of requests) {
    const answer = await app.call(method, path, {
      key: keys.rival,
      ...(body === undefined ? {} : { body }),
    });
    expect([path, answer.status, answer.json.code]).toEqual([path, 404, 'not_found']);
  }
  const listed = (await app.call('GET', '/domains?limit=100', { key: keys.rival })).json.data;
  expect(listed.map((one: { id: string }) => one.id)).not.toContain(id);
});

test('domains trusted by the operator need no DNS, and the claim is reported', async () => {
  const shops = await add('shop', 'trusted.test');
  publishRecords(dns, shops.records);
  await verify('shop', shops.id);
  const before = (await claimEvents('shop')).length;

  const trusted = await app.app.domains.trust(workspaces.rival, { name: 'Trusted.test' });
  expect(trusted).toMatchObject({ status: 'verified', trusted: true, checkDueAtMs: null });
  expect((await claimEvents('shop')).slice(before)).toMatchObject([{ type: 'domain.claimed' }]);
  // Records are checked on request, without consequences.
  const { json } = await app.call('GET', '/domains?limit=1', { key: keys.rival });
  const [{ id }] = json.data;
  expect(await verify('rival', id)).toMatchObject({ status: 'verified', trusted: true });

  // A pending domain can be trusted too.
  const waiting = await add('rival', 'waiting.test');
  const now = await app.app.domains.trust(workspaces.rival, { name: 'waiting.test' });
  expect(now.records[0]?.value).toBe(ownership(waiting.records).value);
  expect(now).toMatchObject({ status: 'verified', trusted: true });
});
