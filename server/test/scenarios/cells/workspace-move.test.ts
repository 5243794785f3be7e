import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { parseDatabaseUrl } from '../../../src/db/connections/database-url.ts';
import { openPool } from '../../../src/db/connections/pool.ts';
import { encodeId } from '../../../src/lib/ids.ts';
import { silentLog } from '../../../src/lib/log.ts';
import type { MoveStep } from '../../../src/privacy/workspace-move.ts';
import { startApp, type TestApp, type TestAppOptions, validMessage } from '../../harness/app.ts';
import { createPerson, SessionClient } from '../../harness/browser/dashboard-session.ts';
import { childProgram } from '../../harness/child-programs.ts';
import { databaseEnv, runPostrider } from '../../harness/cli-process.ts';
import { purge } from '../../harness/database/cells.ts';
import { createTestDatabase, type TestDatabase } from '../../harness/database/database.ts';
import { mailboxRoute } from '../../harness/delivery/mailbox-route.ts';
import { until } from '../../harness/until.ts';
import { startWebhookReceiver } from '../../harness/webhooks/webhook-receiver.ts';

/**
 * A workspace moves between two installations whose servers keep running, under load. However often the
 * move is killed, no message and no webhook is lost or sent twice, a reader of the event feed continues
 * with its cursor, and other workspaces notice nothing.
 */

