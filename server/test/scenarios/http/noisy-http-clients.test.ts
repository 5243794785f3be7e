import net from 'node:net';
import { expect, test } from 'vitest';
import { startApp, type TestApp, validMessage } from '../../harness/app.ts';

/**
 * Slow, idle, huge or hostile requests are ended and do not affect other clients. Real sockets misbehave
 * while a well-behaved client sends.
 */

function rawSocket(app: TestApp): Promise<net.Socket> {
  const { port } = new URL(app.url);
  return new Promise((resolve, reject) => {
    const socket = net.connect(Number(port), '127.0.0.1', () => resolve(socket));
    socket.once('error', reject);
  });
}

function answerOn(socket: net.Socket): Promise<string> {
  let received = '';
  return new Promise((resolve) => {
    socket.on('data', (chunk) => {
      received += chunk;
    });
    socket.on('close', () => resolve(received));
    socket.on('error', () => resolve(received));
  });
}

function head(app: TestApp, length: number): string {
  return (
    `POST /api/v1/transactional/send HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.testKey}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`
  );
}

async function served(app: TestApp): Promise<void> {
  const answer = await app.call('POST', '/transactional/send', { body: validMessage() });
  expect(answer.status).toBe(202);
}

test('a thousand idle connections do not affect others', async () => {
  await using app = await startApp();
  const idle: net.Socket[] = [];
  for (let i = 0; i < 1_000; i++) idle.push(await rawSocket(app));
  for (const socket of idle) socket.on('error', () => {});
  await served(app);
  for (const socket of idle) socket.destroy();
});

test('a slow body is ended at the deadline with 408 and stores nothing', async () => {
  await using app = await startApp({ env: { REQUEST_TIMEOUT_SECONDS: '1' } });
  const socket = await rawSocket(app);
  const answer = answerOn(socket);
  socket.write(head(app, 1_000_000));
  const drip = setInterval(() => socket.write(' '), 50);
  await served(app);
  const reply = await answer;
  clearInterval(drip);
  expect(reply).toMatch(/^HTTP\/1\.1 408 /);
  expect(reply).toContain('"code":"request_timeout"');
});

test('invalid HTTP is 400 in the usual problem format', async () => {
  await using app = await startApp();
  const socket = await rawSocket(app);
  const answer = answerOn(socket);
  socket.write('GET / HTTP/9.9\r\nnonsense\r\n\r\n');
  const reply = await answer;
  expect(reply).toMatch(/^HTTP\/1\.1 400 /);
  expect(reply).toContain('application/problem+json');
});

test('a client that disconnects in the middle of its body stores nothing', async () => {
  await using app = await startApp();
  const body = JSON.stringify(validMessage());
  const socket = await rawSocket(app);
  socket.write(head(app, body.length) + body.slice(0, -1));
  await new Promise<void>((resolve) => {
    socket.end(() => resolve());
  });
  await served(app);
  expect((await app.call('GET', '/messages')).json.data).toHaveLength(1);
});

test('bodies of 30 MiB are handled, and others meanwhile', async () => {
  await using app = await startApp();
  const huge = 'x'.repeat(29 * 1024 * 1024);
  const attachments = [{ filename: 'a.bin', content: 'A'.repeat(24 * 1024 * 1024) }];
  const [tooLong, large] = await Promise.all([
    app.call('POST', '/transactional/send', { body: validMessage({ html: huge }) }),
    app.call('POST', '/transactional/send', { body: validMessage({ attachments }) }),
    served(app),
    served(app),
  ]);
  expect([tooLong.status, tooLong.json.errors[0].code]).toEqual([422, 'too_long']);
  expect(large.status).toBe(202);
  const { json } = await app.call('GET', `/messages/${large.json.id}/content`);
  expect(json.attachments[0].size_bytes).toBe(18 * 1024 * 1024);
  const many = { ...validMessage(), cc: Array.from({ length: 2_000_000 }, () => 0) };
  const hostile = await app.call('POST', '/transactional/send', { body: many });
  expect(hostile.status).toBe(422);
  expect(hostile.json.errors.length).toBeLessThanOrEqual(100);
});

