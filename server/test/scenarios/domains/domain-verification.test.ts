import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { uuidv7 } from '../../../src/lib/ids.ts';
import { systemClock } from '../../../src/lib/time/clock.ts';
import { ManualClock } from '../../../src/lib/time/manual-clock.ts';
import { parseMailbox } from '../../../src/mail/address.ts';
import { returnPathFor } from '../../../src/mail/return-path-address.ts';
import { startApp, type TestApp, validMessage } from '../../harness/app.ts';
import { until } from '../../harness/delivery/delivery-engine.ts';
import { type ScriptedDnsServer, startDnsServer } from '../../harness/smtp/dns-server.ts';
import { type ListedRecord, publishRecords } from '../../harness/smtp/publish-dns-records.ts';

/**
 * After adding a domain, the API shows which records to publish, which were found and what is wrong with
 * them, until the domain may send. The whole server runs with a scripted DNS server as the owner's zone.
 */

let dns: ScriptedDnsServer;
let app: TestApp;
const clock = new ManualClock(systemClock.now());

beforeAll(async () => {
  dns = await startDnsServer();
  app = await startApp({
    clock,
    env: {
      DNS_SERVERS: dns.address,
      HELO_NAME: 'mail.postrider.test',
      SPF_MECHANISM: 'include:spf.postrider.test',
    },
  });
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await dns[Symbol.asyncDispose]();
});

const call = (method: string, path: string, body?: unknown) =>
  app.call(method, path, { key: app.liveKey, ...(body === undefined ? {} : { body }) });

async function add(name: string, more: object = {}) {
  const { status, json } = await call('POST', '/domains', { name, ...more });
  expect(json).toMatchObject({ name, status: 'pending', trusted: false });
  expect(status).toBe(201);
  return json as { id: string; records: ListedRecord[]; [field: string]: unknown };
}

async function verify(id: string) {
  const { status, json } = await call('POST', `/domains/${id}/verify`);
  expect(status).toBe(200);
  return json;
}

async function domainEvents(name: string): Promise<{ type: string }[]> {
  const { json } = await call('GET', '/events?type=domain.*&limit=100');
  return json.data.filter((event: { data: { domain: { name: string } } }) => {
    return event.data.domain.name === name;
  });
}

test('the domain of a mailbox provider is refused with the reason', async () => {
  for (const name of ['gmail.com', 'mail.Outlook.com']) {
    const { status, json } = await call('POST', '/domains', { name });
    expect(status).toBe(422);
    expect(json.errors[0].pointer).toBe('/name');
    expect(json.errors[0].detail).toContain('Add a domain that you own.');
  }
  expect((await call('GET', '/domains?q=mail')).json.data).toEqual([]);
});

test('the zone of a domain names its DNS provider', async () => {
  const domain = await add('shop.zone.test');
  const zone = () => call('GET', `/domains/${domain.id}/dns-zone`);
  expect((await zone()).json).toEqual({ zone: null, name_servers: [], provider: null });
  dns.set('zone.test', 'NS', ['ns51.domaincontrol.com', 'ns52.domaincontrol.com']);
  expect((await zone()).json).toEqual({
    zone: 'zone.test',
    name_servers: ['ns51.domaincontrol.com', 'ns52.domaincontrol.com'],
    provider: 'godaddy',
  });
  const missing = await call('GET', '/domains/dom_01kc8x3f7ye6qvj2m4n5p6q7r8/dns-zone');
  expect(missing.status).toBe(404);
});

