import { afterAll, beforeAll, expect, test } from 'vitest';
import { decodeId } from '../../../src/lib/ids.ts';
import { startApp, type TestApp, validMessage } from '../../harness/app.ts';
import { until } from '../../harness/until.ts';

/**
 * Messages are found with every filter, pages are stable while new messages arrive, and unsent messages can
 * be changed. Scheduled messages do not change until a request changes them.
 */

let app: TestApp;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app[Symbol.asyncDispose]());

const inAnHour = (): string => new Date(Date.now() + 3_600_000).toISOString();

async function send(changes: Record<string, unknown> = {}) {
  return (await app.call('POST', '/transactional/send', { body: validMessage(changes) })).json;
}

async function idsOf(query: string): Promise<string[]> {
  const { json } = await app.call('GET', `/messages?limit=100&${query}`);
  return json.data.map((message: { id: string }) => message.id);
}

test('every filter finds matching messages only', async () => {
  const mine = await send({
    to: { email: 'Filter.Me@example.com' },
    subject: 'Quarterly Überblick',
    tags: ['filter-tag'],
    metadata: { order: 'A-17', shop: 'b' },
    scheduled_at: inAnHour(),
  });
  const other = await send({ subject: 'Another' });
  for (const query of [
    'recipient=filter.me@example.com',
    'tag=filter-tag',
    'metadata[order]=A-17',
    'metadata[order]=A-17&metadata[shop]=b',
    'status=scheduled',
    'q=quarterly',
    'q=filter.me',
    `q=${encodeURIComponent('überblick quarterly')}`,
    `created_after=${new Date(Date.parse(mine.created_at)).toISOString()}&tag=filter-tag`,
  ]) {
    expect([query, await idsOf(query)]).toEqual([query, [mine.id]]);
  }
  expect(await idsOf('metadata[order]=A-17&metadata[shop]=c')).toEqual([]);
  expect(await idsOf('template_key=none')).toEqual([]);
  expect(await idsOf('created_before=2020-01-01T00:00:00Z')).toEqual([]);
  expect(await idsOf('q=another')).toContain(other.id);
});

test('messages are found by the reason of a recipient and by the key that sent them', async () => {
  const key = await app.newKey({ mode: 'test' });
  const keys = await app.call('GET', '/api-keys?limit=1');
  const body = validMessage({ to: { email: 'bounced@simulator.test' }, tags: ['reasons'] });
  const { id } = (await app.call('POST', '/transactional/send', { key, body })).json;
  await send({ to: { email: 'jane@example.com' }, tags: ['reasons'] });
  await until(async () => (await idsOf('tag=reasons&status=bounced')).length === 1);
  expect(await idsOf('tag=reasons&reason=unknown_mailbox')).toEqual([id]);
  expect(await idsOf('tag=reasons&reason=mailbox_full')).toEqual([]);
  expect(await idsOf(`api_key_id=${keys.json.data[0].id}`)).toEqual([id]);
  expect(
    await idsOf(`recipient=bounced@simulator.test&api_key_id=${keys.json.data[0].id}`),
  ).toEqual([id]);
});

test('messages are found by sender and by recipient', async () => {
  const gmail = await send({
    from: { email: 'hello@Bills.Example' },
    to: { email: 'someone@gmail.com' },
    cc: [{ email: 'boss@corp.example' }],
    scheduled_at: inAnHour(),
  });
  const office = await send({
    from: { email: 'hello@sub.bills.example' },
    to: { email: 'other@corp.example' },
    scheduled_at: inAnHour(),
  });
  // Text from the receiver's reply, as after an attempt.
  const mx = 'corp-example.mail.protection.outlook.com';
  await app.database.pool.query(
    `update deliveries set smtp = $1 where recipient_key = 'other@corp.example'`,
    [{ code: 250, enhanced: null, text: 'OK', mx, ip: '192.0.2.1', tls: null }],
  );
  const found = async (query: string) =>
    (await idsOf(query)).filter((id) => id === gmail.id || id === office.id);
  expect(await found('domain=bills.example')).toEqual([gmail.id]);
  expect(await found('domain=SUB.bills.example')).toEqual([office.id]);
  expect(await found('receiver=google')).toEqual([gmail.id]);
  expect(await found('receiver=microsoft')).toEqual([office.id]);
  expect(await found('receiver=gmail.com')).toEqual([gmail.id]);
  expect(await found('receiver=corp.example')).toEqual([office.id, gmail.id]);
  expect(await found('receiver=orp.example')).toEqual([]);
  expect(await found('receiver=other')).toEqual([gmail.id]);
  expect(await found('recipient=boss@corp.example&receiver=google')).toEqual([gmail.id]);
  expect(await found('recipient=other@corp.example&domain=bills.example')).toEqual([]);
});