test('small messages do not wait for the commits of large ones', async () => {
  await using app = await startApp({ env: { ROLES: 'api' } });
  await served(app);
  // Only messages with attachments write to this table, so that the test controls the duration of their commits.
  const unlock = await locked(app, 'message_attachments');
  const attachments = [{ filename: 'a.bin', content: 'A'.repeat(512 * 1024) }];
  const large = () =>
    app.call('POST', '/transactional/send', { body: validMessage({ attachments }) });
  const stuck = async (): Promise<number> => {
    const { rows } = await app.database.pool.query<{ waiting: number }>(
      `select count(*)::int as waiting from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock'`,
    );
    return rows[0]?.waiting ?? 0;
  };
  const sends = [large()];
  await expect.poll(stuck).toBe(1);
  sends.push(large());
  await expect.poll(stuck).toBe(2);
  sends.push(large(), large());
  await served(app);
  await served(app);
  expect(await stuck()).toBe(2);
  await unlock();
  expect((await Promise.all(sends)).map(({ status }) => status)).toEqual([202, 202, 202, 202]);
});

test('when too many messages wait for storage, further ones are rejected immediately, and accepted later', async () => {
  await using app = await startApp({
    env: { ACCEPT_BUFFER_MAX_MESSAGES: '10', ROLES: 'api' },
  });
  await served(app);
  const unlock = await locked(app, 'messages');
  const sends = Array.from({ length: 600 }, () =>
    app.call('POST', '/transactional/send', { body: validMessage() }),
  );
  const refused = await Promise.race(
    sends.map(async (sending) => {
      const answer = await sending;
      if (answer.status === 503) return answer;
      return new Promise<never>(() => {});
    }),
  );
  expect(refused.json.code).toBe('overloaded');
  expect(refused.headers.get('retry-after')).toBe('1');
  await unlock();
  const statuses = (await Promise.all(sends)).map(({ status }) => status);
  const accepted = statuses.filter((status) => status === 202).length;
  expect(statuses.every((status) => status === 202 || status === 503)).toBe(true);
  const { rows } = await app.database.pool.query<{ n: number }>(
    'select count(*) as n from messages',
  );
  expect(rows[0]?.n).toBe(accepted + 1);
  await served(app);
});

test('large and small messages share one memory limit', async () => {
  await using app = await startApp({
    env: { ACCEPT_BUFFER_MAX_MESSAGES: '10', ROLES: 'api' },
  });
  await served(app);
  const unlock = await locked(app, 'messages');
  const refused = { small: 0, large: 0 };
  const send = async (size: 'small' | 'large', body: object) => {
    const { status } = await app.call('POST', '/transactional/send', { body });
    if (status === 503) refused[size] += 1;
  };
  const html = 'x'.repeat(300 * 1024);
  const sends = [
    ...Array.from({ length: 100 }, () => send('small', validMessage())),
    ...Array.from({ length: 30 }, () => send('large', validMessage({ html }))),
  ];
  await expect.poll(() => refused.small > 0 && refused.large > 0).toBe(true);
  const metrics = await fetch(`${app.url}/metrics`).then((answer) => answer.text());
  expect(/^postrider_accept_waiting (\d+)$/m.exec(metrics)?.[1]).toBe('10');
  await unlock();
  await Promise.all(sends);
});

test('a row that the database rejects does not fail others in the same commit', async () => {
  await using app = await startApp();
  // The database rejects one sender, as a bug would cause it.
  await app.database.pool.query(
    `alter table messages add constraint refuse_one check (sender <> 'bad@example.org')`,
  );
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, i) =>
      app.call('POST', '/transactional/send', {
        body: validMessage(i === 20 ? { from: { email: 'bad@example.org' } } : {}),
      }),
    ),
  );
  expect(answers.map(({ status }) => status)).toEqual(
    Array.from({ length: 40 }, (_, i) => (i === 20 ? 500 : 202)),
  );
  expect(answers[20]?.json).toMatchObject({ code: 'internal_error' });
  expect(answers[20]?.text).not.toContain('refuse_one');
});

/** Blocks writers of the table until the returned function is called. */
async function locked(app: TestApp, table: string): Promise<() => Promise<void>> {
  const client = await app.database.pool.connect();
  await client.query('begin');
  await client.query(`lock table ${table} in exclusive mode`);
  return async () => {
    await client.query('rollback');
    client.release();
  };
}