test('each published record is found, and the last one enables sending', async () => {
  const domain = await add('green.test');
  expect(domain.records.map(({ purpose, type, required }) => [purpose, type, required])).toEqual([
    ['ownership', 'TXT', true],
    ['dkim', 'TXT', true],
    ['dkim', 'TXT', true],
    ['dkim', 'TXT', false],
    ['dkim', 'TXT', false],
    ['return_path', 'MX', true],
    ['return_path_spf', 'TXT', true],
    ['dmarc', 'TXT', false],
  ]);
  expect(domain.records.every(({ status }) => status === 'pending')).toBe(true);
  expect(domain).toMatchObject({
    return_path_host: 'bounce.green.test',
    tracking_host: null,
    tls: 'opportunistic',
    tracking: { opens: false, clicks: false },
    verified_at: null,
    checked_at: null,
    dkim_keys: [
      { algorithm: 'rsa', slot: 'current' },
      { algorithm: 'rsa', slot: 'next' },
      { algorithm: 'ed25519', slot: 'current' },
      { algorithm: 'ed25519', slot: 'next' },
    ],
  });
  expect(JSON.stringify(domain)).not.toContain('PRIVATE');

  const send = () =>
    call('POST', '/transactional/send', validMessage({ from: { email: 'hello@green.test' } }));
  const required = domain.records.filter((record) => record.required);
  for (const record of required) {
    expect((await send()).json.code).toBe('domain_not_verified');
    const before = await verify(domain.id);
    expect(before.status).toBe('pending');
    expect(statusOf(before.records, record)).toBe('missing');
    publishRecords(dns, [record]);
    const after = await verify(domain.id);
    expect(statusOf(after.records, record)).toBe('found');
    expect(after.status).toBe(record === required.at(-1) ? 'verified' : 'pending');
  }
  const { json } = await call('GET', `/domains/${domain.id}`);
  expect(json.verified_at).toBe(new Date(clock.now()).toISOString());
  await until(async () => (await domainEvents('green.test')).length > 0, {
    what: 'the event is reported',
  });
  expect(await domainEvents('green.test')).toMatchObject([
    { type: 'domain.verified', mode: 'live', data: { domain: { status: 'verified' } } },
  ]);
  await until(async () => (await send()).status === 202, { what: 'caches forget' });
});

function statusOf(records: readonly ListedRecord[], wanted: ListedRecord): string | undefined {
  return records.find(({ name, value }) => name === wanted.name && value === wanted.value)?.status;
}

test('a zone with invalid UTF-8 does not block sending', async () => {
  const domain = await add('odd.test', { tracking_host: 'links.odd.test' });
  publishRecords(dns, domain.records);
  const dmarc = domain.records.find(({ purpose }) => purpose === 'dmarc') as ListedRecord;
  dns.set(dmarc.name, 'TXT', [`v=DMARC1; p=none; x=\0${'😀'.repeat(1500)}`]);
  const seen = await verify(domain.id);
  expect(seen.status).toBe('verified');
  const body = validMessage({ from: { email: 'hello@odd.test' } });
  expect((await call('POST', '/transactional/send', body)).status).toBe(202);

  // The text is part of an event too, and events are searchable.
  dns.set(dmarc.name.replace('_dmarc', '_postrider'), 'TXT', ['postrider-verification=\0']);
  expect((await verify(domain.id)).status).toBe('degraded');
  const found = await call('GET', '/events?recipient=nobody@odd.test');
  expect([found.status, found.json.data]).toEqual([200, []]);
});

test('a tracking host that is set later is checked soon', async () => {
  const domain = await add('later.test');
  publishRecords(dns, domain.records);
  const before = await verify(domain.id);
  expect(Date.parse(before.next_check_at) - clock.now()).toBeGreaterThan(3_600_000);
  const tls = await call('PATCH', `/domains/${domain.id}`, { tls: 'required' });
  expect(tls.json.next_check_at).toBe(before.next_check_at);
  const change = { tracking_host: 'links.later.test' };
  const changed = await call('PATCH', `/domains/${domain.id}`, change);
  expect(Date.parse(changed.json.next_check_at) - clock.now()).toBeLessThanOrEqual(60_000);
});

test('records are checked automatically', async () => {
  const domain = await add('waiting.test');
  publishRecords(dns, domain.records);
  await until(async () => (await call('GET', `/domains/${domain.id}`)).json.status === 'verified', {
    clock,
    stepMs: 500,
    what: 'the background check finds the records',
  });
});

