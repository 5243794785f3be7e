import { expect, test } from 'vitest';
import { dropExpired, ensurePartitions } from '../../../src/db/schema/partitions.ts';
import { createTestDatabase } from '../../harness/database/database.ts';
import { startDatabaseProxy } from '../../harness/database/database-proxy.ts';
import { letter, RECEIVING, startInboundServer } from '../../harness/smtp/inbound-setup.ts';
import { until } from '../../harness/until.ts';

/**
 * A mail that was answered with 250 is stored, and one that was not is transmitted again and stored once.
 * It is kept as long as the operator chose, and no longer than its sender allows.
 */

const DAY_MS = 86_400_000;

test('while the database is down, senders are asked to try again', async () => {
  await using database = await createTestDatabase();
  await using way = await startDatabaseProxy(database.url);
  await using server = await startInboundServer({ database: { ...database, url: way.url } });
  const to = `a@${RECEIVING}`;
  const mail = letter({ subject: 'Later' });
  expect((await server.deliver(to, letter({ subject: 'Before' }))).code).toBe(250);
  await way.disconnect();
  expect((await server.deliver(to, mail)).code).toBe(451);
  await way.reconnect();
  await until(async () => (await server.deliver(to, mail)).code === 250);
  const found = await server.list();
  expect(found.map(({ subject }: { subject: string }) => subject)).toEqual(['Later', 'Before']);
});

test('a commit whose result is lost is followed by a retry that stores nothing', async () => {
  await using database = await createTestDatabase();
  await using way = await startDatabaseProxy(database.url);
  await using server = await startInboundServer({ database: { ...database, url: way.url } });
  const to = `a@${RECEIVING}`;
  const mail = letter({ subject: 'Once' });
  const count = async () =>
    (await database.pool.query('select from inbound_messages')).rowCount ?? 0;
  // The transaction waits in its commit, so that only the response to the commit is lost.
  await database.pool.query(`create function wait_in_commit() returns trigger language plpgsql as $$
    begin perform pg_advisory_xact_lock(4711); return null; end $$;
    do $$ declare part regclass; begin
      for part in select inhrelid::regclass from pg_inherits where inhparent = 'inbound_messages'::regclass
      loop execute format('create constraint trigger wait_in_commit after insert on %s
        deferrable initially deferred for each row execute function wait_in_commit()', part);
      end loop; end $$`);
  const blocker = await database.pool.connect();
  await blocker.query('begin; select pg_advisory_xact_lock(4711)');
  const first = server.deliver(to, mail);
  await until(async () => {
    const { rowCount } = await blocker.query('select from pg_locks where not granted');
    return (rowCount ?? 0) > 0;
  });
  way.dropResponses();
  await blocker.query('rollback');
  blocker.release();
  await until(async () => (await count()) === 1);
  await way.disconnect();
  await way.reconnect();
  expect((await first).code).toBe(451);
  await until(async () => (await server.deliver(to, mail)).code === 250);
  expect((await server.deliver(to, mail)).code).toBe(250);
  expect(await count()).toBe(1);
  const events = await database.pool.query(
    `select from events where type = 'inbound_message.received'`,
  );
  expect(events.rowCount).toBe(1);
});

test('an erasure deletes mail from the address and to it, and empties its events', async () => {
  await using server = await startInboundServer();
  const { app } = server;
  const to = `a@${RECEIVING}`;
  const about = (subject: string) =>
    letter({ subject, header: 'Cc: "Ann Smith" <Ann.Smith@gone.test>\n' });
  const from = letter({ subject: 'From Ann' }).replace(
    /"Jane Doe" <.*>/,
    'Ann <ann.smith@GONE.test>',
  );
  await server.deliver(to, from, 'ann.smith@gone.test');
  await server.deliver(to, about('To Ann'));
  await server.deliver(to, letter({ subject: 'Bounce' }), 'Ann.Smith@gone.test');
  await server.deliver(to, letter({ subject: 'Other' }));
  const erased = await app.call('DELETE', '/contacts/ann.smith@gone.test?erase=true', {
    key: app.liveKey,
  });
  expect(erased.json).toMatchObject({ status: 'finished', messages: 3, events: 3 });
  const left = await server.list();
  expect(left.map(({ subject }: { subject: string }) => subject)).toEqual(['Other']);
  const { pool } = app.database;
  for (const table of ['inbound_messages', 'inbound_contents', 'inbound_addresses', 'events']) {
    const found = await pool.query(`select from ${table} t where row_to_json(t)::text ~* $1`, [
      'ann|smith|From Ann',
    ]);
    expect([table, found.rowCount]).toEqual([table, 0]);
  }
  const { json } = await app.call('GET', '/events?type=inbound_message.*', { key: app.liveKey });
  expect(json.data).toHaveLength(4);
});

test('content expires before the message, and the message with other records', async () => {
  await using server = await startInboundServer();
  const { app } = server;
  const { pool } = app.database;
  await server.deliver(`a@${RECEIVING}`, letter({ subject: 'Kept' }));
  const [{ id }] = await server.list();
  const retention = { recordDays: 90, contentDays: 30, webhookDays: 30, auditDays: 365 };
  const after = async (days: number) => {
    const nowMs = Date.now() + days * DAY_MS;
    await ensurePartitions(pool, nowMs);
    await dropExpired(pool, nowMs, retention);
    return await app.call('GET', `/inbound-messages/${id}`, { key: app.liveKey });
  };
  expect((await after(29)).json.text).toBe('Hi there.');
  const without = await after(32);
  expect(without.json).toMatchObject({ subject: 'Kept', text: null, html: null, headers: [] });
  const raw = await app.call('GET', `/inbound-messages/${id}/raw`, { key: app.liveKey });
  expect(raw.status).toBe(404);
  expect((await after(98)).status).toBe(404);
});

test('a deleted message is gone with its content, and its event stays', async () => {
  await using server = await startInboundServer();
  const { app } = server;
  await server.deliver([`a@${RECEIVING}`], letter({ subject: 'Gone' }));
  const [{ id }] = await server.list();
  const remove = () => app.call('DELETE', `/inbound-messages/${id}`, { key: app.liveKey });
  expect([(await remove()).status, (await remove()).status]).toEqual([204, 404]);
  for (const table of ['inbound_messages', 'inbound_contents', 'inbound_addresses']) {
    expect((await app.database.pool.query(`select from ${table}`)).rowCount).toBe(0);
  }
  const { json } = await app.call('GET', '/events?type=inbound_message.*', { key: app.liveKey });
  expect(json.data).toHaveLength(1);
});

test('a workspace that gets too much mail is throttled, and others are not', async () => {
  await using server = await startInboundServer({ inbound: { perSecond: 0.01, burst: 2 } });
  const codes: number[] = [];
  for (const n of [1, 2, 3]) {
    codes.push((await server.deliver(`a@${RECEIVING}`, letter({ subject: `${n}` }))).code);
  }
  expect(codes).toEqual([250, 250, 451]);
  expect((await server.deliver('a@desk.example.com', letter())).code).toBe(250);
});
