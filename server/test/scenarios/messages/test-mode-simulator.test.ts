import { expect, test } from 'vitest';
import { encodeId } from '../../../src/lib/ids.ts';
import { systemClock } from '../../../src/lib/time/clock.ts';
import { ManualClock } from '../../../src/lib/time/manual-clock.ts';
import { createTestDatabase } from '../../harness/database/database.ts';
import {
  deliveriesOf,
  enqueue,
  eventsOf,
  newWorkspace,
} from '../../harness/database/enqueue-messages.ts';
import { startEngine, until } from '../../harness/delivery/delivery-engine.ts';

/**
 * Each simulator address ends as documented, through the same code as live mail. One message per address goes through
 * the real engine and database; rows, events, attempts and the inbox are compared with a table.
 */

const PARTS: Record<string, { status: string; events: string[]; code: number; reason?: string }> = {
  delivered: { status: 'delivered', events: ['delivered'], code: 250 },
  'delivered+label': { status: 'delivered', events: ['delivered'], code: 250 },
  'somebody-else': { status: 'delivered', events: ['delivered'], code: 250 },
  bounced: { status: 'bounced', events: ['bounced'], code: 550, reason: 'unknown_mailbox' },
  'bounced+again': { status: 'bounced', events: ['bounced'], code: 550, reason: 'unknown_mailbox' },
  'mailbox-full': { status: 'bounced', events: ['bounced'], code: 552, reason: 'mailbox_full' },
  blocked: { status: 'bounced', events: ['bounced'], code: 550, reason: 'blocked_policy' },
  deferred: { status: 'delivered', events: ['deferred', 'deferred', 'delivered'], code: 250 },
  'defer-3': {
    status: 'delivered',
    events: ['deferred', 'deferred', 'deferred', 'delivered'],
    code: 250,
  },
  complained: { status: 'delivered', events: ['delivered', 'complained'], code: 250 },
  'smtp-550-5.7.26': {
    status: 'bounced',
    events: ['bounced'],
    code: 550,
    reason: 'authentication_failed',
  },
};

test('every simulator address ends as documented, with its events in order', async () => {
  await using database = await createTestDatabase();
  const { pool } = database;
  const clock = new ManualClock(systemClock.now());
  const workspaceId = await newWorkspace(pool, clock.now());
  const parts = Object.keys(PARTS);
  const ids = await enqueue(
    pool,
    parts.map((part) => ({
      workspaceId,
      mode: 'test' as const,
      nowMs: clock.now(),
      recipients: [`${part}@simulator.test`],
      tags: ['sign-up'],
      metadata: { order: '7' },
    })),
  );
  await using _engine = startEngine({ url: database.url, clock });
  const open = `select count(*)::int as open from deliveries where finished_at is null`;
  await until(async () => (await pool.query<{ open: number }>(open)).rows[0]?.open === 0, {
    clock,
  });

  const events = await eventsOf(pool, workspaceId);
  for (const [index, part] of parts.entries()) {
    const expected = PARTS[part] as (typeof PARTS)[string];
    const id = ids[index] as string;
    const [delivery] = await deliveriesOf(pool, id);
    const attempts = expected.events.filter((type) => type !== 'complained').length;
    expect.soft(delivery, part).toMatchObject({
      status: expected.status,
      reason: expected.reason ?? null,
      attempts,
      lease: null,
      due_at: null,
      event_sequence: 1 + expected.events.length,
    });
    const messageEvents = events.filter((event) => event.data.message_id === encodeId('msg', id));
    expect
      .soft(
        messageEvents.map((event) => event.type),
        part,
      )
      .toEqual(expected.events.map((type) => `message.${type}`));
    expect
      .soft(
        messageEvents.map((event) => event.sequence),
        part,
      )
      .toEqual(messageEvents.map((_, n) => n + 2));
    expect.soft(messageEvents.at(-1)?.data, part).toMatchObject({
      recipient: `${part}@simulator.test`,
      attempt: attempts,
      tags: ['sign-up'],
      metadata: { order: '7' },
      smtp: { code: expected.code },
    });
    const tried = await pool.query('select number from attempts where message_id = $1', [id]);
    expect.soft(tried.rows, part).toHaveLength(attempts);
    const arrived = await pool.query('select from test_inbox where message_id = $1', [id]);
    expect.soft(arrived.rowCount, part).toBe(expected.status === 'delivered' ? 1 : 0);
  }
  const suppressions = await pool.query('select from suppressions');
  expect(suppressions.rowCount).toBe(0);
  expect(events.some((event) => event.type.startsWith('suppression.'))).toBe(false);
});

test('the suppressed address is never attempted, also when scheduled', async () => {
  await using database = await createTestDatabase();
  const clock = new ManualClock(systemClock.now());
  const workspaceId = await newWorkspace(database.pool, clock.now());
  const [id] = await enqueue(database.pool, [
    {
      workspaceId,
      mode: 'test',
      nowMs: clock.now(),
      status: 'scheduled',
      dueAtMs: clock.now() + 60_000,
      recipients: ['suppressed+x@simulator.test'],
    },
  ]);
  await using _engine = startEngine({ url: database.url, clock });
  await until(async () => (await eventsOf(database.pool, workspaceId)).length > 0, {
    clock,
    stepMs: 5_000,
  });
  const [delivery] = await deliveriesOf(database.pool, id as string);
  expect(delivery).toMatchObject({ status: 'suppressed', reason: 'manual', attempts: 0 });
  const [event] = await eventsOf(database.pool, workspaceId);
  expect(event).toMatchObject({ type: 'message.suppressed', data: { reason: 'manual' } });
});

test('simulation is limited to the simulator domain: the same mailbox elsewhere is delivered', async () => {
  await using database = await createTestDatabase();
  const { pool } = database;
  const clock = new ManualClock(systemClock.now());
  const workspaceId = await newWorkspace(pool, clock.now());
  const nowMs = clock.now();
  await enqueue(pool, [
    { workspaceId, mode: 'test', nowMs, recipients: ['bounced@simulator.test'] },
    { workspaceId, mode: 'test', nowMs, recipients: ['bounced@example.org'] },
  ]);
  await using _engine = startEngine({ url: database.url, clock });
  await until(async () => (await eventsOf(pool, workspaceId)).length >= 2, { clock });
  const types = (await eventsOf(pool, workspaceId)).map((event) => event.type).sort();
  expect(types).toEqual(['message.bounced', 'message.delivered']);
});
