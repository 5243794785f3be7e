import { afterAll, beforeAll, expect, test } from 'vitest';
import { appendEvents, type NewEvent } from '../../../src/events/events-store.ts';
import { createEncryptor } from '../../../src/lib/crypto/encryption.ts';
import { decodeId } from '../../../src/lib/ids.ts';
import { startApp, type TestApp, validMessage } from '../../harness/app.ts';
import { until } from '../../harness/delivery/delivery-engine.ts';
import { startWebhookReceiver } from '../../harness/webhooks/webhook-receiver.ts';

/**
 * After an erasure no table contains the address, and all counts are unchanged. Messages of every kind
 * are sent to an address, some with other recipients; after the erasure every column of every table is
 * searched for it, and other people's data is compared.
 */

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ env: { WEBHOOK_ALLOW_PRIVATE: 'true' } });
});
afterAll(() => app[Symbol.asyncDispose]());

async function send(changes: Record<string, unknown>, key?: string): Promise<string> {
  const answer = await app.call('POST', '/transactional/send', {
    body: validMessage(changes),
    ...(key ? { key } : {}),
  });
  expect(answer.status).toBe(202);
  return answer.json.id;
}

async function settled(id: string): Promise<void> {
  await until(async () => {
    const { json } = await app.call('GET', `/messages/${id}`);
    return json.status !== 'queued' && json.status !== 'deferred';
  });
}

/** Tables of the whole database that still contain the pattern. */
async function placesOf(pattern: string): Promise<string[]> {
  const { pool } = app.database;
  const tables = await pool.query<{ name: string }>(
    `select c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = 'public' and c.relkind = 'r' and c.relname <> 'idempotency_keys'`,
  );
  const places: string[] = [];
  for (const { name } of tables.rows) {
    const found = await pool.query(`select from ${name} t where row_to_json(t)::text ~* $1`, [
      pattern,
    ]);
    if (found.rowCount) places.push(name);
  }
  return places;
}

async function counts(): Promise<unknown> {
  const { rows } = await app.database.pool.query(
    `select (select count(*) from messages) as messages, (select count(*) from deliveries) as deliveries,
       (select count(*) from attempts) as attempts,
       (select json_object_agg(status, n) from (select status, count(*) as n from deliveries
         group by status order by status) s) as statuses`,
  );
  return rows[0];
}

const ANN = 'Ann.Smith@gone.test';

