import { expect, test } from 'vitest';
import { systemClock } from '../../../src/lib/time/clock.ts';
import { ManualClock } from '../../../src/lib/time/manual-clock.ts';
import { startApp, type TestApp, validMessage } from '../../harness/app.ts';
import { type EventState, eventsOf } from '../../harness/database/enqueue-messages.ts';
import { until } from '../../harness/delivery/delivery-engine.ts';
import { createEventCheck } from '../../harness/http/event-schemas.ts';
import { type ScriptedDnsServer, startDnsServer } from '../../harness/smtp/dns-server.ts';
import { type ListedRecord, publishRecords } from '../../harness/smtp/publish-dns-records.ts';

/**
 * A verified domain whose record disappears is degraded immediately, with an event; it keeps sending for
 * the grace period, then stops, and recovers automatically. A DNS failure changes nothing. The whole
 * server runs on a manual clock with a scripted DNS server and its own background verification.
 */

const HOUR_MS = 3_600_000;

interface TestSetup extends AsyncDisposable {
  app: TestApp;
  dns: ScriptedDnsServer;
  clock: ManualClock;
  domain: { id: string; records: ListedRecord[] };
  record(purpose: string, slot?: number): ListedRecord;
  read(): Promise<Seen>;
  verify(): Promise<Seen>;
  /** Reads the events table: the feed may be slightly behind. */
  events(): Promise<EventState[]>;
  send(): Promise<number>;
  /** Advances the clock from one background check to the next until the condition is met. */
  passUntil(status: string): Promise<void>;
}

interface Seen {
  status: string;
  sending_stops_at: string | null;
  checked_at: string;
  next_check_at: string;
  records: ListedRecord[];
}

async function verifiedDomain(): Promise<TestSetup> {
  const dns = await startDnsServer();
  const clock = new ManualClock(systemClock.now());
  const app = await startApp({
    clock,
    env: { DNS_SERVERS: dns.address, HELO_NAME: 'mail.postrider.test' },
  });
  const call = (method: string, path: string, body?: unknown) =>
    app.call(method, path, { key: app.liveKey, ...(body === undefined ? {} : { body }) });
  const domain = (await call('POST', '/domains', { name: 'shop.test' })).json;
  publishRecords(dns, domain.records);
  const setup: TestSetup = {
    app,
    dns,
    clock,
    domain,
    record: (purpose, slot = 0) =>
      domain.records.filter((one: ListedRecord) => one.purpose === purpose)[slot],
    read: async () => (await call('GET', `/domains/${domain.id}`)).json,
    verify: async () => (await call('POST', `/domains/${domain.id}/verify`)).json,
    events: async () =>
      (await eventsOf(app.database.pool, app.workspaceId)).filter(({ type }) =>
        /^domain/.test(type),
      ),
    send: async () => {
      const body = validMessage({ from: { email: 'hello@shop.test' } });
      return (await call('POST', '/transactional/send', body)).status;
    },
    async passUntil(status) {
      for (let seen = await setup.read(); seen.status !== status; seen = await setup.read()) {
        const { checked_at, next_check_at } = seen;
        clock.advance(Math.max(0, Date.parse(next_check_at) - clock.now()));
        // Small steps: DNS timeouts are measured on this clock too.
        await until(async () => (await setup.read()).checked_at !== checked_at, {
          clock,
          stepMs: 200,
          what: 'the server checks again',
        });
      }
    },
    async [Symbol.asyncDispose]() {
      await app[Symbol.asyncDispose]();
      await dns[Symbol.asyncDispose]();
    },
  };
  expect((await setup.verify()).status).toBe('verified');
  return setup;
}

test('degraded immediately, sending for three days, then stopped, then recovered', async () => {
  await using setup = await verifiedDomain();
  const record = setup.record('return_path_spf');
  setup.dns.set(record.name, 'TXT', []);

  const lostAtMs = setup.clock.now();
  const nextCheckAtMs = Date.parse((await setup.read()).next_check_at);
  expect(nextCheckAtMs - lostAtMs).toBeLessThanOrEqual(24 * HOUR_MS);
  await setup.passUntil('degraded');
  const { sending_stops_at } = await setup.read();
  const stopsAtMs = Date.parse(sending_stops_at as string);
  expect(stopsAtMs - lostAtMs).toBeGreaterThan(72 * HOUR_MS);
  const lastEvent = (await setup.events()).at(-1);
  expect(lastEvent).toMatchObject({
    type: 'domain.degraded',
    data: {
      domain: { name: 'shop.test', status: 'degraded' },
      sending_stops_at,
      records: [{ purpose: 'return_path_spf', name: record.name, status: 'missing' }],
    },
  });
  expect(await setup.send()).toBe(202);

  setup.clock.advance(stopsAtMs - setup.clock.now() - HOUR_MS / 2);
  expect(await setup.verify()).toMatchObject({
    status: 'degraded',
    next_check_at: sending_stops_at,
  });
  expect(await setup.send()).toBe(202);

  await setup.passUntil('failed');
  expect(setup.clock.now()).toBeGreaterThanOrEqual(stopsAtMs);
  await until(async () => (await setup.send()) === 403, { what: 'sends are rejected' });
  expect((await setup.events()).at(-1)).toMatchObject({
    type: 'domain.degraded',
    data: { domain: { status: 'failed' }, sending_stops_at: null },
  });

  publishRecords(setup.dns, [record]);
  await setup.passUntil('verified');
  await until(async () => (await setup.send()) === 202, { what: 'sends are accepted again' });
  expect((await setup.events()).map(({ type }) => type)).toEqual([
    'domain.verified',
    'domain.degraded',
    'domain.degraded',
    'domain.verified',
  ]);
  const check = await createEventCheck(setup.app.url);
  const { json } = await setup.app.call('GET', '/events?type=domain.*', { key: setup.app.liveKey });
  for (const event of json.data) check(event);
});

