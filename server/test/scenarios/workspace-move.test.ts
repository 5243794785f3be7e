import { execFile } from 'node:child_process';
import { expect, test } from 'vitest';
import { parseDatabaseUrl } from '../../src/db/database-url.ts';
import { openPool } from '../../src/db/pool.ts';
import { encodeId } from '../../src/lib/ids.ts';
import { silentLog } from '../../src/lib/log.ts';
import type { MoveStep } from '../../src/privacy/workspace-move.ts';
import { startApp, type TestApp, type TestAppOptions, validMessage } from '../harness/app.ts';
import { childProgram } from '../harness/child-programs.ts';
import { databaseEnv, runPostrider } from '../harness/cli-process.ts';
import { createPerson, SessionClient } from '../harness/dashboard-session.ts';
import { createTestDatabase, type TestDatabase } from '../harness/database.ts';
import { mailboxRoute } from '../harness/mailbox-route.ts';
import { until } from '../harness/until.ts';
import { startWebhookReceiver } from '../harness/webhook-receiver.ts';

/**
 * A workspace moves between two installations. However often the move is killed, no message and no
 * webhook is lost or sent twice, and a reader of the event feed continues with its cursor.
 */

const STEPS: readonly MoveStep[] = [
  'numbered',
  'arriving',
  'copied',
  'consumed',
  'leaving',
  'verified',
  'activated',
  'purging',
];

const startIn = (database: TestDatabase, schema: string, options: TestAppOptions = {}) =>
  startApp({
    ...options,
    database,
    env: { DATABASE_SCHEMA: schema, WEBHOOK_ALLOW_PRIVATE: 'true', ...options.env },
  });

/** Resolves with what it printed; null if it was killed. */
function runMove(args: readonly string[]): Promise<string | null> {
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [childProgram('workspace-move-main'), ...args], (error, stdout) => {
      if (!error) resolve(stdout);
      else if (error.signal === 'SIGKILL') resolve(null);
      else reject(error);
    });
  });
}

async function readFeed(app: TestApp, key: string, start: string) {
  const ids: string[] = [];
  for (let cursor = start; ; ) {
    const query = cursor === '' ? '' : `&cursor=${cursor}`;
    const { status, json } = await app.call('GET', `/events?order=asc&limit=100${query}`, { key });
    expect(status).toBe(200);
    for (const event of json.data) ids.push(event.id);
    cursor = json.next_cursor;
    if (!json.has_more) return { ids, cursor };
  }
}