test('pages are stable while new messages arrive', async () => {
  const made: string[] = [];
  for (let i = 0; i < 7; i++) made.push((await send({ tags: ['pages'] })).id);
  const seen: string[] = [];
  let cursor: string | null = null;
  do {
    const from: string = cursor ? `&cursor=${cursor}` : '';
    const { json } = await app.call('GET', `/messages?tag=pages&limit=2${from}`);
    seen.push(...json.data.map((message: { id: string }) => message.id));
    cursor = json.next_cursor;
    await send({ tags: ['pages'] });
  } while (cursor);
  expect(seen).toEqual(made.toReversed());
});

test('an invalid cursor, limit or timestamp is named', async () => {
  for (const [query, parameter] of [
    ['cursor=nonsense', 'cursor'],
    ['limit=0', 'limit'],
    ['limit=101', 'limit'],
    ['limit=x', 'limit'],
    ['created_after=yesterday', 'created_after'],
    ['status=sent', 'status'],
    ['recipient=jane', 'recipient'],
    ['domain=not%20a%20domain', 'domain'],
    ['receiver=goggle', 'receiver'],
    ['reason=Not%20one', 'reason'],
    ['api_key_id=msg_1', 'api_key_id'],
  ]) {
    const { status, json } = await app.call('GET', `/messages?${query}`);
    expect([query, status]).toEqual([query, 422]);
    expect(json.errors[0].parameter).toBe(parameter);
  }
});

test('a scheduled message is rescheduled, then cancelled, then neither is possible', async () => {
  const { id } = await send({ scheduled_at: inAnHour() });
  const later = new Date(Date.now() + 7_200_000).toISOString();
  const moved = await app.call('PATCH', `/messages/${id}`, { body: { scheduled_at: later } });
  expect(moved.status).toBe(200);
  expect(moved.json).toMatchObject({ status: 'scheduled', scheduled_at: later });
  const wrong = await app.call('PATCH', `/messages/${id}`, {
    body: { scheduled_at: '2020-01-01T00:00:00Z' },
  });
  expect(wrong.status).toBe(422);
  const cancelled = await app.call('POST', `/messages/${id}/cancel`);
  expect(cancelled.json.status).toBe('cancelled');
  const again = await app.call('POST', `/messages/${id}/cancel`);
  expect([again.status, again.json.code]).toEqual([409, 'not_cancellable']);
  const late = await app.call('PATCH', `/messages/${id}`, { body: { scheduled_at: later } });
  expect([late.status, late.json.code]).toEqual([409, 'conflict']);
  const { json } = await app.call('GET', `/messages/${id}`);
  expect(json.events.map((event: { type: string }) => event.type)).toEqual([
    'message.accepted',
    'message.scheduled',
    'message.rescheduled',
    'message.cancelled',
  ]);
});

test('a scheduled message is sent now on request', async () => {
  const to = `hurried-${Date.now()}@example.com`;
  const { id } = await send({ scheduled_at: inAnHour(), to: { email: to }, ttl_seconds: 600 });
  const moved = await app.call('PATCH', `/messages/${id}`, { body: { scheduled_at: null } });
  expect(moved.status).toBe(200);
  expect(Date.parse(moved.json.scheduled_at)).toBeLessThanOrEqual(Date.now());
  const { json } = await app.call('GET', `/test/inbox/wait?to=${to}`);
  expect(json.message.id).toBe(id);
  const again = await app.call('PATCH', `/messages/${id}`, { body: { scheduled_at: null } });
  expect([again.status, again.json.code]).toEqual([409, 'conflict']);
});