describe('common mistakes are reported', () => {
  type Spoil = (record: ListedRecord, domain: string) => void;
  const cases: [string, string, Spoil, string][] = [
    [
      'a name with the domain appended twice',
      'ownership',
      ({ name, value }, domain) => dns.set(`${name}.${domain}`, 'TXT', [value]),
      'name_doubled',
    ],
    [
      'quotes in the value',
      'dkim',
      ({ name, value }) => dns.set(name, 'TXT', [`"${value}"`]),
      'quotes_in_value',
    ],
    [
      'a value truncated at 255 characters',
      'dkim',
      ({ name, value }) => dns.set(name, 'TXT', [value.slice(0, 255)]),
      'value_cut_off',
    ],
    [
      'a value split into two records',
      'dkim',
      ({ name, value }) => dns.set(name, 'TXT', [value.slice(0, 200), value.slice(200)]),
      'split_into_records',
    ],
    [
      'two SPF records',
      'return_path_spf',
      ({ name, value }) => dns.set(name, 'TXT', [value, 'v=spf1 mx -all']),
      'several_records',
    ],
    [
      'another bounce host',
      'return_path',
      ({ name }) => dns.set(name, 'MX', ['10 mx.elsewhere.test']),
      'other_mx',
    ],
    [
      'a CNAME instead of records',
      'return_path',
      ({ name }) => dns.set(name, 'CNAME', 'elsewhere.test'),
      'cname_in_the_way',
    ],
    [
      'an obsolete DMARC tag',
      'dmarc',
      ({ name }) => dns.set(name, 'TXT', ['v=DMARC1; p=none; pct=50']),
      'obsolete_tag',
    ],
  ];

  test.each(cases)('%s', async (what, purpose, spoil, code) => {
    const name = `${what.replaceAll(/\W+/g, '-').toLowerCase()}.test`;
    const domain = await add(name);
    const record = domain.records.find((one) => one.purpose === purpose) as ListedRecord;
    spoil(record, name);
    const seen = (await verify(domain.id)).records.find(
      (one: ListedRecord) => one.purpose === purpose,
    );
    expect(seen.mistakes.map((mistake: { code: string }) => mistake.code)).toContain(code);
    expect(seen.mistakes[0].detail.length).toBeGreaterThan(20);
    // The stored result is the returned one.
    const kept = (await call('GET', `/domains/${domain.id}`)).json.records;
    expect(kept.find((one: ListedRecord) => one.purpose === purpose)).toEqual(seen);
  });
});

