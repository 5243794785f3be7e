import { afterAll, beforeAll, expect, test } from 'vitest';
import { startApp, type TestApp } from '../../harness/app.ts';
import { type ScriptedDnsServer, startDnsServer } from '../../harness/smtp/dns-server.ts';
import { type ListedRecord, publishRecords } from '../../harness/smtp/publish-dns-records.ts';

/**
 * Receiving is switched on for a verified domain, adds an MX record that sending does not need, and
 * belongs to one workspace at a time. Two workspaces share a server, with a scripted DNS server.
 */

let dns: ScriptedDnsServer;
let app: TestApp;
let rivalKey: string;

beforeAll(async () => {
  dns = await startDnsServer();
  app = await startApp({ env: { DNS_SERVERS: dns.address, HELO_NAME: 'mail.postrider.test' } });
  const rival = await app.app.workspaces.create('Rival');
  rivalKey = await app.newKey({ mode: 'live', workspaceId: rival.id });
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await dns[Symbol.asyncDispose]();
});

interface ListedDomain {
  id: string;
  status: string;
  receiving: boolean;
  records: ListedRecord[];
}

/** Adds the domain, with a token of its own in DNS beside those of other workspaces. */
async function addVerified(name: string, key = app.liveKey): Promise<ListedDomain> {
  const { json } = await app.call('POST', '/domains', { key, body: { name } });
  expect(json).toMatchObject({ receiving: false });
  const tokens = tokensOf.get(name) ?? [];
  publishRecords(dns, json.records);
  tokens.push(json.records.find((record: ListedRecord) => record.purpose === 'ownership').value);
  tokensOf.set(name, tokens);
  dns.set(`_postrider.${name}`, 'TXT', tokens);
  const verified = await app.call('POST', `/domains/${json.id}/verify`, { key });
  expect(verified.json.status).toBe('verified');
  return verified.json;
}

const tokensOf = new Map<string, string[]>();

const setReceiving = (id: string, receiving: boolean, key = app.liveKey) =>
  app.call('PATCH', `/domains/${id}`, { key, body: { receiving } });

const mxOf = ({ records }: ListedDomain) =>
  records.filter(({ purpose }) => purpose === 'receiving');

test('lists and checks an MX record that does not change the status', async () => {
  const domain = await addVerified('reply.test');
  expect(mxOf(domain)).toEqual([]);
  const on = await setReceiving(domain.id, true);
  expect(on.status).toBe(200);
  expect(on.json).toMatchObject({ receiving: true, status: 'verified' });
  expect(mxOf(on.json)).toMatchObject([
    {
      type: 'MX',
      name: 'reply.test',
      value: '10 mail.postrider.test',
      required: false,
      status: 'pending',
    },
  ]);
  // It is checked soon, although the domain was just checked.
  expect(Date.parse(on.json.next_check_at)).toBeLessThan(Date.now() + 120_000);

  const verify = async () => {
    const { json } = await app.call('POST', `/domains/${domain.id}/verify`, { key: app.liveKey });
    expect(json).toMatchObject({ status: 'verified', receiving: true });
    return mxOf(json)[0];
  };
  expect(await verify()).toMatchObject({ status: 'missing' });
  dns.set('reply.test', 'MX', ['1 mx.mailboxes.test']);
  expect(await verify()).toMatchObject({ status: 'wrong', mistakes: [{ code: 'other_mx' }] });
  publishRecords(dns, mxOf(on.json));
  expect(await verify()).toMatchObject({ status: 'found', mistakes: [] });

  const off = await setReceiving(domain.id, false);
  expect(off.json).toMatchObject({ receiving: false });
  expect(mxOf(off.json)).toEqual([]);
});

test('needs a verified domain', async () => {
  const { json } = await app.call('POST', '/domains', {
    key: app.liveKey,
    body: { name: 'unverified.test' },
  });
  const refused = await setReceiving(json.id, true);
  expect(refused.status).toBe(403);
  expect(refused.json).toMatchObject({
    code: 'domain_not_verified',
    detail: 'unverified.test is not verified, so it cannot receive mail.',
  });
  expect((await setReceiving(json.id, false)).status).toBe(200);
  await app.app.domains.trust(app.workspaceId, { name: 'unverified.test' });
  expect((await setReceiving(json.id, true)).json).toMatchObject({ receiving: true });
});

test('belongs to one workspace, which the conflict does not name', async () => {
  const ours = await addVerified('claimed.test');
  const theirs = await addVerified('claimed.test', rivalKey);
  expect((await setReceiving(ours.id, true)).status).toBe(200);
  const refused = await setReceiving(theirs.id, true, rivalKey);
  expect(refused.status).toBe(409);
  expect(refused.json).toMatchObject({
    code: 'conflict',
    detail:
      'Another workspace of this server receives the mail of this domain, and only one can. Turn off receiving there first.',
  });
  expect((await setReceiving(theirs.id, false, rivalKey)).status).toBe(200);

  await setReceiving(ours.id, false);
  expect((await setReceiving(theirs.id, true, rivalKey)).status).toBe(200);
  expect((await setReceiving(ours.id, true)).status).toBe(409);
  await app.call('DELETE', `/domains/${theirs.id}`, { key: rivalKey });
  expect((await setReceiving(ours.id, true)).status).toBe(200);
});

test('is taken over from a workspace that lost the domain, also by concurrent requests', async () => {
  const ours = await addVerified('sold.test');
  await setReceiving(ours.id, true);
  const theirs = await addVerified('sold.test', rivalKey);
  await app.database.pool.query(
    "update domains set status = 'failed' where name = 'sold.test' and receiving",
  );
  const taking = [1, 2, 3].map(() => setReceiving(theirs.id, true, rivalKey));
  expect((await Promise.all(taking)).map(({ status }) => status)).toEqual([200, 200, 200]);
  const { json } = await app.call('GET', `/domains/${ours.id}`, { key: app.liveKey });
  expect(json).toMatchObject({ status: 'failed', receiving: false });
  expect(await setReceiving(ours.id, true)).toMatchObject({
    status: 403,
    json: { code: 'domain_not_verified' },
  });
});