test('every trace of the address is erased, and the counts stay', async () => {
  await app.call('PUT', `/contacts/${ANN}`, { body: { first_name: 'Ann', attributes: { a: 1 } } });
  const alone = await send({
    to: { email: ANN, name: 'Ann Smith' },
    subject: 'A secret for Ann',
    html: `<p>Hello Ann, you are ${ANN}</p>`,
    metadata: { user: ANN, order: '7' },
    attachments: [{ filename: 'a.txt', content: 'YQ==' }],
  });
  const shared = await send({
    to: { email: 'bob@stays.test', name: 'Bob' },
    cc: [{ email: ANN, name: 'Ann Smith' }],
    subject: 'About ann.smith@gone.test',
    html: `<p>Ask <a href="mailto:ANN.SMITH@gone.test">Ann</a> or joann.smith@gone.test, <a href="https://x.test/?u=ann.smith%40gone.test">here</a></p>`,
    text: `Ask ${ANN}.`,
  });
  const other = await send({ to: { email: 'joann.smith@gone.test' } });
  for (const id of [alone, shared, other]) await settled(id);
  await app.call('POST', '/suppressions', { body: { email: ANN, note: `requested by ${ANN}` } });
  const suppressed = await send({ to: { email: ANN } });
  const to = { email: ANN, name: 'Ann Smith' };
  const rejected = await app.call('POST', '/transactional/send', {
    body: validMessage({ to, subject: 'A secret for Ann', from: { email: `${ANN} ` }, html: 7 }),
  });
  expect(rejected.status).toBe(422);
  expect((await app.call('GET', '/requests?status=422')).json.data).toHaveLength(1);
  await app.database.pool.query(`update message_contents set signature = 'of the old words'`);
  // Whole addresses only: joann.smith is another person.
  const whole = '(^|[^a-z])ann\\.smith(@|%40)gone\\.test';
  expect((await placesOf(whole)).length).toBeGreaterThan(6);
  const before = await counts();

  const erased = await app.call('DELETE', `/contacts/${ANN}?erase=true`);
  expect(erased.status).toBe(200);
  expect(erased.json).toMatchObject({ status: 'finished', contacts: 1, messages: 3 });
  expect(erased.json.events).toBeGreaterThan(5);

  expect(await placesOf(whole)).toEqual([]);
  expect(await placesOf('ann smith')).toEqual([]);
  expect(await placesOf('a secret for ann')).toEqual([]);
  expect(await placesOf('joann.smith@gone.test')).not.toEqual([]);
  expect(await counts()).toEqual(before);

  const { id } = (await app.call('GET', '/requests?status=422')).json.data[0];
  expect((await app.call('GET', `/requests/${id}`)).json.body).toBe('[erased]');
  const gone = await app.call('GET', `/messages/${alone}`);
  expect(gone.json).toMatchObject({
    subject: '[erased]',
    status: 'delivered',
    metadata: { user: 'erased@erased.invalid', order: '7' },
    recipients: [{ email: 'erased@erased.invalid', status: 'delivered' }],
  });
  expect((await app.call('GET', `/messages/${alone}/content`)).status).toBe(404);
  expect((await app.call('GET', `/test/inbox/${alone}`)).status).toBe(404);
  const content = await app.call('GET', `/messages/${shared}/content`);
  expect(content.json.html).toBe(
    '<p>Ask <a href="mailto:erased@erased.invalid">Ann</a> or joann.smith@gone.test, <a href="https://x.test/?u=erased@erased.invalid">here</a></p>',
  );
  expect(content.json.text).toBe('Ask erased@erased.invalid.');
  expect(await placesOf('of the old words')).toHaveLength(1);
  const { rows } = await app.database.pool.query<{ recipients: number }>(
    `select count(*) as recipients from message_contents c
       join deliveries d on d.message_id = c.id and d.recipient_key = 'bob@stays.test'
     where c.signature is null`,
  );
  expect(rows[0]?.recipients).toBe(1);
  const raw = await app.call('GET', `/messages/${shared}/raw`);
  expect(raw.text).toMatch(/^To: Bob <bob@stays.test>\r$/m);
  expect(raw.text).toMatch(/^Cc: erased@erased.invalid\r$/m);
  expect((await app.call('GET', `/messages/${suppressed}`)).json.status).toBe('suppressed');
  expect((await app.call('GET', `/messages?recipient=${ANN}`)).json.data).toEqual([]);
  expect((await app.call('GET', `/suppressions?email=${ANN}`)).json.data).toEqual([]);
  expect((await app.call('GET', `/contacts/${ANN}`)).status).toBe(404);
});

test('an address without a contact can be erased, and erasing twice is not an error', async () => {
  const id = await send({ to: { email: 'unknown@gone.test' } });
  await settled(id);
  const first = await app.call('DELETE', '/contacts/Unknown@gone.test?erase=true');
  expect([first.status, first.json.contacts, first.json.messages]).toEqual([200, 0, 1]);
  const second = await app.call('DELETE', '/contacts/unknown@gone.test?erase=true');
  expect([second.status, second.json.messages]).toEqual([200, 0]);
  expect(await placesOf('unknown@gone.test')).toEqual([]);
  const stand = await app.call('DELETE', '/contacts/erased@erased.invalid?erase=true');
  expect(stand.status).toBe(200);
});

test('webhook response bodies that contain the address are erased too, even of deleted endpoints', async () => {
  const address = 'echo@gone.test';
  // One endpoint echoes the event, one has not responded yet when the address is erased.
  await using echo = await startWebhookReceiver({ answer: ({ body }) => ({ status: 200, body }) });
  await using slow = await startWebhookReceiver({ answer: () => 'hang' });
  const endpoints: string[] = [];
  for (const { url } of [echo, echo, slow]) {
    endpoints.push((await app.call('POST', '/webhooks', { body: { url } })).json.id);
  }
  await settled(await send({ to: { email: address } }));
  await app.call('POST', '/suppressions', { body: { email: address } });
  const { pool } = app.database;
  const answers = async (pattern: string) =>
    (
      await pool.query('select from webhook_deliveries where first_response_body like $1', [
        `%${pattern}%`,
      ])
    ).rowCount;
  await until(async () => (await answers(address)) === 6 && slow.received.length >= 3);
  await app.call('DELETE', `/webhooks/${endpoints[0]}`);
  const leased = async () =>
    (await pool.query('select from webhook_deliveries where lease is not null')).rowCount;
  expect(await leased()).toBeGreaterThanOrEqual(3);

  const { json } = await app.call('DELETE', `/contacts/${address}?erase=true`);
  expect(json.status).toBe('finished');
  expect(await placesOf(address)).toEqual([]);
  expect(await answers('[erased]')).toBe(6);
  const ofSlow = decodeId('whk', endpoints[2] as string);
  const attempts = await pool.query(
    'select from webhook_deliveries where webhook_id = $1 and attempts > 0',
    [ofSlow],
  );
  expect(attempts.rowCount).toBe(0);
  for (const id of endpoints.slice(1)) await app.call('DELETE', `/webhooks/${id}`);
});

