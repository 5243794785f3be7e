import { Resolver } from 'node:dns/promises';
import { dkimVerify } from 'mailauth/lib/dkim/verify.js';
import { expect, test } from 'vitest';
import { SigningDomainCache } from '../../../src/domains/signing-domain-cache.ts';
import { createEncryptor } from '../../../src/lib/crypto/encryption.ts';
import { systemClock } from '../../../src/lib/time/clock.ts';
import { ManualClock } from '../../../src/lib/time/manual-clock.ts';
import { signDkim } from '../../../src/mail/dkim/sign.ts';
import { startApp } from '../../harness/app.ts';
import { until } from '../../harness/delivery/delivery-engine.ts';
import { startDnsServer } from '../../harness/smtp/dns-server.ts';
import { type ListedRecord, publishRecords } from '../../harness/smtp/publish-dns-records.ts';

/**
 * A rotation needs no DNS change beforehand, never signs with a key that receivers cannot look up, and
 * earlier signatures stay valid. The whole server runs; signatures are made with the keys that delivery
 * would use, and verified by mailauth against the zone of the scripted DNS server.
 */

interface ListedKey {
  selector: string;
  algorithm: string;
  slot: string;
  retired_at: string | null;
}

const DAY_MS = 86_400_000;
const MAIL = Buffer.from('From: hello@shop.test\r\nSubject: Hello\r\n\r\nHello\r\n');

async function start() {
  const dns = await startDnsServer();
  const clock = new ManualClock(systemClock.now());
  const app = await startApp({
    clock,
    env: { DNS_SERVERS: dns.address, HELO_NAME: 'mail.postrider.test' },
  });
  const call = async (method: string, path: string, body?: unknown) => {
    const answer = await app.call(method, path, {
      key: app.liveKey,
      ...(body === undefined ? {} : { body }),
    });
    return answer.json;
  };
  const domain = await call('POST', '/domains', { name: 'shop.test' });
  const { pool, secretKey } = app.app.storage;
  const notices = { arrive: true };
  const signingKeys = new SigningDomainCache({
    pool,
    clock,
    encryptor: createEncryptor(secretKey, 'dkim'),
    maxAgeMs: () => (notices.arrive ? 60_000 : 1_000),
  });
  /** Signs as delivery would, in a process that has just been notified of all changes. */
  const sign = async (): Promise<Buffer> => {
    signingKeys.invalidateWorkspace(app.workspaceId);
    const found = await signingKeys.find(app.workspaceId, 'shop.test');
    const fields = await signDkim(MAIL, found?.keys ?? [], { dateMs: clock.now() });
    return Buffer.concat([Buffer.from(fields), MAIL]);
  };
  const resolver = new Resolver();
  resolver.setServers([dns.address]);
  /** `rsa-sha256 pass` etc., as seen by a receiver. */
  const verified = async (raw: Buffer): Promise<string[]> => {
    const { results } = await dkimVerify(raw, {
      resolver: (name) => resolver.resolveTxt(name),
      curTime: new Date(clock.now() + 1000),
    });
    return results.map(({ algo, status }) => `${algo} ${status.result}`).sort();
  };
  return {
    app,
    dns,
    clock,
    id: domain.id as string,
    records: domain.records as ListedRecord[],
    call,
    signingKeys,
    notices,
    sign,
    verified,
    async [Symbol.asyncDispose]() {
      await app[Symbol.asyncDispose]();
      await dns[Symbol.asyncDispose]();
    },
  };
}

function selectorOf(keys: readonly ListedKey[], algorithm: string, slot: string): string {
  return keys.find((key) => key.algorithm === algorithm && key.slot === slot)?.selector ?? '';
}

