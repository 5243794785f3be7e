import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { decodeId } from '../../../src/lib/ids.ts';
import { ManualClock } from '../../../src/lib/time/manual-clock.ts';
import { deleteStreamContents } from '../../../src/messages/content/stream-retention.ts';
import { startApp, type TestApp, validMessage } from '../../harness/app.ts';
import {
  complaint,
  dsn,
  type ReturnPathServer,
  startReturnPathServer,
} from '../../harness/smtp/return-path-setup.ts';
import { type SmtpReceiver, startSmtpReceiver } from '../../harness/smtp/smtp-receiver.ts';
import { until } from '../../harness/until.ts';

/**
 * Streams: managed by API, named by sends, templates and keys, and stopped separately for a recipient.
 */

describe('streams', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
    await app.call('POST', '/streams', {
      body: { key: 'digest', name: 'Weekly digest', purpose: 'subscription' },
    });
  });
  afterAll(() => app[Symbol.asyncDispose]());

  const send = (more: Record<string, unknown> = {}, key?: string) =>
    app.call('POST', '/transactional/send', {
      body: validMessage(more),
      ...(key ? { key } : {}),
    });
  const pointersOf = (json: { errors: { pointer: string; code: string }[] }) =>
    json.errors.map(({ pointer, code }) => `${pointer} ${code}`);

  test('every workspace has the stream transactional, which can be changed but not deleted', async () => {
    const own = await app.call('GET', '/streams/transactional');
    expect(own.json).toEqual({
      key: 'transactional',
      name: 'Transactional',
      purpose: 'transactional',
      tracking: { opens: null, clicks: null },
      brand: { name: null, logo_url: null, color: null },
      from: null,
      route: null,
      messages_per_minute: null,
      content_retention_days: null,
      created_at: null,
      updated_at: null,
    });
    const changed = await app.call('PATCH', '/streams/transactional', {
      body: { name: 'Receipts', tracking: { opens: false } },
    });
    expect(changed.json).toMatchObject({
      name: 'Receipts',
      tracking: { opens: false, clicks: null },
      created_at: expect.any(String),
    });
    expect((await app.call('GET', '/streams/transactional')).json).toEqual(changed.json);
    const deleted = await app.call('DELETE', '/streams/transactional');
    expect([deleted.status, deleted.json.code]).toEqual([409, 'conflict']);
    const other = await app.call('POST', '/streams', {
      body: { key: 'transactional', purpose: 'subscription' },
    });
    expect([other.status, other.json.code]).toEqual([409, 'conflict']);
  });

  test('streams are created, listed in pages and deleted; bad ones are refused by field', async () => {
    const made = await app.call('POST', '/streams', {
      body: { key: 'alerts', purpose: 'transactional' },
    });
    expect([made.status, made.json.name]).toEqual([201, 'alerts']);
    const first = await app.call('GET', '/streams?limit=2');
    expect(first.json.data.map(({ key }: { key: string }) => key)).toEqual(['alerts', 'digest']);
    const second = await app.call('GET', `/streams?limit=2&cursor=${first.json.next_cursor}`);
    expect(second.json.data.map(({ key }: { key: string }) => key)).toEqual(['transactional']);
    expect(second.json.next_cursor).toBeNull();
    const bad = await app.call('POST', '/streams', {
      body: { key: 'Bad key', purpose: 'spam', name: '' },
    });
    expect(bad.status).toBe(422);
    expect(bad.json.errors.map(({ pointer }: { pointer: string }) => pointer).toSorted()).toEqual([
      '/key',
      '/name',
      '/purpose',
    ]);
    expect(
      (await app.call('PATCH', '/streams/digest', { body: { purpose: 'transactional' } })).status,
    ).toBe(422);
    expect((await app.call('DELETE', '/streams/alerts')).status).toBe(204);
    expect((await app.call('GET', '/streams/alerts')).status).toBe(404);
    expect((await app.call('DELETE', '/streams/alerts')).status).toBe(404);
  });

  test('a test key creates streams, but cannot change what live mail uses', async () => {
    const key = app.testKey;
    for (const [method, body] of [['PATCH', { name: 'X' }], ['DELETE']] as const) {
      const refused = await app.call(method, '/streams/digest', { key, ...(body ? { body } : {}) });
      expect([refused.status, refused.json.code]).toEqual([403, 'wrong_mode']);
    }
  });

  test('a message belongs to the stream of its request, template or key, in this order', async () => {
    const plain = await send();
    expect(plain.json.stream).toBe('transactional');
    const named = await send({ stream: 'digest' });
    expect(named.json.stream).toBe('digest');
    const read = await app.call('GET', `/messages/${named.json.id}`);
    expect(read.json.stream).toBe('digest');
    expect(read.json.events[0].data.stream).toBe('digest');

    await app.call('POST', '/templates', {
      body: { key: 'weekly', subject: 'News', html: '<p>News</p>', stream: 'digest' },
    });
    expect((await app.call('POST', '/templates/weekly/publish', { body: {} })).status).toBe(200);
    const { to, from } = validMessage();
    const templated = { to, from, template_key: 'weekly' };
    const byTemplate = await app.call('POST', '/transactional/send', { body: templated });
    expect(byTemplate.json.stream).toBe('digest');
    const overridden = await app.call('POST', '/transactional/send', {
      body: { ...templated, stream: 'transactional' },
    });
    expect(overridden.json.stream).toBe('transactional');

    const key = await app.newKey({ allowedStreams: ['digest', 'transactional'] });
    expect((await send({}, key)).json.stream).toBe('digest');
    expect((await send({ stream: 'transactional' }, key)).json.stream).toBe('transactional');
    const limited = await app.newKey({ allowedStreams: ['transactional'] });
    const refused = await app.call('POST', '/transactional/send', {
      key: limited,
      body: templated,
    });
    expect([refused.status, refused.json.code]).toEqual([403, 'stream_not_allowed']);
  });

  test('a stream provides the sender that neither the request nor the template names', async () => {
    const from = { email: 'alerts@example.org', name: 'Alerts' };
    const made = await app.call('POST', '/streams', {
      body: { key: 'alerting', purpose: 'transactional', from },
    });
    expect([made.status, made.json.from]).toEqual([201, from]);
    const senderOf = async (body: object) => {
      const { json } = await app.call('POST', '/transactional/send', { body });
      const read = await app.call('GET', `/messages/${json.id}`);
      return read.json.events[0].data.from;
    };
    const { from: own, ...rest } = validMessage({ stream: 'alerting' });
    expect(await senderOf(rest)).toBe(from.email);
    expect(await senderOf({ ...rest, html: '<p>{{ message.id }}</p>' })).toBe(from.email);
    expect(await senderOf({ ...rest, from: own })).toBe((own as { email: string }).email);
    for (const [key, email] of [
      ['with-sender', 'template@example.org'],
      ['without-sender', from.email],
    ] as const) {
      const sender = key === 'with-sender' ? { from: { email } } : {};
      await app.call('POST', '/templates', {
        body: { key, subject: 'S', html: '<p>H</p>', stream: 'alerting', ...sender },
      });
      await app.call('POST', `/templates/${key}/publish`, { body: {} });
      expect(await senderOf({ to: rest.to, template_key: key })).toBe(email);
    }
    const none = await app.call('POST', '/transactional/send', {
      body: { ...rest, stream: 'transactional' },
    });
    expect(pointersOf(none.json)).toEqual(['/from required']);
    const bad = await app.call('PATCH', '/streams/alerting', {
      body: { from: { email: 'nobody' }, messages_per_minute: 0, content_retention_days: 0 },
    });
    expect(bad.status).toBe(422);
    const cleared = await app.call('PATCH', '/streams/alerting', { body: { from: null } });
    expect(cleared.json.from).toBeNull();
    expect((await app.call('POST', '/transactional/send', { body: rest })).status).toBe(422);
  });

  test('content of a stream is deleted after its own retention period', async () => {
    const { pool } = app.database;
    await app.call('POST', '/streams', {
      body: { key: 'short', purpose: 'transactional', content_retention_days: 1 },
    });
    const ended = await send({ stream: 'short' });
    const waiting = await send({
      stream: 'short',
      scheduled_at: new Date(Date.now() + 3_600_000).toISOString(),
    });
    const other = await send();
    await until(
      async () => (await app.call('GET', `/messages/${ended.json.id}`)).json.status === 'delivered',
    );
    const stored = async () => {
      const { rows } = await pool.query<{ stream: string }>(
        `select m.stream from messages m join message_contents c using (workspace_id, mode, id)
         where m.id = any($1) order by m.id`,
        [[ended, waiting, other].map(({ json }) => decodeId('msg', json.id))],
      );
      return rows.map(({ stream }) => stream);
    };
    const { signal } = new AbortController();
    const run = (afterMs: number) =>
      deleteStreamContents(pool, new ManualClock(Date.now() + afterMs), signal);
    await run(0);
    expect(await stored()).toEqual(['short', 'short', 'transactional']);
    await run(2 * 86_400_000);
    expect(await stored()).toEqual(['short', 'transactional']);
    expect((await app.call('GET', `/messages/${ended.json.id}`)).status).toBe(200);
    // The scheduled message is looked at again every day, with the period that its stream then has.
    await run(3 * 86_400_000);
    expect(await stored()).toEqual(['short', 'transactional']);
    const cancelled = await app.call('POST', `/messages/${waiting.json.id}/cancel`);
    expect(cancelled.status).toBe(200);
    const keepFor = async (content_retention_days: number | null) => {
      const body = { content_retention_days };
      expect((await app.call('PATCH', '/streams/short', { body })).status).toBe(200);
    };
    for (const [days, after] of [
      [null, 4],
      [6, 5],
    ] as const) {
      await keepFor(days);
      await run(after * 86_400_000);
      expect(await stored()).toEqual(['short', 'transactional']);
    }
    await run(6 * 86_400_000 + 60_000);
    expect(await stored()).toEqual(['transactional']);
    expect((await pool.query('select from late_contents')).rowCount).toBe(0);
  });

  test('an unknown stream is refused in a send, a batch, a key, a template and a suppression', async () => {
    const sent = await send({ stream: 'none' });
    expect([sent.status, sent.json.code]).toEqual([422, 'stream_not_found']);
    expect(pointersOf(sent.json)).toEqual(['/stream stream_not_found']);
    const batch = await app.call('POST', '/transactional/batch', {
      body: { messages: [validMessage(), validMessage({ stream: 'none' })] },
    });
    expect(pointersOf(batch.json)).toEqual(['/messages/1/stream stream_not_found']);
    const key = await app.call('POST', '/api-keys', {
      body: { name: 'K', allowed_streams: ['digest', 'none'] },
    });
    expect(pointersOf(key.json)).toEqual(['/allowed_streams/1 stream_not_found']);
    const suppression = await app.call('POST', '/suppressions', {
      body: { email: 'a@example.com', stream: 'none' },
    });
    expect(pointersOf(suppression.json)).toEqual(['/stream stream_not_found']);
    const bulk = await app.call('POST', '/suppressions/bulk', {
      body: {
        suppressions: [{ email: 'b@example.com' }, { email: 'a@example.com', stream: 'none' }],
      },
    });
    expect(pointersOf(bulk.json)).toEqual(['/suppressions/1/stream stream_not_found']);
    expect((await app.call('GET', '/suppressions?email=b@example.com')).json.data).toEqual([]);
    await app.call('POST', '/templates', {
      body: { key: 'lost', subject: 'S', html: '<p>H</p>', stream: 'none' },
    });
    const published = await app.call('POST', '/templates/lost/publish', { body: {} });
    expect(published.status).toBe(422);
    expect(JSON.stringify(published.json.errors)).toContain('stream_not_found');
  });

  test('a stream that a template or a key names cannot be deleted', async () => {
    await app.call('POST', '/streams', { body: { key: 'used', purpose: 'subscription' } });
    const key = await app.call('POST', '/api-keys', {
      body: { name: 'Newsletter', allowed_streams: ['used'] },
    });
    const byKey = await app.call('DELETE', '/streams/used');
    expect([byKey.status, byKey.json.detail]).toEqual([
      409,
      'The API key Newsletter uses this stream.',
    ]);
    await app.call('PATCH', `/api-keys/${key.json.id}`, { body: { allowed_streams: [] } });
    await app.call('POST', '/templates', {
      body: { key: 'uses', subject: 'S', html: '<p>H</p>', stream: 'used' },
    });
    const byTemplate = await app.call('DELETE', '/streams/used');
    expect(byTemplate.json.detail).toBe('The template uses uses this stream.');
    await app.call('PATCH', '/templates/uses', { body: { stream: null } });
    expect((await app.call('DELETE', '/streams/used')).status).toBe(204);
  });

  test('lists, events and statistics filter by stream', async () => {
    const to = { email: 'filter@example.com' };
    const digest = await send({ to, stream: 'digest' });
    const other = await send({ to });
    const ids = async (query: string) =>
      (await app.call('GET', `/messages?recipient=${to.email}${query}`)).json.data.map(
        ({ id }: { id: string }) => id,
      );
    expect(await ids('&stream=digest')).toEqual([digest.json.id]);
    expect(await ids('&stream=transactional')).toEqual([other.json.id]);
    expect(await ids('&stream=none')).toEqual([]);
    const events = await app.call('GET', '/events?stream=digest&type=message.accepted&limit=100');
    expect(
      new Set(events.json.data.map(({ data }: { data: { stream: string } }) => data.stream)),
    ).toEqual(new Set(['digest']));
    await until(async () => {
      const stats = await app.call('GET', '/stats?group_by=stream&points=false');
      const groups = stats.json.data.map(({ group }: { group: string }) => group);
      return groups.includes('digest') && groups.includes('transactional');
    });
  });

  test('a suppression in one stream stops only that stream', async () => {
    const to = { email: 'left@example.com' };
    const left = await app.call('POST', '/suppressions', {
      body: { email: to.email, stream: 'digest', reason: 'unsubscribe' },
    });
    expect([left.status, left.json.stream]).toEqual([201, 'digest']);
    const again = await app.call('POST', '/suppressions', {
      body: { email: to.email, stream: 'digest', note: 'By phone' },
    });
    expect([again.status, again.json.id, again.json.reason]).toEqual([
      200,
      left.json.id,
      'unsubscribe',
    ]);
    expect((await send({ to, stream: 'digest' })).json).toMatchObject({
      status: 'suppressed',
      recipients: [{ status: 'suppressed', reason: 'unsubscribe' }],
    });
    expect((await send({ to })).json.status).toBe('queued');
    const batch = await app.call('POST', '/transactional/batch', {
      body: { messages: [validMessage({ to, stream: 'digest' }), validMessage({ to })] },
    });
    expect(
      batch.json.data.map(({ message }: { message: { status: string } }) => message.status),
    ).toEqual(['suppressed', 'queued']);
  });

  test('a suppression added before a scheduled message is due stops it in its own stream only', async () => {
    const to = { email: 'later@example.com' };
    const scheduled_at = new Date(Date.now() + 3_600_000).toISOString();
    const digest = await send({ to, stream: 'digest', scheduled_at });
    const reset = await send({ to, scheduled_at });
    await app.call('POST', '/suppressions', { body: { email: to.email, stream: 'digest' } });
    for (const { json } of [digest, reset]) {
      await app.call('PATCH', `/messages/${json.id}`, { body: { scheduled_at: null } });
    }
    const statusOf = async (id: string) => (await app.call('GET', `/messages/${id}`)).json.status;
    await until(async () => (await statusOf(digest.json.id)) === 'suppressed');
    await until(async () => (await statusOf(reset.json.id)) === 'delivered');
  });

  test('suppressions are listed by stream with those that apply everywhere, and deleted by stream', async () => {
    const email = 'many@example.com';
    for (const stream of ['digest', 'transactional', null]) {
      expect((await app.call('POST', '/suppressions', { body: { email, stream } })).status).toBe(
        201,
      );
    }
    const scopes = async (query: string) =>
      (await app.call('GET', `/suppressions?${query}`)).json.data.map(
        ({ stream }: { stream: string | null }) => stream,
      );
    expect((await scopes(`email=${email}`)).toSorted()).toEqual(
      ['digest', null, 'transactional'].toSorted(),
    );
    expect(await scopes(`email=${email}&stream=digest`)).toEqual([null, 'digest']);
    expect(await scopes('q=many@&stream=digest')).toEqual(['digest', null]);
    expect((await scopes('stream=digest&limit=2')).length).toBe(2);
    const first = await app.call('GET', '/suppressions?q=many@&limit=2');
    const second = await app.call(
      'GET',
      `/suppressions?q=many@&limit=2&cursor=${first.json.next_cursor}`,
    );
    const all = [...first.json.data, ...second.json.data];
    expect(new Set(all.map(({ stream }: { stream: string | null }) => stream))).toEqual(
      new Set(['digest', 'transactional', null]),
    );
    expect((await app.call('DELETE', `/suppressions?email=${email}&stream=digest`)).status).toBe(
      204,
    );
    expect(await scopes(`email=${email}`)).toEqual(['transactional']);
    expect((await app.call('DELETE', `/suppressions?email=${email}`)).status).toBe(204);
    expect(await scopes(`email=${email}`)).toEqual([]);
  });

  test('erasing an address keeps it suppressed everywhere, with the streams it had left', async () => {
    const email = 'erased@gone.test';
    await app.call('POST', '/suppressions', {
      body: { email, stream: 'digest', reason: 'unsubscribe' },
    });
    await app.call('DELETE', `/contacts/${email}?erase=true&keep_suppression=true`);
    const kept = await app.call('GET', `/suppressions?email=${email}`);
    expect(
      kept.json.data
        .map(
          ({ stream, reason, erased }: Record<string, unknown>) => `${stream} ${reason} ${erased}`,
        )
        .toSorted(),
    ).toEqual(['digest unsubscribe true', 'null unsubscribe true']);
    expect((await send({ to: { email } })).json.status).toBe('suppressed');
    await app.call('DELETE', `/contacts/${email}?erase=true&keep_suppression=true`);
    expect((await app.call('GET', `/suppressions?email=${email}`)).json.data).toEqual(
      kept.json.data,
    );
    await app.call('DELETE', `/contacts/${email}?erase=true`);
    expect((await app.call('GET', `/suppressions?email=${email}`)).json.data).toEqual([]);
  });

  test('a stream that is created again keeps its suppressions', async () => {
    const make = () =>
      app.call('POST', '/streams', { body: { key: 'renewed', purpose: 'subscription' } });
    await make();
    const email = 'stays.out@example.com';
    await app.call('POST', '/suppressions', { body: { email, stream: 'renewed' } });
    expect((await app.call('DELETE', '/streams/renewed')).status).toBe(204);
    expect((await send({ stream: 'renewed' })).status).toBe(422);
    await make();
    expect((await send({ to: { email }, stream: 'renewed' })).json.status).toBe('suppressed');
  });
});