test('the encrypted content of a message with secret values is erased too', async () => {
  const id = await send({
    to: { email: 'stays@stays.test' },
    cc: [{ email: 'sealed@gone.test', name: 'Sealed Name' }],
  });
  await settled(id);
  const encryptor = createEncryptor(app.app.storage.secretKey, 'content');
  const secretContent = {
    subject: 'For sealed@gone.test',
    head: {
      to: [{ email: 'stays@stays.test', name: 'S' }],
      cc: [{ email: 'sealed@gone.test', name: 'Sealed Name' }],
    },
    html: '<p>sealed@gone.test 123456</p>',
    text: null,
  };
  const uuid = decodeId('msg', id);
  await app.database.pool.query(
    'update message_contents set encrypted_content = $2 where id = $1',
    [uuid, encryptor.encrypt(Buffer.from(JSON.stringify(secretContent)))],
  );
  expect((await app.call('DELETE', '/contacts/sealed@gone.test?erase=true')).status).toBe(200);
  const { rows } = await app.database.pool.query<{ encrypted_content: Buffer }>(
    'select encrypted_content from message_contents where id = $1',
    [uuid],
  );
  expect(JSON.parse(encryptor.decrypt(rows[0]?.encrypted_content as Buffer).toString())).toEqual({
    subject: 'For erased@erased.invalid',
    head: {
      to: [{ email: 'stays@stays.test', name: 'S' }],
      cc: [{ email: 'erased@erased.invalid' }],
    },
    html: '<p>erased@erased.invalid 123456</p>',
    text: null,
  });
});

test('a failed erasure is retried and does not delay others, and those of requests are left to them', async () => {
  const id = await send({ to: { email: 'stays@stays.test' }, cc: [{ email: 'broken@gone.test' }] });
  await settled(id);
  const uuid = decodeId('msg', id);
  const { pool } = app.database;
  await pool.query(
    `update message_contents set encrypted_content = 'not sealed by us' where id = $1`,
    [uuid],
  );
  await pool.query(
    `insert into erasures (workspace_id, mode, email_key, requested_at)
     select $1::uuid, 'test'::mode, email, now() + after::interval
       from (values ('broken@gone.test', '-1 minute'), ('other@gone.test', '-1 minute'),
         ('requested@gone.test', '1 minute')) as given (email, after)`,
    [app.workspaceId],
  );
  const left = async (): Promise<string[]> =>
    (
      await pool.query<{ email_key: string }>('select email_key from erasures order by email_key')
    ).rows.map((row) => row.email_key);
  await until(async () => !(await left()).includes('other@gone.test'));
  expect(await left()).toEqual(['broken@gone.test', 'requested@gone.test']);
  await pool.query('update message_contents set encrypted_content = null where id = $1', [uuid]);
  await until(async () => (await left()).length === 1);
  expect(await left()).toEqual(['requested@gone.test']);
  await pool.query('delete from erasures');
  expect(await placesOf('broken@gone.test')).toEqual([]);
});

test('an erasure with a long history is split into short transactions', async () => {
  const { pool } = app.database;
  const { id: workspaceId } = await app.app.workspaces.create('A long history');
  const key = await app.newKey({ workspaceId });
  const event = (email: string): NewEvent => ({
    ...{ workspaceId, mode: 'test', type: 'suppression.created', atMs: Date.now() },
    data: { suppression: { email } },
  });
  const others = Array.from({ length: 6_000 }, (_, n) => event(`n${n}@stays.test`));
  await appendEvents(pool, [event('long@gone.test'), ...others]);
  await appendEvents(pool, [...others, event('long@gone.test')]);
  const erased = await app.call('DELETE', '/contacts/long@gone.test?erase=true', { key });
  expect(erased.json).toMatchObject({ status: 'finished', events: 2 });
  expect(await placesOf('long@gone.test')).toEqual([]);
  const { rows } = await pool.query<{ commits: number }>(
    `select count(distinct xmin::text)::int as commits from events
      where workspace_id = $1 and data::text like '%erased.invalid%'`,
    [workspaceId],
  );
  expect(rows[0]?.commits).toBe(2);
});