test('the next key signs, the previous one stays valid, and a new next key is generated', async () => {
  await using setup = await start();
  const { dns, clock, id, call } = setup;
  publishRecords(dns, setup.records);
  const before = await call('POST', `/domains/${id}/verify`);
  expect(before.status).toBe('verified');
  const signedBefore = await setup.sign();
  expect(await setup.verified(signedBefore)).toEqual(['ed25519-sha256 pass', 'rsa-sha256 pass']);

  const after = await call('POST', `/domains/${id}/rotate-dkim`);
  expect(after.status).toBe('verified');
  const was: ListedKey[] = before.dkim_keys;
  const is: ListedKey[] = after.dkim_keys;
  for (const algorithm of ['rsa', 'ed25519']) {
    expect(selectorOf(is, algorithm, 'current')).toBe(selectorOf(was, algorithm, 'next'));
    expect(selectorOf(is, algorithm, 'retired')).toBe(selectorOf(was, algorithm, 'current'));
    expect(was.map(({ selector }) => selector)).not.toContain(selectorOf(is, algorithm, 'next'));
  }
  const signedAfter = await setup.sign();
  expect(signedAfter.toString()).toContain(`s=${selectorOf(is, 'rsa', 'current')};`);
  expect(await setup.verified(signedAfter)).toEqual(['ed25519-sha256 pass', 'rsa-sha256 pass']);
  expect(await setup.verified(signedBefore)).toEqual(['ed25519-sha256 pass', 'rsa-sha256 pass']);

  // Previous keys stay listed so that they are not removed too early, and become optional later.
  const retired = after.records.filter((record: ListedRecord) =>
    is.some(({ selector, slot }) => slot === 'retired' && record.name.startsWith(`${selector}.`)),
  );
  expect(retired.map(({ required }: ListedRecord) => required)).toEqual([false, false]);
  clock.advance(8 * DAY_MS);
  const later = await call('POST', `/domains/${id}/verify`);
  expect(later.dkim_keys.map(({ slot }: ListedKey) => slot)).not.toContain('retired');
  expect(later.status).toBe('verified');
});

test('private keys are deleted when a key is retired', async () => {
  await using setup = await start();
  publishRecords(setup.dns, setup.records);
  await setup.call('POST', `/domains/${setup.id}/rotate-dkim`);
  const { rows } = await setup.app.app.storage.pool.query(
    'select slot, encrypted_private_key is null as gone from domain_keys order by slot',
  );
  expect(rows.map(({ slot, gone }) => `${slot} ${gone}`)).toEqual([
    'current false',
    'current false',
    'next false',
    'next false',
    'retired true',
    'retired true',
  ]);
  const { rows: encrypted } = await setup.app.app.storage.pool.query<{ text: string }>(
    `select encode(encrypted_private_key, 'escape') as text from domain_keys where slot <> 'retired'`,
  );
  for (const { text } of encrypted) expect(text).not.toContain('PRIVATE KEY');
});

test('is rejected until the next key is published', async () => {
  await using setup = await start();
  const { dns, id, call, app } = setup;
  publishRecords(dns, setup.records);
  await call('POST', `/domains/${id}/verify`);
  const first = await call('POST', `/domains/${id}/rotate-dkim`);
  const next = first.records.find(
    (record: ListedRecord) => record.purpose === 'dkim' && record.status === 'pending',
  );
  const rotate = () => app.call('POST', `/domains/${id}/rotate-dkim`, { key: app.liveKey });
  const refused = await rotate();
  expect([refused.status, refused.json.code]).toEqual([409, 'conflict']);
  expect(refused.json.detail).toContain(next.name);
  // An unpublished next key does no harm: the domain keeps sending.
  expect(await call('GET', `/domains/${id}`)).toMatchObject({
    status: 'verified',
    sending_stops_at: null,
  });

  dns.setName(next.name, 'SERVFAIL');
  expect((await rotate()).status).toBe(409);
  dns.setName(next.name, { TXT: [next.value] });
  const second = await rotate();
  expect(second.status).toBe(200);
  expect(selectorOf(second.json.dkim_keys, 'rsa', 'current')).toBe(next.name.split('.')[0]);

  // Its Ed25519 key was never published: only RSA signs.
  const signed = await setup.sign();
  expect(await setup.verified(signed)).toEqual(['rsa-sha256 pass']);
});

test('two concurrent requests make one rotation', async () => {
  await using setup = await start();
  publishRecords(setup.dns, setup.records);
  await setup.call('POST', `/domains/${setup.id}/verify`);
  const rotate = () =>
    setup.app.call('POST', `/domains/${setup.id}/rotate-dkim`, { key: setup.app.liveKey });
  const statuses = (await Promise.all([rotate(), rotate()])).map(({ status }) => status);
  expect(statuses.sort()).toEqual([200, 409]);
});

test('the number of rotations is limited while previous keys are listed; later these are removed', async () => {
  await using setup = await start();
  const { app, clock } = setup;
  await app.app.domains.trust(app.workspaceId, { name: 'shop.test' });
  const { pool } = app.database;
  await pool.query(
    `insert into domain_keys (workspace_id, domain_id, selector, algorithm, slot, dns_value,
       created_at, retired_at)
     select workspace_id, id, 'former' || n, 'rsa', 'retired', 'v=DKIM1; p=', $1, $1
     from domains, generate_series(1, 10) n`,
    [new Date(clock.now())],
  );
  const rotate = () => app.call('POST', `/domains/${setup.id}/rotate-dkim`, { key: app.liveKey });
  const refused = await rotate();
  expect([refused.status, refused.json.code]).toEqual([409, 'conflict']);
  expect(refused.json.detail).toContain('10 times within a week');

  clock.advance(7 * DAY_MS);
  const { status, json } = await rotate();
  expect(status).toBe(200);
  expect(json.dkim_keys.map(({ slot }: ListedKey) => slot).sort()).toEqual([
    'current',
    'current',
    'next',
    'next',
    'retired',
    'retired',
  ]);
  const { rows } = await pool.query(`select from domain_keys where selector like 'former%'`);
  expect(rows).toEqual([]);
});