test('a scheduled message is sent on time', async () => {
  const scheduled_at = new Date(Date.now() + 3_000).toISOString();
  const { id, status } = await send({ scheduled_at, to: { email: 'timed@example.com' } });
  expect(status).toBe('scheduled');
  const { json } = await app.call('GET', '/test/inbox/wait?to=timed@example.com');
  expect(json.message.id).toBe(id);
  expect(Date.parse(json.message.arrived_at)).toBeGreaterThanOrEqual(Date.parse(scheduled_at));
  const { text } = await app.call('GET', `/messages/${id}/raw`);
  expect(text).toContain(`Date: ${new Date(scheduled_at).toUTCString().replace('GMT', '+0000')}`);
});

test('a bounced message can be retried, a delivered one cannot', async () => {
  const bounced = await send({ to: { email: 'bounced@simulator.test' } });
  const bouncedAfter = (attempts: number) =>
    until(async () => {
      const { json } = await app.call('GET', `/messages/${bounced.id}`);
      return json.status === 'bounced' && json.recipients[0].attempts === attempts;
    });
  await bouncedAfter(1);
  const retried = await app.call('POST', `/messages/${bounced.id}/retry`);
  // The engine may be faster than the response, which reads the message after the commit.
  expect(['queued', 'bounced']).toContain(retried.json.status);
  await bouncedAfter(2);

  const { id } = await send({ to: { email: 'fine@example.com' } });
  await app.call('GET', '/test/inbox/wait?to=fine@example.com');
  const refused = await app.call('POST', `/messages/${id}/retry`);
  expect([refused.status, refused.json.code]).toEqual([409, 'not_retryable']);
});

test('rescheduling and retrying stop before their counters overflow', async () => {
  const wear = (id: string, column: string, count: number) =>
    app.database.pool.query(
      `update deliveries set ${column} = $3 where workspace_id = $1 and message_id = $2`,
      [app.workspaceId, decodeId('msg', id), count],
    );
  const scheduled = await send({ scheduled_at: inAnHour() });
  const move = () =>
    app.call('PATCH', `/messages/${scheduled.id}`, { body: { scheduled_at: inAnHour() } });
  await wear(scheduled.id, 'event_sequence', 9_999);
  expect((await move()).status).toBe(200);
  const moved = await move();
  expect([moved.status, moved.json.code]).toEqual([409, 'conflict']);

  const bounced = await send({ to: { email: 'bounced@simulator.test' } });
  const hasBounced = () =>
    until(async () => {
      const { json } = await app.call('GET', `/messages/${bounced.id}`);
      return json.status === 'bounced';
    });
  const retry = () => app.call('POST', `/messages/${bounced.id}/retry`);
  await hasBounced();
  await wear(bounced.id, 'attempts', 9_999);
  expect((await retry()).status).toBe(200);
  await hasBounced();
  const retried = await retry();
  expect([retried.status, retried.json.code]).toEqual([409, 'not_retryable']);
});

test('the database rejects an invalid status transition', async () => {
  const { id } = await send({ scheduled_at: inAnHour() });
  expect(id).toMatch(/^msg_/);
  await expect(
    app.database.pool.query(
      `update deliveries set status = 'delivered' where status = 'scheduled'`,
    ),
  ).rejects.toThrow(/invalid delivery transition from scheduled to delivered/);
});

