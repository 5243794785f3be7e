import { describe, expect, test } from 'vitest';
import { sqlTime } from '../../../src/db/schema/row-types.ts';
import { EVENT_LOG_START } from '../../../src/events/events-store.ts';
import { readFeed } from '../../../src/events/feed-store.ts';
import { setUpDelivery } from '../../harness/delivery/delivery-setup.ts';
import { expectSigned } from '../../harness/delivery/signed-live-route.ts';
import { HANG_UP, SILENCE } from '../../harness/smtp/smtp-receiver.ts';

/**
 * Whatever a domain's mail servers do, a message is attempted at the allowed servers, one attempt at a
 * time, and each result is recorded with an explanation. Scripted receivers run on real sockets; the tests
 * read the received bytes and the recorded attempts.
 */

describe('the text of a reply', () => {
  test('may be truncated within a character, and its event is still found', async () => {
    const replyText = `${'x'.repeat(1023)}\u{1f600}`;
    await using setup = await setUpDelivery({ receivers: [{ onRcpt: () => `550 ${replyText}` }] });
    const id = await setup.send();
    expect((await setup.waitForStatus(id))[0]?.status).toBe('bounced');
    const scope = { workspaceId: setup.workspaceId, mode: 'live' } as const;
    const filter = { recipient: 'jane@example.org' };
    const { events } = await readFeed(setup.database.pool, scope, EVENT_LOG_START, 10, filter);
    expect(events.map(({ type }) => type)).toContain('message.bounced');
  });
});

describe('server selection', () => {
  test('first MX down: the second gets it in the same attempt', async () => {
    await using setup = await setUpDelivery({ receivers: [{}, {}] });
    await setup.receiver.close();
    const id = await setup.send();
    expect((await setup.waitForStatus(id))[0]).toMatchObject({ status: 'delivered', attempts: 1 });
    expect(setup.receivers[1]?.messages).toHaveLength(1);
    const [attempt] = await setup.attempts(id);
    expect(attempt?.smtp?.mx).toBe('mx2.example.test');
    expect(attempt?.transcript).toMatch(/connecting to mx1[\s\S]*connecting to mx2/);
  });

  test('first MX greets with 554: the second is tried', async () => {
    await using setup = await setUpDelivery({ receivers: [{ onConnect: () => '554 No' }, {}] });
    const id = await setup.send();
    expect((await setup.waitForStatus(id))[0]).toMatchObject({ status: 'delivered', attempts: 1 });
  });

  test('all MX down: deferred, and delivered when one is back', async () => {
    await using setup = await setUpDelivery({ receivers: [{}, {}] });
    const [first, second] = setup.receivers;
    await first?.close();
    await second?.close();
    const id = await setup.send();
    await setup.waitForStatus(id, 'deferred');
    const [failed] = await setup.attempts(id);
    expect(failed?.bounce).toMatchObject({ class: 'soft', reason: 'network_unreachable' });
    await second?.listen();
    expect((await setup.waitForStatus(id))[0]?.status).toBe('delivered');
    expect(second?.messages).toHaveLength(1);
    const events = (await setup.events()).map((event) => event.type);
    expect(events.at(-1)).toBe('message.delivered');
    expect(events.filter((type) => type === 'message.deferred').length).toBeGreaterThan(0);
  });

  test('an MX that is this server is a loop, detected by greeting or address', async () => {
    await using byName = await setUpDelivery({
      receivers: [{ onEhlo: () => '250 mail.sender.test' }],
    });
    const id = await byName.send();
    expect((await byName.waitForStatus(id))[0]).toMatchObject({
      status: 'bounced',
      reason: 'protocol_error',
    });
    expect(byName.receiver.messages).toHaveLength(0);
    await using byAddress = await setUpDelivery({ isOwnAddress: (ip) => ip === '127.0.0.1' });
    const other = await byAddress.send();
    expect((await byAddress.waitForStatus(other))[0]).toMatchObject({ status: 'bounced' });
    expect(byAddress.receiver.sessions).toHaveLength(0);
  });
});