test('a workspace moves while its mover is killed after every step', async () => {
  await using database = await createTestDatabase({ empty: true });
  await using receiver = await startWebhookReceiver({ answer: () => ({ status: 503 }) });
  const closed = mailboxRoute();
  const open = mailboxRoute();
  let key: string;
  let id: string;
  let feed: Awaited<ReturnType<typeof readFeed>>;
  const sent = new Set<string>();
  {
    await using source = await startIn(database, 'source', { liveRoute: closed });
    id = source.workspaceId;
    await source.app.domains.trust(id, { name: 'example.org' });
    await createPerson(source, 'both@owners.example', 'owner');
    await createPerson(source, 'only@owners.example', 'admin');
    await database.pool.query('update source.people set is_instance_owner = true');
    key = source.liveKey;
    const hook = await source.call('POST', '/webhooks', {
      key,
      body: { url: receiver.url, events: ['message.*'] },
    });
    expect(hook.status).toBe(201);
    const send = async (changes: object) => {
      const { status, json } = await source.call('POST', '/transactional/send', {
        key,
        body: validMessage(changes as Record<string, unknown>),
      });
      expect(status).toBe(202);
      return json.id as string;
    };
    for (let n = 0; n < 5; n += 1) sent.add(await send({ subject: `Sent ${n}` }));
    await until(() => closed.arrived.length === 5);
    const inAWhile = new Date(Date.now() + 3_600_000).toISOString();
    for (let n = 0; n < 5; n += 1) {
      sent.add(await send({ subject: `Later ${n}`, scheduled_at: inAWhile }));
    }
    await until(() => receiver.received.length > 0);
    feed = await readFeed(source, key, '');
    await source.app.workspaces.create('Stays');
  }
  await using target = await startIn(database, 'target', { liveRoute: open });
  await createPerson(target, 'both@owners.example', 'viewer');
  const args = [database.url, 'source', 'target', id];
  for (const step of STEPS) {
    expect([step, await runMove([...args, step])]).toEqual([step, null]);
    // Nothing is active twice: until the last step but two, the target refuses the key.
    const { status } = await target.call('GET', '/events', { key });
    const isActive = STEPS.indexOf(step) >= STEPS.indexOf('activated');
    expect([step, status]).toEqual([step, isActive ? 200 : 401]);
  }
  const succeeded: string[] = [];
  receiver.answer = (request) => {
    succeeded.push(request.id);
    return { status: 204 };
  };
  expect(await runMove(args)).toBe('moved');

  // The reader continues where it was, and every event is there once.
  const all = await readFeed(target, key, '');
  expect(all.ids.slice(0, feed.ids.length)).toEqual(feed.ids);
  expect(new Set(all.ids).size).toBe(all.ids.length);
  const { json: listed } = await target.call('GET', '/messages?limit=100', { key });
  expect(new Set(listed.data.map((message: { id: string }) => message.id))).toEqual(sent);

  // The queue continues at the target only.
  for (const { id: message, status } of listed.data) {
    if (status !== 'scheduled') continue;
    const now = { scheduled_at: null };
    const changed = await target.call('PATCH', `/messages/${message}`, { key, body: now });
    expect(changed.status).toBe(200);
  }
  await until(() => open.arrived.length === 5);
  expect(closed.arrived).toHaveLength(5);
  await until(async () => {
    const { json } = await target.call('GET', '/messages?limit=100', { key });
    return json.data.every((message: { status: string }) => message.status === 'delivered');
  });

  // Webhooks: all events of all messages, each delivered with success once.
  const after = await readFeed(target, key, feed.cursor);
  expect(new Set([...feed.ids, ...after.ids]).size).toBe(feed.ids.length + after.ids.length);
  expect(after.ids.some((event) => feed.ids.includes(event))).toBe(false);
  const pool = openPool({
    hosts: parseDatabaseUrl(database.url, { schema: 'target' }),
    log: silentLog,
  });
  try {
    await until(async () => {
      // Retries would take minutes.
      await pool.query(
        `update webhook_deliveries set due_at = now() where status = 'pending' and lease is null`,
      );
      const { rows } = await pool.query<{ n: number }>(
        `select count(*)::int as n from events e
          where e.mode = 'live' and e.type like 'message.%' and not exists (
            select from webhook_deliveries d
             where d.workspace_id = e.workspace_id and d.event_id = e.id and d.status = 'succeeded')`,
      );
      return rows[0]?.n === 0;
    });
  } finally {
    await pool.end();
  }
  expect(new Set(succeeded).size).toBe(succeeded.length);

  // Members: one by their account at the target, the other with a copied account.
  for (const email of ['both@owners.example', 'only@owners.example']) {
    const member = new SessionClient(target);
    expect((await member.signIn(email)).status).toBe(200);
    const { json } = await member.call('GET', '/me');
    const ids = json.workspaces.map((workspace: { id: string }) => workspace.id);
    expect(ids).toContain(encodeId('wsp', id));
    expect(json.instance_owner).toBe(false);
  }

  // The source has nothing left and does not send.
  await using source = await startIn(database, 'source', { liveRoute: closed });
  expect((await source.call('GET', '/events', { key })).status).toBe(401);
  expect(closed.arrived).toHaveLength(5);
}, 240_000);

test('the command copies while servers run, moves when they are stopped, and can be cancelled', async () => {
  await using database = await createTestDatabase({ empty: true });
  const env = {
    ...databaseEnv(database),
    DATABASE_SCHEMA: 'source',
    MOVE_TO_DATABASE_URL: database.url,
    MOVE_TO_DATABASE_SCHEMA: 'target',
  };
  const move = async (id: string, ...more: string[]) => {
    const result = await runPostrider(['workspaces', 'move', id, '--json', ...more], { env });
    return { ...result, json: result.stdout === '' ? undefined : JSON.parse(result.stdout) };
  };
  let id: string;
  let key: string;
  {
    // A server is noticed whatever its sessions are called.
    const url = `${database.url}&application_name=mail`;
    await using source = await startIn(database, 'source', { env: { DATABASE_URL: url } });
    id = encodeId('wsp', source.workspaceId);
    key = source.testKey;
    await source.call('POST', '/transactional/send', { body: validMessage() });
    expect((await move(id)).json).toMatchObject({ id, state: 'copied' });
    expect((await move(id, '--cancel')).json).toMatchObject({ state: 'cancelled' });
    expect((await source.call('GET', '/events')).status).toBe(200);
    // The purge of the copy at the target has to finish first.
    const refused = await move(id);
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toContain('still being deleted at the target');
  }
  {
    await using _other = await startIn(database, 'third', {
      env: { SECRET_KEY: 'another secret key for tests, also long enough' },
    });
    env.MOVE_TO_DATABASE_SCHEMA = 'third';
    const refused = await move(id);
    expect(refused.stderr).toContain('has a different SECRET_KEY');
  }
  env.MOVE_TO_DATABASE_SCHEMA = 'other';
  const moved = await move(id);
  expect(moved.json).toMatchObject({ id, state: 'moved', rows: { messages: 1, deliveries: 1 } });
  expect(moved.stderr).toContain('Both copies are equal.');
  await using target = await startIn(database, 'other');
  const { json } = await target.call('GET', '/messages', { key });
  expect(json.data).toHaveLength(1);
}, 240_000);
