import { expect, test } from 'vitest';
import { parseDatabaseUrl } from '../../../src/db/connections/database-url.ts';
import { openPool } from '../../../src/db/connections/pool.ts';
import { encodeId } from '../../../src/lib/ids.ts';
import { silentLog } from '../../../src/lib/log.ts';
import { ManualClock } from '../../../src/lib/time/manual-clock.ts';
import { WorkspacePurges } from '../../../src/privacy/workspace-purges.ts';
import { startApp, type TestApp, validMessage } from '../../harness/app.ts';
import { databaseEnv, runPostrider } from '../../harness/cli-process.ts';
import { createTestDatabase, type TestDatabase } from '../../harness/database/database.ts';
import { until } from '../../harness/until.ts';
import { startWebhookReceiver } from '../../harness/webhooks/webhook-receiver.ts';

/**
 * Two installations in schemas of one database do not notice each other: servers that start at the same
 * time, sends, the event feed, webhooks, commands and a purge.
 */

const DAY_MS = 86_400_000;
const MESSAGES = 20;

const startIn = (database: TestDatabase, schema: string) =>
  startApp({ database, env: { DATABASE_SCHEMA: schema, WEBHOOK_ALLOW_PRIVATE: 'true' } });

async function send(app: TestApp, count: number): Promise<Set<string>> {
  const sent = await Promise.all(
    Array.from({ length: count }, () =>
      app.call('POST', '/transactional/send', { body: validMessage() }),
    ),
  );
  for (const { status } of sent) expect(status).toBe(202);
  return new Set(sent.map(({ json }) => json.id as string));
}

/** The messages of all delivered events in the feed. */
async function deliveredIn(app: TestApp): Promise<Set<string>> {
  const ids = new Set<string>();
  for (let cursor = ''; ; ) {
    const page = await app.call('GET', `/events?type=message.delivered&limit=100${cursor}`);
    for (const event of page.json.data) ids.add(event.data.message_id);
    if (!page.json.has_more) return ids;
    cursor = `&cursor=${page.json.next_cursor}`;
  }
}

test('two servers in two schemas of one database do not notice each other', async () => {
  await using database = await createTestDatabase({ empty: true });
  await using receiver = await startWebhookReceiver();
  const [east, west] = await Promise.all([startIn(database, 'east'), startIn(database, 'west')]);
  await using _east = east;
  await using _west = west;
  const apps = { east, west };

  for (const [name, app] of Object.entries(apps)) {
    const made = await app.call('POST', '/webhooks', {
      body: { url: `${receiver.url}/${name}`, events: ['message.delivered'] },
    });
    expect(made.status).toBe(201);
  }
  const [sentEast, sentWest] = await Promise.all([send(east, MESSAGES), send(west, MESSAGES)]);
  const sent = { east: sentEast, west: sentWest };
  await until(() => receiver.received.length >= 2 * MESSAGES);
  for (const name of ['east', 'west'] as const) {
    const hooks = receiver.received.filter(({ path }) => path.endsWith(`/${name}`));
    expect(new Set(hooks.map(({ body }) => JSON.parse(body).data.message_id))).toEqual(sent[name]);
    expect(hooks).toHaveLength(MESSAGES);
    expect(await deliveredIn(apps[name])).toEqual(sent[name]);
  }
  const foreign = await west.call('GET', '/events', { key: east.testKey });
  expect(foreign.status).toBe(401);

  // A second node of a schema hears about changes made on the first.
  await using second = await startIn(database, 'east');
  const key = await east.newKey({ mode: 'test' });
  const status = async () => (await second.call('GET', '/events', { key })).status;
  expect(await status()).toBe(200);
  const { json: keys } = await east.call('GET', '/api-keys', { key: east.liveKey });
  const { id } = keys.data.find((one: { token_hint: string }) =>
    key.endsWith(one.token_hint.slice(-4)),
  );
  await east.call('DELETE', `/api-keys/${id}`, { key: east.liveKey });
  await until(async () => (await status()) === 401);

  // Commands work on their schema.
  for (const [schema, app, other] of [
    ['east', east, west],
    ['west', west, east],
  ] as const) {
    const env = { ...databaseEnv(database), DATABASE_SCHEMA: schema };
    const { stdout } = await runPostrider(['workspaces', 'list'], { env });
    expect(stdout).toContain(encodeId('wsp', app.workspaceId));
    expect(stdout).not.toContain(encodeId('wsp', other.workspaceId));
  }

  // The purge of a workspace in one schema leaves the other complete.
  await east.app.workspaces.create('Stays');
  const hosts = parseDatabaseUrl(database.url, { schema: 'east' });
  const pool = openPool({ hosts, log: silentLog });
  try {
    await pool.query(
      `update workspaces set deletion_requested_at = $2, delete_at = $2 where id = $1`,
      [east.workspaceId, new Date()],
    );
    const clock = new ManualClock(Date.now() + DAY_MS);
    const purges = new WorkspacePurges({ pool, clock, log: silentLog });
    const left = 'select from workspaces where id = $1';
    await until(async () => {
      clock.advance(60_000);
      await purges.work();
      return (await pool.query(left, [east.workspaceId])).rowCount === 0;
    });
  } finally {
    await pool.end();
  }
  expect((await east.call('GET', '/events')).status).toBe(401);
  expect(await deliveredIn(west)).toEqual(sent.west);
  expect((await send(west, 1)).size).toBe(1);
}, 180_000);