test('content and raw return what was sent', async () => {
  const { id } = await send({
    text: 'Plain text',
    attachments: [
      { filename: 'Rechnung ä.pdf', content: 'aGVsbG8=', content_type: 'application/pdf' },
    ],
    headers: { 'X-Campaign': 'spring' },
    reply_to: { email: 'help@example.org', name: 'Hélp' },
  });
  const { json } = await app.call('GET', `/messages/${id}/content`);
  expect(json).toMatchObject({
    subject: 'Hello',
    html: '<p>Hello!</p>',
    text: 'Plain text',
    attachments: [{ filename: 'Rechnung ä.pdf', content_type: 'application/pdf', size_bytes: 5 }],
  });
  const raw = await app.call('GET', `/messages/${id}/raw`);
  expect(Buffer.byteLength(raw.text)).toBe(json.size_bytes);
  expect(raw.text).toContain('X-Campaign: spring');
});

test('one-time codes are found anywhere in the message', async () => {
  for (const [where, content] of Object.entries({
    subject: { subject: 'Your code is 771204', html: '<p>See above.</p>' },
    text: { html: '<p>See the text.</p>', text: 'Your code is 771204' },
    html: { html: '<p>Your code is <b>771204</b></p>', text: 'See the html.' },
    both: { html: '<p>Your code is <b>771204</b></p>' },
  })) {
    const to = `code-${where}-${Date.now()}@example.com`;
    await send({ to: { email: to }, ...content });
    const { json } = await app.call('GET', `/test/inbox/wait?to=${to}`);
    expect([where, json.message.codes]).toEqual([where, ['771204']]);
  }
});

test('an invalid address is rejected immediately instead of waited for', async () => {
  for (const [path, parameter] of [
    ['/test/inbox/wait?to=jane', 'to'],
    ['/test/inbox?to=jane', 'to'],
    ['/events?recipient=jane', 'recipient'],
  ] as const) {
    const { status, json } = await app.call('GET', path);
    expect([path, status, json.errors?.[0].parameter]).toEqual([path, 422, parameter]);
  }
});

test('the test inbox lists, returns, waits once per message, and is cleared', async () => {
  await app.call('DELETE', '/test/inbox');
  const { id } = await send({
    to: { email: 'inbox@example.com' },
    subject: 'Your code is 123 456',
  });
  const waited = await app.call('GET', '/test/inbox/wait?subject=your%20code&timeout=20');
  expect(waited.json.message.id).toBe(id);
  const twice = await app.call('GET', '/test/inbox/wait?subject=your%20code&timeout=1');
  expect(twice.json).toEqual({ message: null });
  const list = await app.call('GET', '/test/inbox?to=INBOX@example.com');
  expect(list.json.data.map((mail: { id: string }) => mail.id)).toEqual([id]);
  expect((await app.call('GET', `/test/inbox/${id}`)).json.html).toBe('<p>Hello!</p>');
  expect((await app.call('DELETE', `/test/inbox/${id}`)).status).toBe(204);
  expect((await app.call('GET', `/test/inbox/${id}`)).status).toBe(404);
  expect((await app.call('GET', `/messages/${id}`)).status).toBe(200);
  const live = await app.call('GET', '/test/inbox', { key: app.liveKey });
  expect(live.status).toBe(403);
});

test('the number of concurrent waits per workspace is limited, without affecting others', async () => {
  const other = await app.app.workspaces.create('Patient');
  const otherKey = await app.newKey({ workspaceId: other.id });
  const briefly = (key: string) =>
    app.call('GET', '/test/inbox/wait?to=nobody@wait.example&timeout=1', { key });
  const hundred = await Promise.all(Array.from({ length: 100 }, () => briefly(app.testKey)));
  expect(hundred.map(({ status }) => status)).toEqual(hundred.map(() => 200));

  const gone = new AbortController();
  const waits = Array.from({ length: 101 }, () =>
    fetch(`${app.url}/api/v1/test/inbox/wait?to=nobody@wait.example&timeout=20`, {
      headers: { authorization: `Bearer ${app.testKey}` },
      signal: gone.signal,
    }).catch(() => undefined),
  );
  // All others keep waiting, so the first response is the one over the limit.
  expect((await Promise.race(waits))?.status).toBe(429);
  expect((await briefly(otherKey)).json).toEqual({ message: null });
  gone.abort();
  await Promise.all(waits);
  await until(async () => (await briefly(app.testKey)).status === 200);
});
