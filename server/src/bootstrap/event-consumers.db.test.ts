import { expect, test } from 'vitest';
import { createTestDatabase } from '../../test/harness/database/database.ts';
import { until } from '../../test/harness/until.ts';
import { announceMove } from '../accounts/workspace-move-store.ts';
import { readConfig } from '../config/read-config.ts';
import { parseDatabaseUrl } from '../db/connections/database-url.ts';
import { listen } from '../db/connections/listen.ts';
import { openStorage } from '../db/open-storage.ts';
import { EventNotifier } from '../events/event-notifier.ts';
import { appendEvents } from '../events/events-store.ts';
import { uuidv7 } from '../lib/ids.ts';
import { silentLog as log } from '../lib/log.ts';
import { ManualClock } from '../lib/time/manual-clock.ts';
import { MailParser } from '../mail/mime/mail-parser.ts';
import { createEventConsumers } from './event-consumers.ts';

test('when a workspace is about to move, counts that are held for others are written', async () => {
  await using database = await createTestDatabase();
  const { pool } = database;
  const clock = new ManualClock(Date.now());
  const config = readConfig({ DATABASE_URL: database.url, SECRET_KEY: 'x'.repeat(32) });
  const hosts = parseDatabaseUrl(database.url);
  await using storage = await openStorage({
    ...config.storage,
    allowUnsafe: true,
    secretKey: Buffer.alloc(32),
    log,
    holder: 'command',
  });
  await using notifications = listen({ hosts, log });
  await notifications.ready;
  const notifier = new EventNotifier({ clock, notifyNodes: async () => {} });
  const mailParser = new MailParser(clock);
  const parts = { storage, notifications, notifier, clock, log, config, mailParser };
  const consumers = createEventConsumers(parts);
  // Called after the handlers of the consumers, which subscribed first.
  const moves: string[] = [];
  notifications.on('moves', (workspaceId) => moves.push(workspaceId));

  const workspaces = Array.from({ length: 2_500 }, () => uuidv7(Date.now()).replace(/..$/, 'ff'));
  const atMs = Math.floor(Date.now() / 86_400_000) * 86_400_000;
  const append = async () => {
    const shared = { mode: 'live', type: 'message.failed', data: { tags: [] }, atMs } as const;
    await appendEvents(
      pool,
      workspaces.map((workspaceId) => ({ ...shared, workspaceId })),
    );
    await until(async () => {
      const { rowCount } = await pool.query(
        'select from events where tx >= event_log_horizon() limit 1',
      );
      return rowCount === 0;
    });
  };
  const readOf = async (): Promise<number> => {
    const { rows } = await pool.query(`select count(*)::int as n
      from event_consumers c join events e on (e.tx, e.id) <= (c.tx, c.id)
     where c.name = 'statistics'`);
    return rows[0]?.n;
  };
  const failed = async (): Promise<number> => {
    const { rows } = await pool.query(
      'select coalesce(sum(failed), 0)::int as n from statistics_appended',
    );
    return rows[0]?.n;
  };
  // More than a batch each time, so that the statistics hold what they have counted.
  await append();
  consumers.start();
  clock.advance(1_000);
  await until(async () => (await readOf()) === 2_500);
  await append();
  notifier.publish();
  clock.advance(1_000);
  await until(async () => (await readOf()) === 5_000);
  expect(await failed()).toBe(0);

  await append();
  const [moving = ''] = workspaces;
  await announceMove(pool, moving);
  await until(() => moves.includes(moving));
  clock.advance(1_000);
  await until(async () => (await failed()) === 7_500);
  await consumers.stop(1_000);
});