describe('failures during a session', () => {
  test('greylisted, then delivered after about a minute', async () => {
    let requestCount = 0;
    await using setup = await setUpDelivery({
      receivers: [{ onRcpt: () => (++requestCount === 1 ? '451 4.7.1 Greylisted' : undefined) }],
    });
    const id = await setup.send();
    expect((await setup.waitForStatus(id))[0]).toMatchObject({ status: 'delivered', attempts: 2 });
    const [first, second] = await setup.attempts(id);
    expect(first).toMatchObject({ outcome: 'deferred', bounce: { reason: 'greylisted' } });
    const waitedMs = (second?.started_at ?? 0) - (first?.finished_at ?? 0);
    expect(waitedMs).toBeGreaterThanOrEqual(48_000);
    expect(waitedMs).toBeLessThan(80_000);
    const deferred = (await setup.events()).find((event) => event.type === 'message.deferred');
    expect(deferred?.data.next_attempt_at).toMatch(/^\d{4}-\d\d-\d\dT/);
  });

  test('a receiver that allows one connection: all messages use it', async () => {
    const gate = Promise.withResolvers<undefined>();
    let held = 0;
    const isOnlyOne = () => setup.receiver.sessions.every(({ closed }) => closed);
    await using setup = await setUpDelivery({
      receivers: [
        {
          onConnect: () => (isOnlyOne() ? undefined : '421 4.7.0 Too many connections'),
          onMessage: () => {
            held += 1;
            return held === 1 ? undefined : gate.promise;
          },
        },
      ],
    });
    await setup.waitForStatus(await setup.send());
    const ids: string[] = [];
    for (let n = 0; n < 12; n++) ids.push(await setup.send({ recipients: [`u${n}@example.org`] }));
    await setup.until(() => held === 2, 10);
    const beganAtMs = setup.clock.now();
    await setup.until(() => setup.clock.now() > beganAtMs + 20_000, 100);
    gate.resolve(undefined);
    for (const id of ids) {
      const [state] = await setup.waitForStatus(id);
      expect(state).toMatchObject({ status: 'delivered', attempts: 1 });
    }
    expect(setup.receiver.sessions.length).toBeLessThanOrEqual(4);
  });

  test('one of two connections is refused before the other is greeted: nothing is deferred', async () => {
    const refused = Promise.withResolvers<undefined>();
    let connections = 0;
    await using setup = await setUpDelivery({
      receivers: [
        {
          onConnect: () => {
            connections += 1;
            if (connections === 2) return refused.promise;
            return connections === 3 ? '421 4.7.0 Too many connections' : undefined;
          },
        },
      ],
    });
    // A known receiver gets several connections, and the first one does not outlive the others.
    await setup.waitForStatus(await setup.send());
    await setup.until(() => setup.receiver.sessions[0]?.closed ?? false, 10_000);
    const ids: string[] = [];
    for (let n = 0; n < 4; n++) ids.push(await setup.send({ recipients: [`u${n}@example.org`] }));
    await setup.until(() => setup.receiver.sessions[2]?.closed ?? false, 10);
    refused.resolve(undefined);
    for (const id of ids) {
      expect((await setup.waitForStatus(id))[0]).toMatchObject({
        status: 'delivered',
        attempts: 1,
      });
    }
    expect(connections).toBe(3);
  });

  test('421 during a session: the remaining messages use a new connection immediately', async () => {
    let count = 0;
    await using setup = await setUpDelivery({
      receivers: [{ onMail: () => (++count === 3 ? '421 4.7.0 Enough for now' : undefined) }],
    });
    const ids = await Promise.all([
      setup.send(),
      setup.send(),
      setup.send(),
      setup.send(),
      setup.send(),
    ]);
    for (const id of ids) expect((await setup.waitForStatus(id))[0]?.status).toBe('delivered');
    expect(setup.receiver.messages).toHaveLength(5);
    expect(setup.receiver.violations).toEqual([]);
  });

  test('disconnect during DATA: retried with the same bytes and the same signature', async () => {
    let dropped = false;
    await using setup = await setUpDelivery({
      receivers: [
        {
          onDataBytes: () => {
            if (dropped) return undefined;
            dropped = true;
            return HANG_UP;
          },
        },
      ],
    });
    const id = await setup.send({ html: `<p>${'long '.repeat(60_000)}</p>` });
    expect((await setup.waitForStatus(id))[0]).toMatchObject({ status: 'delivered', attempts: 2 });
    const [first] = await setup.attempts(id);
    expect(first?.bounce?.reason).toBe('connection_lost');
    expect(setup.receiver.messages.filter((mail) => mail.accepted)).toHaveLength(1);
    await expectSigned(setup.receiver.messages.at(-1)?.raw as Buffer);
  });

  test('the reply to the final dot is lost: recorded as ambiguous, sent again unchanged', async () => {
    let lost = false;
    await using setup = await setUpDelivery({
      receivers: [
        {
          onMessage: () => {
            if (lost) return undefined;
            lost = true;
            return HANG_UP;
          },
        },
      ],
    });
    const id = await setup.send();
    expect((await setup.waitForStatus(id))[0]).toMatchObject({ status: 'delivered', attempts: 2 });
    const [first] = await setup.attempts(id);
    expect(first).toMatchObject({ outcome: 'deferred', bounce: { reason: 'connection_lost' } });
    expect(first?.bounce?.explanation).toContain('may have arrived');
    const [one, two] = setup.receiver.messages.map((mail) => mail.raw);
    expect(one && two && one.equals(two)).toBe(true);
    await expectSigned(two as Buffer);
    const { rows } = await setup.database.pool.query('select signature from message_contents');
    expect(rows[0].signature).toMatch(/^DKIM-Signature:/);
  });

  test('a tarpit times out and does not delay other receivers', async () => {
    await using setup = await setUpDelivery({
      receivers: [{ onConnect: () => SILENCE }, {}],
      dns: {
        'slow.example': { MX: ['10 mx1.example.test'] },
        'quick.example': { MX: ['10 mx2.example.test'] },
      },
    });
    const slow = await setup.send({ recipients: ['a@slow.example'] });
    await setup.until(() => setup.receiver.sessions.length > 0, 10);
    const quick = await setup.send({ recipients: ['b@quick.example'] });
    await setup.until(() => setup.receivers[1]?.messages.length === 1, 10);
    expect((await setup.waitForStatus(quick))[0]?.status).toBe('delivered');
    await setup.until(async () => (await setup.attempts(slow)).length > 0, 10_000);
    expect((await setup.attempts(slow))[0]?.bounce).toMatchObject({ reason: 'timed_out' });
  });

  test('replies sent byte by byte and replies with many lines are understood', async () => {
    await using setup = await setUpDelivery({
      receivers: [{ oneByteAtATime: true, onConnect: () => '220-one\n220-two\n220 three' }],
    });
    const id = await setup.send();
    expect((await setup.waitForStatus(id))[0]?.status).toBe('delivered');
  });

  test('a receiver that sends one byte per second gets its message, with a renewed lease', async () => {
    await using setup = await setUpDelivery({ receivers: [{ oneByteAtATime: true }] });
    const { clock, receiver } = setup;
    receiver.script.beforeEachByte = () =>
      new Promise((resolve) => {
        clock.after(1_000, resolve);
      });
    const startMs = clock.now();
    const id = await setup.send();
    expect((await setup.waitForStatus(id))[0]).toMatchObject({ status: 'delivered', attempts: 1 });
    // Longer than a lease: without renewal the delivery would be considered lost.
    expect(clock.now() - startMs).toBeGreaterThan(150_000);
    expect(receiver.sessions).toHaveLength(1);
    expect(setup.node.engine.stats.leasesLost).toBe(0);
  });

  test('a receiver that exceeds the timeouts of the RFC is disconnected and retried', async () => {
    await using setup = await setUpDelivery({
      receivers: [{ oneByteAtATime: true, onRcpt: () => `250 2.1.5 ${'so slow '.repeat(60)}` }],
    });
    const { clock, receiver } = setup;
    receiver.script.beforeEachByte = () =>
      new Promise((resolve) => {
        clock.after(1_000, resolve);
      });
    const id = await setup.send();
    await setup.until(async () => (await setup.attempts(id)).length > 0);
    const [first] = await setup.attempts(id);
    expect(first).toMatchObject({ outcome: 'deferred', bounce: { reason: 'timed_out' } });
    delete receiver.script.onRcpt;
    expect((await setup.waitForStatus(id))[0]).toMatchObject({ status: 'delivered', attempts: 2 });
  });

  test('an invalid reply defers the message, and the attempt says so', async () => {
    await using setup = await setUpDelivery({
      receivers: [{ onRcpt: () => Buffer.from('hello?\r\n') }],
    });
    const id = await setup.send();
    await setup.waitForStatus(id, 'deferred');
    expect((await setup.attempts(id))[0]?.bounce).toMatchObject({ reason: 'protocol_error' });
  });
});

