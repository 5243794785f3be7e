import { describe, expect, test } from 'vitest';
import { sendLimits } from '../../../src/bootstrap/build-acceptor.ts';
import { readConfig } from '../../../src/config/read-config.ts';
import { silentLog } from '../../../src/lib/log.ts';
import { ContentArchive } from '../../../src/messages/archive/content-archive.ts';
import { MessageChanges } from '../../../src/messages/change-message.ts';
import { deliveriesOf } from '../../harness/database/enqueue-messages.ts';
import { type DeliverySetup, setUpDelivery } from '../../harness/delivery/delivery-setup.ts';

/**
 * Every delivery ends exactly once, on time, with one final event, whatever happens. Receivers never
 * accept, the clock is moved to the limits, and the events are read at the end.
 */

const HOUR = 3_600_000;
const FINAL = ['delivered', 'bounced', 'expired', 'failed', 'suppressed', 'cancelled'];

function finals(events: { type: string }[]): string[] {
  return events
    .map(({ type }) => type.replace('message.', ''))
    .filter((type) => FINAL.includes(type));
}

describe('expiry', () => {
  test('a delivery expires once after 72 hours of deferrals, with growing retry delays', async () => {
    await using setup = await setUpDelivery({ receivers: [{ onRcpt: () => '451 4.3.0 Not now' }] });
    const startMs = setup.clock.now();
    const id = await setup.send();
    const delivery = await setup.waitForFinalStatus(id);
    expect(delivery).toMatchObject({ status: 'expired', reason: 'unknown' });
    const lastedMs = (delivery.finished_at ?? 0) - startMs;
    expect(lastedMs).toBeGreaterThanOrEqual(72 * HOUR);
    expect(lastedMs).toBeLessThan(72 * HOUR + 5 * 60_000);
    const attempts = await setup.attempts(id);
    expect(attempts.length).toBeGreaterThan(18);
    expect(attempts.length).toBeLessThan(35);
    expect(attempts.at(-1)?.started_at).toBeGreaterThanOrEqual(startMs + 72 * HOUR);
    const events = await setup.events();
    expect(finals(events)).toEqual(['expired']);
    expect(events.at(-1)?.data).toMatchObject({ smtp: { code: 451 }, bounce: { class: 'soft' } });
    expect(events.map((event) => event.sequence)).toEqual(events.map((_, n) => n + 2));
  });

  test('ttl_seconds ends a delivery at that moment, not at the next attempt', async () => {
    await using setup = await setUpDelivery({ receivers: [{ onRcpt: () => '451 4.3.0 Not now' }] });
    const startMs = setup.clock.now();
    const id = await setup.send({ ttlSeconds: 100 });
    const [delivery] = await setup.waitForStatus(id);
    expect(delivery?.status).toBe('expired');
    const lastedMs = (delivery?.finished_at ?? 0) - startMs;
    expect(lastedMs).toBeGreaterThanOrEqual(100_000);
    // The clock advances while the outcome is written; the next attempt would be after three minutes.
    expect(lastedMs).toBeLessThan(150_000);
    const deferred = (await setup.events()).filter((event) => event.type === 'message.deferred');
    // There are no more attempts: the next event is the expiry.
    const last = deferred.at(-1)?.data.next_attempt_at;
    expect(Date.parse(String(last))).toBeLessThan(startMs + 104_000);
    expect(finals(await setup.events())).toEqual(['expired']);
  });

  test('an overdue delivery gets one last attempt, unless it has a ttl', async () => {
    await using setup = await setUpDelivery({
      receivers: [{ onRcpt: (to) => (to.includes('late') ? '451 4.3.0 Not now' : undefined) }],
    });
    const asleep = { status: 'deferred' as const, dueAtMs: setup.clock.now() + 100 * HOUR };
    const lastTried = await setup.send(asleep);
    const refused = await setup.send({ ...asleep, recipients: ['late@example.org'] });
    const code = { ttlSeconds: 600, recipients: ['code@example.org'] };
    const worthless = await setup.send({ ...asleep, ...code });
    setup.clock.advance(100 * HOUR);
    expect((await setup.waitForStatus(lastTried))[0]?.status).toBe('delivered');
    expect((await setup.waitForStatus(refused))[0]).toMatchObject({
      status: 'expired',
      attempts: 1,
    });
    expect((await setup.waitForStatus(worthless))[0]).toMatchObject({
      status: 'expired',
      attempts: 0,
    });
    expect(setup.receiver.commands.join()).not.toContain('code@example.org');
    expect(finals(await setup.events()).sort()).toEqual(['delivered', 'expired', 'expired']);
  });

  test('a delivery also expires while it waits for a receiver’s connection limit', async () => {
    let hold = true;
    let release = () => {};
    const held = new Promise<undefined>((resolve) => {
      release = () => resolve(undefined);
    });
    await using setup = await setUpDelivery({
      shaping: { default: { connectionsMax: 1 } },
      receivers: [{ keywords: [], onMessage: () => (hold ? held : undefined) }],
    });
    const first = await setup.send();
    await setup.until(() => setup.receiver.messages.length === 1, 10);
    // The second transaction uses the other slot of the only connection; the third has none.
    await setup.send();
    await setup.until(() => setup.node.engine.stats.inFlight === 2, 10);
    const startMs = setup.clock.now();
    const waiting = await setup.send({ ttlSeconds: 30, recipients: ['late@example.org'] });
    await setup.until(() => setup.node.engine.stats.ready === 1, 10);
    const [ended] = await setup.waitForStatus(waiting);
    expect(ended).toMatchObject({ status: 'expired', attempts: 0, lease: null, due_at: null });
    const lastedMs = (ended?.finished_at ?? 0) - startMs;
    expect(lastedMs).toBeGreaterThanOrEqual(30_000);
    expect(lastedMs).toBeLessThan(60_000);
    // It has left the list too: its expiry is the only event, now and later.
    expect(setup.node.engine.stats.ready).toBe(0);
    const endEvents = async () =>
      (await setup.events()).filter(({ data }) => data.recipient === 'late@example.org');
    expect(await endEvents()).toMatchObject([
      { type: 'message.expired', sequence: 2, data: { attempt: 0 } },
    ]);
    hold = false;
    release();
    expect((await setup.waitForStatus(first))[0]?.status).toBe('delivered');
    await setup.until(() => setup.node.engine.stats.inFlight === 0);
    expect(await endEvents()).toHaveLength(1);
    expect(await setup.attempts(waiting)).toEqual([]);
    expect(setup.receiver.commands.join()).not.toContain('late@example.org');
  });
});