describe('a domain', () => {
  test('allows changes to mutable fields only', async () => {
    const { id } = await add('changed.test', { tls: 'required', tracking: { opens: true } });
    const change = {
      tls: 'opportunistic',
      tracking: { clicks: true },
      tracking_host: 'go.changed.test',
    };
    const { json } = await call('PATCH', `/domains/${id}`, change);
    expect(json).toMatchObject({
      tls: 'opportunistic',
      tracking: { opens: true, clicks: true },
      tracking_host: 'go.changed.test',
    });
    expect(json.records.at(-1)).toMatchObject({
      purpose: 'tracking',
      type: 'CNAME',
      name: 'go.changed.test',
      value: 'postrider.test',
      required: false,
    });
    const kept = await call('PATCH', `/domains/${id}`, { tls: 'required' });
    expect(kept.json.tracking_host).toBe('go.changed.test');
    const off = await call('PATCH', `/domains/${id}`, { tracking_host: null });
    expect(off.json.tracking_host).toBeNull();
    expect((await call('PATCH', `/domains/${id}`, { name: 'other.test' })).status).toBe(422);
  });

  test.each([
    [{ name: 'localhost' }, '/name'],
    [{ name: 'exa mple.test' }, '/name'],
    [{ name: nameOf(195) }, '/name'],
    [{ name: 'host.test', return_path_host: nameOf(202, '.host.test') }, '/return_path_host'],
    [{ name: 'host.test', return_path_host: 'bounce.elsewhere.test' }, '/return_path_host'],
    [{ name: 'host.test', return_path_host: 'host.test' }, '/return_path_host'],
    [{ name: 'host.test', tracking_host: 'bounce.host.test' }, '/tracking_host'],
    [{ name: 'host.test', status: 'verified' }, '/status'],
    [{ name: 'host.test', trusted: true }, '/trusted'],
  ])('with %j is rejected', async (body, pointer) => {
    const { status, json } = await call('POST', '/domains', body);
    expect(status).toBe(422);
    expect(json.errors[0].pointer).toBe(pointer);
  });

  test.each(['https://shop.test/', 'hello@shop.test'])(
    'with the name %s asks for the name alone',
    async (name) => {
      const { json } = await call('POST', '/domains', { name });
      expect(json.errors[0].detail).toContain('Give the domain name alone');
    },
  );

  test('with the longest possible name has a valid return path', async () => {
    const { return_path_host } = await add(nameOf(194));
    const delivery = {
      workspaceId: uuidv7(clock.now()),
      messageId: uuidv7(clock.now()),
      ordinal: 1,
    };
    const path = returnPathFor(delivery, String(return_path_host), randomBytes(32));
    expect(parseMailbox(path)).toMatchObject({ ok: true });
    expect(path).toHaveLength(254);
  });

  test('exists once per workspace, in any spelling', async () => {
    const { name } = await add('xn--bcher-kva.test');
    expect(name).toBe('xn--bcher-kva.test');
    for (const written of ['Bücher.test', 'XN--BCHER-KVA.TEST']) {
      const { status, json } = await call('POST', '/domains', { name: written });
      expect([status, json.code]).toEqual([409, 'conflict']);
    }
  });

  test('can be deleted and added again with new records', async () => {
    const first = await add('again.test');
    expect((await call('DELETE', `/domains/${first.id}`)).status).toBe(204);
    expect((await call('GET', `/domains/${first.id}`)).status).toBe(404);
    expect((await call('DELETE', `/domains/${first.id}`)).status).toBe(404);
    const second = await add('again.test');
    expect(second.records[0]?.value).not.toBe(first.records[0]?.value);
    expect(second.records[1]?.name).not.toBe(first.records[1]?.name);
  });

  test('is listed newest first, page by page', async () => {
    const names = ['page-1.test', 'page-2.test', 'page-3.test'];
    for (const name of names) await add(name);
    const first = (await call('GET', '/domains?limit=2')).json;
    expect(first.data.map((one: { name: string }) => one.name)).toEqual([
      'page-3.test',
      'page-2.test',
    ]);
    const next = (await call('GET', `/domains?limit=1&cursor=${first.next_cursor}`)).json;
    expect(next.data[0]).toMatchObject({ name: 'page-1.test' });
    expect(next.data[0].records).toHaveLength(8);
  });

  test('is readable with test keys, and changed with live keys only', async () => {
    const { id } = await add('both-modes.test');
    const seen = await app.call('GET', `/domains/${id}`);
    expect(seen.json).toMatchObject({ id, name: 'both-modes.test' });
    const writes: [string, string, unknown][] = [
      ['POST', '/domains', { name: 'test-key.test' }],
      ['PATCH', `/domains/${id}`, { tls: 'required' }],
      ['POST', `/domains/${id}/verify`, undefined],
      ['POST', `/domains/${id}/rotate-dkim`, undefined],
      ['DELETE', `/domains/${id}`, undefined],
    ];
    for (const [method, path, body] of writes) {
      const { status, json } = await app.call(method, path, { key: app.testKey, body });
      expect([path, status, json.code]).toEqual([path, 403, 'wrong_mode']);
    }
    expect((await call('GET', `/domains/${id}`)).json).toMatchObject({ tls: 'opportunistic' });
  });
});

/** A domain name of this length in octets. */
function nameOf(octets: number, end = '.test'): string {
  const start = `${'a'.repeat(60)}.`.repeat(3);
  return `${start}${'b'.repeat(octets - start.length - end.length)}${end}`;
}
