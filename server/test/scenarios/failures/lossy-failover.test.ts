import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { openPool, type Pool } from '../../../src/db/connections/pool.ts';
import {
  type EmbeddedPostgres,
  startEmbedded,
} from '../../../src/db/embedded/embedded-postgres.ts';
import { migrate } from '../../../src/db/schema/migrate.ts';
import { ensurePartitions } from '../../../src/db/schema/partitions.ts';
import { appendEvents, EVENT_LOG_START } from '../../../src/events/events-store.ts';
import { readFeed } from '../../../src/events/feed-store.ts';
import { createLog, silentLog } from '../../../src/lib/log.ts';
import { systemClock } from '../../../src/lib/time/clock.ts';
import { newWorkspace } from '../../harness/database/enqueue-messages.ts';
import { createTempDir } from '../../harness/temp-dir.ts';

/**
 * A standby is promoted that had not received the last commits of its primary. Its transaction ids
 * repeat those of the lost commits, which readers have already seen. The standby is a copy of the data
 * folder from before those commits, and its recovery ends on a new timeline, as a promotion does.
 */

const clock = systemClock;
const SETTINGS = { fsync: 'off', shared_buffers: '16MB', restore_command: 'false' };

const startPostgres = (dataDir: string) =>
  startEmbedded({ dataDir, log: silentLog, settings: SETTINGS });

function open({ connection }: EmbeddedPostgres, lines: string[] = []): Pool {
  const log = createLog({ level: 'warn', destination: { write: (line) => lines.push(line) } });
  return openPool({ hosts: [connection], log, max: 4 });
}

async function happens(pool: Pool, workspaceId: string, key: string): Promise<void> {
  const data = { template: { key, version: 1 } };
  const event = { workspaceId, mode: 'live', type: 'template.published' } as const;
  await appendEvents(pool, [{ ...event, atMs: clock.now(), data }]);
}

test('after a promotion that lost commits, readers miss no new event', async () => {
  await using folder = await createTempDir();
  const [primaryDir, standbyDir] = ['primary', 'standby'].map((name) =>
    path.join(folder.path, name),
  ) as [string, string];
  const primary = await startPostgres(primaryDir);
  const before = open(primary);
  await migrate(before, silentLog);
  await ensurePartitions(before, clock.now());
  const workspaceId = await newWorkspace(before, clock.now());
  const scope = { workspaceId, mode: 'live' } as const;
  await happens(before, workspaceId, 'kept');
  await before.end();
  await primary.stop();
  execFileSync('cp', ['-a', primaryDir, standbyDir]);
  writeFileSync(path.join(standbyDir, 'postgres', 'recovery.signal'), '');

  const again = await startPostgres(primaryDir);
  const ahead = open(again);
  for (let n = 0; n < 50; n++) await happens(ahead, workspaceId, `lost ${n}`);
  const seen = await readFeed(ahead, scope, EVENT_LOG_START, 100);
  expect(seen.events).toHaveLength(51);
  await ahead.end();
  await again.stop();

  await using promoted = await startPostgres(standbyDir);
  const lines: string[] = [];
  const pool = open(promoted, lines);
  const keys = ['one', 'two', 'three', 'four'];
  await Promise.all(keys.map((key) => happens(pool, workspaceId, key)));
  const { events } = await readFeed(pool, scope, seen.next, 100);
  expect(events.map(({ data }) => (data.template as { key: string }).key).sort()).toEqual(
    keys.sort(),
  );
  const all = await readFeed(pool, scope, EVENT_LOG_START, 100);
  expect(all.events).toHaveLength(5);

  // Raised once, however many connections found the new timeline, and not by a restart.
  const offset = async () =>
    (
      await pool.query<{ offset: number }>(
        'select event_log_horizon() - pg_snapshot_xmin(pg_current_snapshot())::text::bigint as "offset"',
      )
    ).rows[0]?.offset;
  expect(await offset()).toBe(2 ** 30);
  await migrate(pool, silentLog);
  expect(await offset()).toBe(2 ** 30);
  expect(lines.map((line) => JSON.parse(line).msg)).toEqual([
    'database was promoted; event log numbering continues',
  ]);
  await pool.end();
});