describe('a scheduled message', () => {
  test('starts within a second of its time, and not before', async () => {
    await using setup = await setUpDelivery();
    const dueAtMs = setup.clock.now() + 10 * 60_000;
    const id = await setup.send({ status: 'scheduled', dueAtMs });
    await setup.until(() => setup.clock.now() >= dueAtMs - 2_000, 5_000);
    expect(setup.receiver.sessions).toHaveLength(0);
    await setup.until(async () => (await setup.attempts(id)).length > 0, 20);
    const [attempt] = await setup.attempts(id);
    const lateMs = (attempt?.started_at ?? 0) - dueAtMs;
    expect(lateMs).toBeGreaterThanOrEqual(0);
    expect(lateMs).toBeLessThan(1_000);
    // The Date header is the scheduled time: filters distrust mail that seems days old.
    const [mail] = setup.receiver.messages;
    const dated = /^Date: (.*)\r\n/m.exec(mail?.raw.toString('latin1') ?? '')?.[1] ?? '';
    expect(Date.parse(dated)).toBe(Math.floor(dueAtMs / 1000) * 1000);
  });

  test('is checked against suppressions again when it is due', async () => {
    await using setup = await setUpDelivery();
    const id = await setup.send({ status: 'scheduled', dueAtMs: setup.clock.now() + 60_000 });
    await setup.database.pool.query(
      `insert into suppressions (workspace_id, mode, key, id, email, reason, created_at)
       values ($1, 'live', '@example.org', $1, null, 'unsubscribe', '2026-01-01')`,
      [setup.workspaceId],
    );
    expect((await setup.waitForStatus(id))[0]).toMatchObject({
      status: 'suppressed',
      reason: 'unsubscribe',
      attempts: 0,
    });
    expect(setup.receiver.sessions).toHaveLength(0);
    expect(finals(await setup.events())).toEqual(['suppressed']);
  });
});