test('a record that returns in time ends the degradation', async () => {
  await using setup = await verifiedDomain();
  const record = setup.record('ownership');
  setup.dns.remove(record.name);
  expect((await setup.verify()).status).toBe('degraded');
  setup.clock.advance(71 * HOUR_MS);
  publishRecords(setup.dns, [record]);
  expect(await setup.verify()).toMatchObject({ status: 'verified', sending_stops_at: null });

  // The next loss gets the full grace period again.
  setup.dns.remove(record.name);
  const { status, sending_stops_at } = await setup.verify();
  expect(status).toBe('degraded');
  expect(Date.parse(sending_stops_at as string)).toBe(setup.clock.now() + 72 * HOUR_MS);
});

test('each missing record is reported, and the first one starts the grace period', async () => {
  await using setup = await verifiedDomain();
  setup.dns.remove(setup.record('dkim').name);
  const first = await setup.verify();
  setup.clock.advance(HOUR_MS);
  setup.dns.remove(setup.record('ownership').name);
  const second = await setup.verify();
  expect(second.sending_stops_at).toBe(first.sending_stops_at);
  setup.clock.advance(HOUR_MS);
  expect((await setup.verify()).status).toBe('degraded');
  const lastEvent = (await setup.events()).slice(1);
  expect(lastEvent.map(({ data }) => (data.records as unknown[]).length)).toEqual([1, 2]);
});

test('without its next key a domain is degraded but keeps sending', async () => {
  await using setup = await verifiedDomain();
  setup.dns.remove(setup.record('dkim', 1).name);
  expect(await setup.verify()).toMatchObject({ status: 'degraded', sending_stops_at: null });
  setup.clock.advance(100 * HOUR_MS);
  expect((await setup.verify()).status).toBe('degraded');
  expect(await setup.send()).toBe(202);
});

test('optional records may come and go', async () => {
  await using setup = await verifiedDomain();
  setup.dns.remove(setup.record('dmarc').name);
  setup.dns.remove(setup.record('dkim', 2).name);
  expect((await setup.verify()).status).toBe('verified');
});

test('a DNS failure is not a missing record', async () => {
  await using setup = await verifiedDomain();
  for (const { name } of setup.domain.records) setup.dns.setName(name, 'SERVFAIL');
  const unsure = await setup.verify();
  expect(unsure.status).toBe('verified');
  expect(unsure.records.map(({ status }) => status)).toEqual(
    unsure.records.map(() => 'lookup_failed'),
  );
  expect(unsure.records[0]?.mistakes).toMatchObject([{ code: 'lookup_failed' }]);
  setup.clock.advance(100 * HOUR_MS);
  expect((await setup.verify()).status).toBe('verified');
  expect(await setup.events()).toHaveLength(1);

  // It does not end a grace period early or verify an unverified domain either.
  for (const { name } of setup.domain.records) setup.dns.remove(name);
  publishRecords(setup.dns, setup.domain.records);
  setup.dns.remove(setup.record('ownership').name);
  expect((await setup.verify()).status).toBe('degraded');
  for (const { name } of setup.domain.records) setup.dns.setName(name, 'SERVFAIL');
  setup.clock.advance(100 * HOUR_MS);
  expect((await setup.verify()).status).toBe('degraded');
  for (const { name } of setup.domain.records) setup.dns.remove(name);
  expect((await setup.verify()).status).toBe('failed');
  for (const { name } of setup.domain.records) setup.dns.setName(name, 'SERVFAIL');
  expect((await setup.verify()).status).toBe('failed');
});

test('a check dated by a wrong clock does not block the next check', async () => {
  await using setup = await verifiedDomain();
  const year = new Date(setup.clock.now() + 365 * 24 * HOUR_MS);
  await setup.app.database.pool.query('update domains set checked_at = $1', [year]);
  setup.dns.remove(setup.record('ownership').name);
  const seen = await setup.verify();
  expect(seen).toMatchObject({
    status: 'degraded',
    checked_at: new Date(setup.clock.now()).toISOString(),
  });
});

test('a next check scheduled too late by a wrong clock is ignored', async () => {
  await using setup = await verifiedDomain();
  const year = new Date(setup.clock.now() + 365 * 24 * HOUR_MS);
  await setup.app.database.pool.query('update domains set checked_at = $1, check_due_at = $1', [
    year,
  ]);
  setup.dns.remove(setup.record('ownership').name);
  await until(async () => (await setup.read()).status === 'degraded', {
    clock: setup.clock,
    stepMs: 200,
    what: 'the background check runs',
  });
  expect(Date.parse((await setup.read()).next_check_at)).toBeLessThan(
    setup.clock.now() + 2 * HOUR_MS,
  );
});

test('a new domain is not verified while a DNS lookup fails', async () => {
  await using setup = await verifiedDomain();
  const { app, dns } = setup;
  const added = await app.call('POST', '/domains', {
    key: app.liveKey,
    body: { name: 'new.test' },
  });
  publishRecords(dns, added.json.records);
  const owner = added.json.records[0] as ListedRecord;
  dns.setName(owner.name, 'SERVFAIL');
  const path = `/domains/${added.json.id}/verify`;
  const unsure = (await app.call('POST', path, { key: app.liveKey })).json;
  expect([unsure.status, unsure.records[0].status]).toEqual(['pending', 'lookup_failed']);
  dns.setName(owner.name, { TXT: [owner.value] });
  expect((await app.call('POST', path, { key: app.liveKey })).json.status).toBe('verified');
});