test('erases by contact id; an unknown id is 404', async () => {
  const made = await app.call('PUT', '/contacts/by-id@gone.test', { body: {} });
  const erased = await app.call('DELETE', `/contacts/${made.json.id}?erase=true`);
  expect([erased.status, erased.json.contacts]).toEqual([200, 1]);
  expect((await app.call('DELETE', `/contacts/${made.json.id}?erase=true`)).status).toBe(404);
});

test('queued deliveries to the address are cancelled, other recipients still get the message', async () => {
  const scheduledAt = new Date(Date.now() + 3_600_000).toISOString();
  const alone = await send({ to: { email: 'later@gone.test' }, scheduled_at: scheduledAt });
  const shared = await send({
    to: { email: 'stays@stays.test' },
    bcc: [{ email: 'later@gone.test' }],
    scheduled_at: scheduledAt,
  });
  expect((await app.call('DELETE', '/contacts/later@gone.test?erase=true')).status).toBe(200);
  const cancelled = await app.call('GET', `/messages/${alone}`);
  expect(cancelled.json.status).toBe('cancelled');
  expect(cancelled.json.events.at(-1)).toMatchObject({
    type: 'message.cancelled',
    sequence: 3,
    data: { recipient: 'erased@erased.invalid' },
  });
  const half = await app.call('GET', `/messages/${shared}`);
  expect(half.json.recipients).toEqual([
    expect.objectContaining({ email: 'stays@stays.test', status: 'scheduled' }),
    expect.objectContaining({ email: 'erased@erased.invalid', status: 'cancelled' }),
  ]);
  expect((await app.call('GET', `/messages/${shared}/content`)).status).toBe(200);
  expect(await placesOf('later@gone.test')).toEqual([]);
});

test('a suppression can be kept as a hash, and can be found and deleted by its address', async () => {
  await app.call('POST', '/suppressions', {
    body: { email: 'never@gone.test', reason: 'complaint', note: 'never@gone.test called' },
  });
  await app.call('DELETE', '/contacts/never@gone.test?erase=true&keep_suppression=true');
  expect(await placesOf('never@gone.test')).toEqual([]);
  const kept = await app.call('GET', '/suppressions?email=Never@gone.test');
  expect(kept.json.data).toEqual([
    expect.objectContaining({
      email: null,
      domain: null,
      erased: true,
      reason: 'complaint',
      note: null,
    }),
  ]);
  await app.call('DELETE', '/contacts/never@gone.test?erase=true&keep_suppression=true');
  const again = await app.call('GET', '/suppressions?email=never@gone.test');
  expect(again.json.data).toEqual(kept.json.data);
  const other = await app.call('GET', '/suppressions?email=never@gone.test', { key: app.liveKey });
  expect(other.json.data).toEqual([]);
  const stopped = await app.call('POST', '/transactional/send', {
    body: validMessage({ to: { email: 'NEVER@gone.test' } }),
  });
  expect(stopped.json).toMatchObject({
    status: 'suppressed',
    recipients: [{ status: 'suppressed', reason: 'complaint' }],
  });
  await app.call('DELETE', '/contacts/never@gone.test?erase=true&keep_suppression=true');
  expect((await app.call('DELETE', '/suppressions?email=never@gone.test')).status).toBe(204);
  expect((await app.call('GET', '/suppressions?email=never@gone.test')).json.data).toEqual([]);
});

test('live and test mode are erased separately', async () => {
  const test = await send({ to: { email: 'both@gone.test' } });
  await settled(test);
  await app.call('PUT', '/contacts/both@gone.test', { key: app.liveKey, body: {} });
  const erased = await app.call('DELETE', '/contacts/both@gone.test?erase=true', {
    key: app.liveKey,
  });
  expect(erased.json).toMatchObject({ contacts: 1, messages: 0 });
  expect((await app.call('GET', '/messages?recipient=both@gone.test')).json.data).toHaveLength(1);
});

test('an erasure that takes longer than the request continues in the background', async () => {
  const id = await send({ to: { email: 'busy@gone.test' } });
  await settled(id);
  const holder = await app.database.pool.connect();
  await holder.query('begin');
  await holder.query(`select from deliveries where recipient_key = 'busy@gone.test' for update`);
  // The pool terminates idle transactions: keep this one busy.
  const busy = setInterval(() => void holder.query('select').catch(() => {}), 2_000);
  const answer = await app.call('DELETE', '/contacts/busy@gone.test?erase=true');
  expect([answer.status, answer.json.status]).toEqual([202, 'running']);
  clearInterval(busy);
  await holder.query('rollback');
  holder.release();
  await until(async () => (await placesOf('busy@gone.test')).length === 0, {
    what: 'the erasure to finish',
  });
  const { rowCount } = await app.database.pool.query('select from erasures');
  expect(rowCount).toBe(0);
});