const STEPS: readonly MoveStep[] = [
  'numbered',
  'arriving',
  'copied',
  'drained',
  'leaving',
  'fenced',
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

interface Load extends AsyncDisposable {
  /** The subjects of the messages that were accepted, by their id. */
  accepted: Map<string, string>;
  statuses: Set<number>;
  stop(): Promise<void>;
}

/** Sends one message after another, each until it is accepted, to the first place that has the key. */
function sendSteadily(places: readonly TestApp[], key: string, name: string): Load {
  const accepted = new Map<string, string>();
  const statuses = new Set<number>();
  const over = new AbortController();
  const send = async (subject: string): Promise<string> => {
    while (!over.signal.aborted) {
      for (const place of places) {
        const { status, json } = await place.call('POST', '/transactional/send', {
          key,
          body: validMessage({ subject }),
          headers: { 'idempotency-key': subject },
        });
        if (status === 202) return json.id;
        if (status !== 401 && status !== 403) statuses.add(status);
      }
      await sleep(20);
    }
    return '';
  };
  const sending = (async () => {
    for (let n = 0; !over.signal.aborted; n += 1) {
      const subject = `${name}-${n}`;
      const id = await send(subject);
      if (id !== '') accepted.set(id, subject);
      await sleep(25);
    }
  })();
  const stop = () => {
    over.abort();
    return sending;
  };
  return { accepted, statuses, stop, [Symbol.asyncDispose]: stop };
}

/** Both servers run all the time; only the mover is killed. */
test('a workspace moves under load while its mover is killed after every step', async () => {
  await using database = await createTestDatabase({ empty: true });
  await using receiver = await startWebhookReceiver({ answer: () => ({ status: 503 }) });
  const closed = mailboxRoute();
  const open = mailboxRoute();
  await using source = await startIn(database, 'source', { liveRoute: closed });
  await using target = await startIn(database, 'target', { liveRoute: open });
  const id = source.workspaceId;
  const key = source.liveKey;
  await source.app.domains.trust(id, { name: 'example.org' });
  await createPerson(source, 'both@owners.example', 'owner');
  await createPerson(source, 'only@owners.example', 'admin');
  await createPerson(target, 'both@owners.example', 'viewer');
  await database.pool.query('update source.people set is_instance_owner = true');
  const hook = await source.call('POST', '/webhooks', {
    key,
    body: { url: receiver.url, events: ['message.*'] },
  });
  expect(hook.status).toBe(201);
  const later: string[] = [];
  const inAWhile = new Date(Date.now() + 3_600_000).toISOString();
  for (let n = 0; n < 5; n += 1) {
    const { status, json } = await source.call('POST', '/transactional/send', {
      key,
      body: validMessage({ subject: `Later ${n}`, scheduled_at: inAWhile }),
    });
    expect(status).toBe(202);
    later.push(json.id);
  }
  await until(() => receiver.received.length > 0);
  const feed = await readFeed(source, key, '');
  const other = await source.app.workspaces.create('Stays');
  await source.app.domains.trust(other.id, { name: 'example.org' });
  const otherKey = await source.newKey({ mode: 'live', workspaceId: other.id });

  await using load = sendSteadily([source, target], key, 'Moves');
  await using otherLoad = sendSteadily([source], otherKey, 'Stays');
  const progress = async ({ accepted }: Load) => {
    const seen = accepted.size;
    await until(() => accepted.size >= seen + 5);
  };
  await progress(load);
  const args = [database.url, 'source', 'target', id];
  for (const step of STEPS) {
    expect([step, await runMove([...args, step])]).toEqual([step, null]);
    // Nothing is active twice: until the last step but two, the target refuses the key.
    // The source learns it by a notification.
    const expected = statusesAfter(step);
    await until(async () => (await statusesOf(key, source, target)).join() === expected.join());
    // And it stays so.
    expect([step, ...(await statusesOf(key, source, target))]).toEqual([step, ...expected]);
    await progress(otherLoad);
    if (expected.includes(200)) await progress(load);
  }
  const succeeded: string[] = [];
  receiver.answer = (request) => {
    succeeded.push(request.id);
    return { status: 204 };
  };
  expect(await runMove(args)).toBe('moved');
  await progress(load);
  await load.stop();
  await otherLoad.stop();
  // Nothing but "try again" for the workspace that moves, and nothing at all for the other one.
  expect([...load.statuses].filter((status) => status !== 503)).toEqual([]);
  expect([...otherLoad.statuses]).toEqual([]);
  const sent = new Set([...later, ...load.accepted.keys()]);

  // The reader continues where it was, and every event is there once.
  const all = await readFeed(target, key, '');
  expect(all.ids.slice(0, feed.ids.length)).toEqual(feed.ids);
  expect(new Set(all.ids).size).toBe(all.ids.length);
  expect(new Set((await readMessages(target, key)).map((message) => message.id))).toEqual(sent);

  // The queue continues at the target only.
  for (const message of later) {
    const now = { scheduled_at: null };
    const changed = await target.call('PATCH', `/messages/${message}`, { key, body: now });
    expect(changed.status).toBe(200);
  }
  await until(async () => {
    const messages = await readMessages(target, key);
    return messages.every((message) => message.status === 'delivered');
  });
  const expected = [
    ...later.map((_, n) => `Later ${n}`),
    ...load.accepted.values(),
    ...otherLoad.accepted.values(),
  ];
  await until(() => closed.arrived.length + open.arrived.length >= expected.length);
  const subjects = [closed, open].flatMap((route) =>
    route.arrived.map(({ content }) => content.subject),
  );
  expect(subjects.sort()).toEqual(expected.sort());
  expect(open.arrived.some(({ content }) => content.subject.startsWith('Later'))).toBe(true);

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

  // The source has nothing left, and no trigger.
  expect((await source.call('GET', '/events', { key })).status).toBe(403);
  await purge(database, 'source', id);
  const { rows: fences } = await database.pool.query(
    `select tgname from pg_trigger where tgname like 'fence%'`,
  );
  expect(fences).toEqual([]);
}, 240_000);

async function statusesOf(key: string, ...places: readonly TestApp[]): Promise<number[]> {
  const responses = places.map((place) => place.call('GET', '/events', { key }));
  return (await Promise.all(responses)).map(({ status }) => status);
}

/** What the key gets from source and target after a step. */
function statusesAfter(step: MoveStep): [source: number, target: number] {
  if (step === 'activated') return [503, 200];
  if (step === 'purging') return [403, 200];
  return STEPS.indexOf(step) < STEPS.indexOf('leaving') ? [200, 401] : [503, 401];
}

async function readMessages(app: TestApp, key: string) {
  const messages: { id: string; status: string }[] = [];
  for (let cursor = ''; ; ) {
    const { status, json } = await app.call('GET', `/messages?limit=100${cursor}`, { key });
    expect(status).toBe(200);
    messages.push(...json.data);
    if (json.next_cursor === null) return messages;
    cursor = `&cursor=${json.next_cursor}`;
  }
}

test('the command copies, moves with and without servers, and can be cancelled', async () => {
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
    expect((await move(id, '--copy-only')).json).toMatchObject({ id, state: 'copied' });
    expect((await source.call('GET', '/events')).status).toBe(200);
    expect((await move(id, '--cancel')).json).toMatchObject({ state: 'cancelled' });
    expect((await source.call('GET', '/events')).status).toBe(200);
    // The purge of the copy at the target has to finish first.
    const refused = await move(id);
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toContain('still being deleted at the target');

    // With the server running, to a database without one.
    env.MOVE_TO_DATABASE_SCHEMA = 'other';
    const moved = await move(id);
    expect(moved.json).toMatchObject({ id, state: 'moved', rows: { messages: 1, deliveries: 1 } });
    expect(moved.stderr).toContain('Both copies are equal.');
    expect((await source.call('GET', '/events')).status).toBe(403);
  }
  env.DATABASE_SCHEMA = 'other';
  {
    await using _other = await startIn(database, 'third', {
      env: { SECRET_KEY: 'another secret key for tests, also long enough' },
    });
    env.MOVE_TO_DATABASE_SCHEMA = 'third';
    const refused = await move(id);
    expect(refused.stderr).toContain('has a different SECRET_KEY');
  }
  // Without servers.
  env.MOVE_TO_DATABASE_SCHEMA = 'fourth';
  expect((await move(id)).json).toMatchObject({ id, state: 'moved' });
  await using target = await startIn(database, 'fourth');
  const { json } = await target.call('GET', '/messages', { key });
  expect(json.data).toHaveLength(1);
}, 240_000);