test('a trusted domain is signed with both keys and rotates without DNS', async () => {
  await using setup = await start();
  const { app } = setup;
  await app.app.domains.trust(app.workspaceId, { name: 'shop.test' });
  const signed = (await setup.sign()).toString();
  expect(signed.match(/a=\S+;/g)?.sort()).toEqual(['a=ed25519-sha256;', 'a=rsa-sha256;']);
  const rotated = await setup.call('POST', `/domains/${setup.id}/rotate-dkim`);
  expect(rotated.status).toBe('verified');
  expect(setup.dns.queries).toEqual([]);
});

test('Ed25519 signs only while its record is published', async () => {
  await using setup = await start();
  const { dns, id, call } = setup;
  publishRecords(
    dns,
    setup.records.filter(({ required }) => required),
  );
  await call('POST', `/domains/${id}/verify`);
  const algorithms = async () => (await setup.sign()).toString().match(/a=\w+-sha256/g);
  expect(await algorithms()).toEqual(['a=rsa-sha256']);
  publishRecords(dns, setup.records);
  await call('POST', `/domains/${id}/verify`);
  expect(await algorithms()).toHaveLength(2);
  const optional = setup.records.filter(({ purpose, required }) => purpose === 'dkim' && !required);
  for (const { name } of optional) dns.setName(name, 'SERVFAIL');
  await call('POST', `/domains/${id}/verify`);
  expect(await algorithms()).toHaveLength(2);
  for (const { name } of optional) dns.remove(name);
  await call('POST', `/domains/${id}/verify`);
  expect(await algorithms()).toEqual(['a=rsa-sha256']);
});

test('delivery learns of changes by notification, and within a second without', async () => {
  await using setup = await start();
  const { app, clock, signingKeys, notices, call, id } = setup;
  const find = () => signingKeys.find(app.workspaceId, 'shop.test');
  expect(await find()).toBeUndefined();
  await app.app.domains.trust(app.workspaceId, { name: 'shop.test' });
  expect(await find()).toBeUndefined();
  signingKeys.invalidateWorkspace(app.workspaceId);
  expect(await find()).toMatchObject({
    tlsRequired: false,
    returnPathHost: 'bounce.shop.test',
    trackingHost: null,
  });
  expect(await find()).toBe(await find());

  await call('PATCH', `/domains/${id}`, { tls: 'required' });
  expect((await find())?.tlsRequired).toBe(false);
  notices.arrive = false;
  clock.advance(1_000);
  expect((await find())?.tlsRequired).toBe(true);

  await app.call('DELETE', `/domains/${id}`, { key: app.liveKey });
  clock.advance(1_000);
  expect(await find()).toBeUndefined();
});

test('with a different SECRET_KEY nothing is signed and nothing is sent', async () => {
  await using setup = await start();
  await setup.app.app.domains.trust(setup.app.workspaceId, { name: 'shop.test' });
  const otherCache = new SigningDomainCache({
    pool: setup.app.app.storage.pool,
    clock: setup.clock,
    encryptor: createEncryptor(Buffer.alloc(32, 1), 'dkim'),
    maxAgeMs: () => 60_000,
  });
  await expect(otherCache.find(setup.app.workspaceId, 'shop.test')).rejects.toThrow();
});

test('several nodes share the verification: each due domain is checked once', async () => {
  await using setup = await start();
  const { app, dns, clock } = setup;
  await using second = await startApp({
    database: app.database,
    clock,
    env: { DNS_SERVERS: dns.address, HELO_NAME: 'mail.postrider.test' },
  });
  expect(second.workspaceId).toBe(app.workspaceId);
  for (let n = 1; n <= 5; n++) await setup.call('POST', '/domains', { name: `d${n}.test` });
  dns.queries.length = 0;
  const looked = async () => {
    const { data } = await setup.call('GET', '/domains');
    return data.every(({ checked_at }: { checked_at: string | null }) => checked_at !== null);
  };
  clock.advance(60_000);
  await until(looked, { clock, stepMs: 100, what: 'all domains are checked' });
  for (let n = 1; n <= 5; n++) {
    const txtQueries = dns.queries.filter(
      ({ name, type }) => name === `_postrider.d${n}.test` && type === 'TXT',
    );
    expect(txtQueries).toHaveLength(1);
  }
});