describe('bounces and complaints', () => {
  const streamsOf = async ({ app }: ReturnPathServer, email: string) =>
    (await app.call('GET', `/suppressions?email=${email}`, { key: app.liveKey })).json.data.map(
      ({ stream, reason }: Record<string, string | null>) => [stream, reason],
    );
  const complainAbout = async (server: ReturnPathServer, email: string) => {
    const { returnPath } = await server.send({ to: { email }, stream: 'digest' });
    await server.report(returnPath, complaint());
  };
  const makeDigest = ({ app }: ReturnPathServer) =>
    app.call('POST', '/streams', {
      key: app.liveKey,
      body: { key: 'digest', purpose: 'subscription' },
    });

  /** The second message of a stream with a rate waits in the queue; other mail does not. */
  const expectPaced = async ({ app, database, send }: ReturnPathServer) => {
    const key = app.liveKey;
    const slow = { key: 'slow', purpose: 'transactional', messages_per_minute: 1 };
    await app.call('POST', '/streams', { key, body: slow });
    await send({ stream: 'slow' });
    const body = validMessage({ stream: 'slow' });
    const sendSlow = (headers: Record<string, string> = {}) =>
      app.call('POST', '/transactional/send', { key, body, headers });
    const stored = async (id: string) => {
      const { rows } = await database.pool.query<{ waits: number; lease: number | null }>(
        `select extract(epoch from d.due_at - m.created_at)::int as waits, d.lease
         from deliveries d join messages m on m.workspace_id = d.workspace_id and m.id = d.message_id
         where d.message_id = $1`,
        [decodeId('msg', id)],
      );
      return rows[0];
    };
    const once = { 'idempotency-key': 'slow' };
    const { json } = await sendSlow(once);
    expect(json.status).toBe('queued');
    const second = await stored(json.id);
    expect(second?.waits).toBeGreaterThan(30);
    expect(second?.waits).toBeLessThanOrEqual(60);
    expect(second).toMatchObject({ lease: null });
    // What is not stored, such as a repeated request, delays nothing.
    for (let index = 0; index < 3; index++) expect((await sendSlow(once)).json.id).toBe(json.id);
    const third = await stored((await sendSlow()).json.id);
    expect(third?.waits).toBeLessThanOrEqual(120);
    await send();
  };

  /** Mail of a stream with a route goes to its relay, and other mail does not. */
  const expectRouted = async (server: ReturnPathServer, relay: SmtpReceiver) => {
    const { app, message, send, receiver } = server;
    const key = app.liveKey;
    const make = (route: string) =>
      app.call('POST', '/streams', { key, body: { key: 'bulk', purpose: 'transactional', route } });
    const refused = await make('none');
    expect([refused.status, refused.json.errors[0].pointer]).toEqual([422, '/route']);
    expect((await make('bulk')).json.route).toBe('bulk');
    const before = receiver.messages.length;
    const body = validMessage({ stream: 'bulk' });
    const { json } = await app.call('POST', '/transactional/send', { key, body });
    await until(async () => (await message(json.id)).status === 'delivered');
    expect(relay.messages.length).toBe(1);
    expect(receiver.messages.length).toBe(before);
    await send();
    expect(relay.messages.length).toBe(1);
  };

  test('a complaint stops its stream, a hard bounce stops all mail', async () => {
    await using relay = await startSmtpReceiver();
    const env = { STREAM_ROUTES: `bulk=smtp://127.0.0.1:${relay.port}` };
    await using server = await startReturnPathServer({ env });
    await makeDigest(server);
    await expectPaced(server);
    await expectRouted(server, relay);
    await complainAbout(server, 'jane@example.com');
    expect(await streamsOf(server, 'jane@example.com')).toEqual([['digest', 'complaint']]);
    const refused = await server.app.call('POST', '/transactional/send', {
      key: server.app.liveKey,
      body: validMessage({ to: { email: 'jane@example.com' }, stream: 'digest' }),
    });
    expect(refused.json.status).toBe('suppressed');
    // A password reset still arrives at the receiver.
    const { raw } = await server.send({ to: { email: 'jane@example.com' }, subject: 'Reset' });
    expect(raw).toContain('Subject: Reset');

    const bounced = await server.send({ to: { email: 'joe@example.com' }, stream: 'digest' });
    await server.report(bounced.returnPath, dsn({ recipient: 'joe@example.com' }));
    expect(await streamsOf(server, 'joe@example.com')).toEqual([[null, 'hard_bounce']]);
    const stopped = await server.app.call('POST', '/transactional/send', {
      key: server.app.liveKey,
      body: validMessage({ to: { email: 'joe@example.com' } }),
    });
    expect(stopped.json.status).toBe('suppressed');
  });

  test('the operator can let a complaint stop all mail', async () => {
    await using server = await startReturnPathServer({ env: { COMPLAINT_SCOPE: 'everywhere' } });
    await makeDigest(server);
    await complainAbout(server, 'jane@example.com');
    expect(await streamsOf(server, 'jane@example.com')).toEqual([[null, 'complaint']]);
  });
});
