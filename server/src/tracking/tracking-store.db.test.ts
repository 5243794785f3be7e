import { expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../test/harness/database/database.ts';
import { enqueue, newWorkspace } from '../../test/harness/database/enqueue-messages.ts';
import { raceForLock } from '../../test/harness/database/row-lock-race.ts';
import { uuidv7 } from '../lib/ids.ts';
import { silentLog } from '../lib/log.ts';
import { systemClock } from '../lib/time/clock.ts';
import { ERASED_ADDRESS } from '../suppressions/erased-address.ts';
import { TrackingRecorder } from './tracking-recorder.ts';
import { recordHits, type TrackingHit } from './tracking-store.ts';

/** Concurrent recording: every writer first waits for the rows of the message. */

async function sentMessages(database: TestDatabase, count: number) {
  const { pool } = database;
  const nowMs = systemClock.now();
  const workspaceId = await newWorkspace(pool, nowMs);
  const messages = Array.from({ length: count }, (_, n) => ({
    workspaceId,
    nowMs,
    recipients: [`jane${n}@example.org`],
  }));
  return { workspaceId, nowMs, ids: await enqueue(pool, messages) };
}

const ALL = { sql: 'select from deliveries for update', values: [] };

async function recordedEvents(database: TestDatabase): Promise<{ type: string; data: object }[]> {
  return (await database.pool.query('select type, data from events order by id')).rows;
}

test('two nodes that receive the same open record it once, without deadlock', async () => {
  await using database = await createTestDatabase();
  const { workspaceId, nowMs, ids } = await sentMessages(database, 3);
  const hit = (messageId: string): TrackingHit => ({
    ...{ workspaceId, mode: 'live', messageId, machine: true, url: null, atMs: nowMs },
    eventId: uuidv7(nowMs),
  });
  const written = await raceForLock({ database }, ALL, [
    () => recordHits(database.pool, ids.map(hit)),
    () => recordHits(database.pool, ids.toReversed().map(hit)),
  ]);
  expect(written.toSorted()).toEqual([0, 3]);
  expect(await recordedEvents(database)).toHaveLength(3);
});

test('an open of an address that is being erased is not recorded', async () => {
  await using database = await createTestDatabase();
  const { workspaceId, nowMs, ids } = await sentMessages(database, 1);
  const [messageId = ''] = ids;
  const hit: TrackingHit = {
    ...{ workspaceId, mode: 'live', messageId, machine: true, url: null, atMs: nowMs },
    eventId: uuidv7(nowMs),
  };
  const erase = {
    sql: 'update deliveries set recipient = $1, recipient_key = $1',
    values: [ERASED_ADDRESS],
  };
  await raceForLock({ database }, erase, [() => recordHits(database.pool, [hit])]);
  expect(await recordedEvents(database)).toEqual([]);
});

test('hits that lose a deadlock are retried and recorded', async () => {
  await using database = await createTestDatabase();
  const { workspaceId, ids } = await sentMessages(database, 2);
  const { pool } = database;
  // PostgreSQL rolls back whichever transaction notices the deadlock first, so a real one could
  // just as well fail the other writer.
  await pool.query(`
    create sequence event_inserts;
    create function fail_first_insert() returns trigger language plpgsql as $$ begin
      if nextval('event_inserts') = 1 then raise exception using errcode = 'deadlock_detected'; end if;
      return new;
    end $$;
    create trigger fail_first_insert before insert on events for each row
      execute function fail_first_insert()`);
  const recorder = new TrackingRecorder({
    pool,
    clock: systemClock,
    log: silentLog,
    onEventsAppended: () => {},
  });
  for (const messageId of ids) {
    recorder.record({ workspaceId, mode: 'live', messageId }, { machine: true });
  }
  await recorder.drained();
  expect(await recordedEvents(database)).toHaveLength(2);
});