describe('recipients are independent', () => {
  test('one of three rejected: the others get it in one transaction, and only one bounces', async () => {
    await using setup = await setUpDelivery({
      receivers: [{ onRcpt: (to) => (to.startsWith('no') ? '550 5.1.1 No such user' : undefined) }],
    });
    const id = await setup.send({
      recipients: ['a@example.org', 'no@example.org', 'c@example.org'],
    });
    const states = await setup.waitForStatus(id);
    expect(states.map((state) => state.status)).toEqual(['delivered', 'bounced', 'delivered']);
    expect(setup.receiver.messages).toHaveLength(1);
    expect(setup.receiver.messages[0]?.recipients).toEqual(['a@example.org', 'c@example.org']);
    const suppressed = await setup.database.pool.query(
      'select key, reason, evidence from suppressions',
    );
    expect(suppressed.rows).toEqual([
      {
        key: 'no@example.org',
        reason: 'hard_bounce',
        evidence: expect.objectContaining({ smtp: expect.objectContaining({ enhanced: '5.1.1' }) }),
      },
    ]);
    const created = (await setup.events()).filter((event) => event.type === 'suppression.created');
    expect(created).toHaveLength(1);
  });

  test('a nonexistent mailbox stays suppressed even if a temporary suppression existed', async () => {
    await using setup = await setUpDelivery({
      receivers: [
        {
          onRcpt: async () => {
            await setup.database.pool.query(
              `insert into suppressions (workspace_id, mode, key, id, email, reason, note, created_at, expires_at)
               values ($1, 'live', 'jane@example.org', $1, 'jane@example.org', 'manual', 'A while', $2, $3)`,
              [
                setup.workspaceId,
                sqlTime(setup.clock.now()),
                sqlTime(setup.clock.now() + 3_600_000),
              ],
            );
            return '550 5.1.1 No such user';
          },
        },
      ],
    });
    const id = await setup.send({ recipients: ['jane@example.org'] });
    expect(await setup.waitForStatus(id)).toMatchObject([{ status: 'bounced' }]);
    const { rows } = await setup.database.pool.query(
      'select id, reason, note, expires_at, evidence is not null as proved from suppressions',
    );
    const entry = { id: setup.workspaceId, reason: 'hard_bounce', note: 'A while', proved: true };
    expect(rows).toEqual([{ ...entry, expires_at: null }]);
    const types = (await setup.events()).map(({ type }) => type);
    expect(types).not.toContain('suppression.created');
  });

  test('recipients at several domains are delivered to their own servers', async () => {
    await using setup = await setUpDelivery({
      receivers: [{}, {}],
      dns: { 'other.example': { MX: ['10 mx2.example.test'] } },
    });
    const id = await setup.send({ recipients: ['a@example.org', 'b@other.example'] });
    const states = await setup.waitForStatus(id);
    expect(states.map((state) => state.status)).toEqual(['delivered', 'delivered']);
    expect(setup.receivers.map((one) => one.messages.length)).toEqual([1, 1]);
  });
});