describe('cancellation', () => {
  test('cancels queued deliveries, but not one in progress', async () => {
    let release = () => {};
    const held = new Promise<undefined>((resolve) => {
      release = () => resolve(undefined);
    });
    await using setup = await setUpDelivery({
      shaping: { default: { connectionsMax: 1 } },
      receivers: [{ keywords: [], onMessage: () => held }],
    });
    const { engine } = setup.node;
    const inFlight = await setup.send();
    await setup.until(() => setup.receiver.messages.length === 1, 10);
    await setup.send();
    await setup.until(() => engine.stats.inFlight === 2, 10);
    const waiting = await setup.send();
    await setup.until(() => engine.stats.ready === 1, 10);
    expect(await engine.withdraw(setup.workspaceId, 'live', inFlight)).toBe(false);
    expect(await engine.withdraw(setup.workspaceId, 'test', waiting)).toBe(false);
    expect(await engine.withdraw(setup.workspaceId, 'live', waiting)).toBe(true);
    expect(engine.stats.ready).toBe(0);
    expect(await engine.withdraw(setup.workspaceId, 'live', waiting)).toBe(false);
    release();
    await setup.waitForStatus(inFlight);
    expect(setup.receiver.messages.length).toBeLessThanOrEqual(2);
  });

  test('is rejected while another node is delivering a part of the message', async () => {
    let release = () => {};
    const held = new Promise<undefined>((resolve) => {
      release = () => resolve(undefined);
    });
    await using setup = await setUpDelivery({
      shaping: { default: { connectionsMax: 1 } },
      receivers: [{ keywords: [], onMessage: () => held }],
    });
    const { clock, node } = setup;
    const { pool } = setup.database;
    await setup.send();
    await setup.until(() => setup.receiver.messages.length === 1, 10);
    await setup.send();
    await setup.until(() => node.engine.stats.inFlight === 2, 10);
    const recipients = ['here@example.org', 'there@example.org'];
    const id = await setup.send({ status: 'deferred', dueAtMs: clock.now() + 60_000, recipients });
    await pool.query('update deliveries set lease = 8 where message_id = $1 and ordinal = 1', [id]);
    await pool.query('update deliveries set due_at = $2 where message_id = $1 and ordinal = 0', [
      id,
      new Date(clock.now()).toISOString(),
    ]);
    await setup.until(() => node.engine.stats.ready === 1, 10);
    const changes = new MessageChanges({
      pool,
      clock,
      limits: sendLimits(readConfig({})),
      handoff: node.engine,
      contents: new ContentArchive({ pool, clock, log: silentLog, bucket: undefined }),
    });
    const scope = { workspaceId: setup.workspaceId, mode: 'live' } as const;
    await expect(changes.cancel(scope, id)).rejects.toMatchObject({ code: 'not_cancellable' });
    expect(node.engine.stats.ready).toBe(1);
    expect((await deliveriesOf(pool, id)).map(({ status }) => status)).toEqual([
      'queued',
      'deferred',
    ]);
    // Its node has finished the attempt: now it can be cancelled.
    await pool.query('update deliveries set lease = null where message_id = $1 and ordinal = 1', [
      id,
    ]);
    await changes.cancel(scope, id);
    expect((await deliveriesOf(pool, id)).map(({ status }) => status)).toEqual([
      'cancelled',
      'cancelled',
    ]);
    release();
  });

  test('during a content read leaves no content in memory', async () => {
    await using setup = await setUpDelivery();
    const { engine } = setup.node;
    const id = await setup.send({ status: 'scheduled', dueAtMs: setup.clock.now() + 60_000 });
    const client = await setup.database.pool.connect();
    await client.query('begin; lock table message_contents in access exclusive mode');
    await setup.until(() => engine.stats.inFlight === 1);
    await setup.until(async () => (await readsThatWait(setup)) === 1, 10);
    expect(await engine.withdraw(setup.workspaceId, 'live', id)).toBe(true);
    await client.query('rollback');
    client.release();
    await setup.until(() => engine.stats.inFlight === 0, 10);
    expect(engine.stats.contentBytes).toBe(0);
    expect(setup.receiver.messages).toHaveLength(0);
  });
});

async function readsThatWait(setup: DeliverySetup): Promise<number> {
  const { rows } = await setup.database.pool.query<{ waiting: number }>(
    `select count(*)::int as waiting from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`,
  );
  return rows[0]?.waiting ?? 0;
}

describe('a message that cannot be sent', () => {
  test('fails without a connection if the sender domain was deleted', async () => {
    await using setup = await setUpDelivery({
      senders: { settingsFor: async () => undefined, keysFor: async () => [] },
    });
    const id = await setup.send();
    expect((await setup.waitForStatus(id))[0]).toMatchObject({
      status: 'failed',
      reason: 'sender_domain_lost',
    });
    expect(setup.receiver.sessions).toHaveLength(0);
    expect(finals(await setup.events())).toEqual(['failed']);
  });

  test('is deferred while it cannot be signed, and is never sent unsigned', async () => {
    let broken = true;
    await using setup = await setUpDelivery();
    const { testSenders } = await import('../../harness/delivery/signed-live-route.ts');
    const good = testSenders();
    await using unable = await setUpDelivery({
      senders: {
        ...good,
        keysFor: async (workspaceId, domain) => {
          if (broken) throw new Error('the vault is closed');
          return good.keysFor(workspaceId, domain);
        },
      },
    });
    const id = await unable.send();
    await unable.waitForStatus(id, 'deferred');
    expect(unable.receiver.sessions).toHaveLength(0);
    expect((await unable.attempts(id))[0]?.bounce?.explanation).toContain('could not be signed');
    broken = false;
    expect((await unable.waitForStatus(id))[0]?.status).toBe('delivered');
    expect(unable.receiver.messages[0]?.raw.toString()).toMatch(/^DKIM-Signature:/);
    expect(setup.receiver.sessions).toHaveLength(0);
  });

  test('fails if its content is no longer stored', async () => {
    await using setup = await setUpDelivery();
    const dueAtMs = setup.clock.now() + 60_000;
    const id = await setup.send({ status: 'scheduled', dueAtMs });
    await setup.database.pool.query('delete from message_contents where id = $1', [id]);
    expect((await setup.waitForStatus(id))[0]).toMatchObject({
      status: 'failed',
      reason: 'content_gone',
    });
  });
});
