import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { uuidv7 } from '../../../src/lib/ids.ts';
import { ManualClock } from '../../../src/lib/time/manual-clock.ts';
import { startApp, type TestApp } from '../../harness/app.ts';
import { startWebhookReceiver } from '../../harness/webhooks/webhook-receiver.ts';

/**
 * Inbound messages in the API: simulated in test mode, listed, read, downloaded and deleted, with the
 * limits that content from anyone needs.
 */

let app: TestApp;

beforeAll(async () => {
  app = await startApp({ env: { WEBHOOK_ALLOW_PRIVATE: 'true' } });
  // Neither verified nor receiving: simulated mail needs neither.
  for (const name of ['reply.test', 'other.test']) {
    const { status } = await app.call('POST', '/domains', { body: { name } });
    expect(status).toBe(201);
  }
});
afterAll(() => app[Symbol.asyncDispose]());

const MAIL = {
  from: { email: 'jane@example.com', name: 'Jane' },
  to: { email: 'Ticket+42@reply.test' },
  subject: 'Re: Your order',
  text: 'It has arrived.',
};

async function simulated(more: object = {}) {
  const { status, json } = await app.call('POST', '/inbound-messages/simulate', {
    body: { ...MAIL, ...more },
  });
  expect(status, JSON.stringify(json)).toBe(201);
  return json;
}

async function errorsOf(body: object): Promise<string[]> {
  const { status, json } = await app.call('POST', '/inbound-messages/simulate', { body });
  expect(status).toBe(422);
  return json.errors.map(({ pointer, code }: Record<string, string>) => `${pointer} ${code}`);
}

async function listed(query: string): Promise<string[]> {
  const { status, json } = await app.call('GET', `/inbound-messages?${query}`);
  expect(status).toBe(200);
  return json.data.map(({ subject }: { subject: string }) => subject);
}

/** The bytes of a response that is not JSON. */
async function download(path: string) {
  const response = await fetch(`${app.url}/api/v1${path}`, {
    headers: { authorization: `Bearer ${app.testKey}` },
  });
  return { response, bytes: Buffer.from(await response.arrayBuffer()) };
}

describe('a simulated message', () => {
  test('is stored, reported and readable like one that arrives over SMTP', async () => {
    const { status, json, headers } = await app.call('POST', '/inbound-messages/simulate', {
      body: {
        ...MAIL,
        html: '<p>It has <b>arrived</b>.</p>',
        headers: { 'Auto-Submitted': 'auto-replied', 'Message-ID': '<own@example.com>' },
        attachments: [
          { filename: 'März.txt', content: Buffer.from('hello').toString('base64') },
          { filename: 'logo.png', content: 'aGk=', content_id: 'logo' },
        ],
      },
    });
    expect(status).toBe(201);
    expect(headers.get('location')).toBe(`/api/v1/inbound-messages/${json.id}`);
    expect(json).toMatchObject({
      mode: 'test',
      domain: 'reply.test',
      envelope: { from: 'jane@example.com', to: ['Ticket+42@reply.test'] },
      from: { email: 'jane@example.com', name: 'Jane' },
      to: [{ email: 'Ticket+42@reply.test', name: null }],
      message_id: 'own@example.com',
      authentication: null,
      attachments: [
        { index: 0, filename: 'logo.png', content_id: 'logo' },
        { index: 1, filename: 'März.txt', content_type: 'text/plain', size_bytes: 5 },
      ],
    });
    expect(json.text).toBeUndefined();

    const { json: read } = await app.call('GET', `/inbound-messages/${json.id}`);
    expect(read).toMatchObject({
      ...json,
      text: 'It has arrived.',
      html: '<p>It has <b>arrived</b>.</p>',
      references: [],
    });
    expect(read.headers).toContainEqual({ name: 'Auto-Submitted', value: 'auto-replied' });

    const { json: events } = await app.call('GET', '/events?type=inbound_message.*&order=desc');
    expect(events.data[0]).toMatchObject({ type: 'inbound_message.received', data: json });
  });

  test('answers a message of test mode', async () => {
    const { json: sent } = await app.call('POST', '/transactional/send', {
      body: {
        to: { email: 'jane@example.com' },
        from: { email: 'shop@reply.test' },
        subject: 'Your order',
        text: 'It is on its way.',
      },
    });
    const reply = await simulated({ subject: 'Answer', in_reply_to_message_id: sent.id });
    expect(reply).toMatchObject({
      in_reply_to: `${sent.id}@reply.test`,
      in_reply_to_message_id: sent.id,
    });
    await simulated({ subject: 'Another answer', in_reply_to_message_id: sent.id });
    const query = `in_reply_to_message_id=${sent.id}`;
    expect(await listed(query)).toEqual(['Another answer', 'Answer']);
    expect(await listed(`${query}&q=another`)).toEqual(['Another answer']);
    const { json: read } = await app.call('GET', `/inbound-messages/${reply.id}`);
    expect(read.references).toEqual([`${sent.id}@reply.test`]);
  });

  test('reports everything that is wrong with it at once', async () => {
    expect(
      await errorsOf({
        ...MAIL,
        from: { email: 'jane@example.com', name: 'a\r\nBcc: x@example.com' },
        to: { email: 'no address' },
        subject: 'a\nb',
        headers: { From: 'x@example.com', 'X-Line': 'a\r\nb' },
        attachments: [{ filename: 'a/b', content: '?' }],
        in_reply_to_message_id: 'msg_01kc8x3f7ye6qvj2m4n5p6q7r8',
      }),
    ).toEqual([
      '/in_reply_to_message_id not_found',
      '/from/name invalid_text',
      '/to/email invalid_email',
      '/headers/From reserved_header',
      '/headers/X-Line invalid_text',
      '/attachments/0/filename invalid_filename',
      '/attachments/0/content invalid_base64',
      '/subject invalid_text',
    ]);
    expect(await errorsOf({ ...MAIL, to: { email: 'x@not-ours.test' } })).toEqual([
      '/to/email unknown_domain',
    ]);
    const { json: sent } = await app.call('POST', '/transactional/send', {
      body: {
        to: { email: 'jane@example.com' },
        from: { email: 'shop@reply.test' },
        subject: 'x',
        text: 'x',
      },
    });
    expect(
      await errorsOf({
        ...MAIL,
        headers: { References: '<a@example.com>' },
        in_reply_to_message_id: sent.id,
      }),
    ).toEqual(['/headers/References conflict']);
  });

  test('cannot be sent to the domain of another workspace', async () => {
    const { id } = await app.app.workspaces.create('Rival');
    const key = await app.newKey({ workspaceId: id });
    const { status, json } = await app.call('POST', '/inbound-messages/simulate', {
      key,
      body: MAIL,
    });
    expect([status, json.errors?.[0].code]).toEqual([422, 'unknown_domain']);
  });

  test('needs a test key, and its scope', async () => {
    const path = '/inbound-messages/simulate';
    const live = await app.call('POST', path, { key: app.liveKey, body: MAIL });
    expect([live.status, live.json.code]).toEqual([403, 'wrong_mode']);
    const key = await app.newKey({ scopes: ['read:inbound_messages', 'write:messages'] });
    const denied = await app.call('POST', path, { key, body: MAIL });
    expect([denied.status, denied.json.code]).toEqual([403, 'insufficient_scope']);
  });
});

describe('the list', () => {
  test('finds messages by address, domain, text and time, and pages through them', async () => {
    // Ahead of other tests in this process: IDs do not follow a clock that is set back a little.
    const clock = new ManualClock(Date.now() + 77 * 60_000);
    await using own = await startApp({ clock });
    for (const name of ['reply.test', 'other.test']) {
      await own.call('POST', '/domains', { body: { name } });
    }
    for (const more of [
      { subject: 'L1', from: { email: 'First@list.example', name: 'Needle' } },
      { subject: 'L2', to: { email: 'ticket@other.test' } },
      { subject: 'L3', from: { email: 'third@list.example' } },
    ]) {
      clock.advance(1_000);
      await own.call('POST', '/inbound-messages/simulate', { body: { ...MAIL, ...more } });
    }
    const at = (secondsAgo: number) => new Date(clock.now() - secondsAgo * 1_000).toISOString();
    const list = async (query: string) => {
      const { json } = await own.call('GET', `/inbound-messages?${query}`);
      return json.data.map(({ subject }: { subject: string }) => subject);
    };
    expect(await list('')).toEqual(['L3', 'L2', 'L1']);
    expect(await list('from=first@LIST.example')).toEqual(['L1']);
    expect(await list('to=ticket%2B42@reply.test')).toEqual(['L3', 'L1']);
    expect(await list('to=@other.test')).toEqual(['L2']);
    expect(await list('domain=Other.Test')).toEqual(['L2']);
    expect(await list('q=needle')).toEqual(['L1']);
    expect(await list(`received_after=${at(1)}`)).toEqual(['L3', 'L2']);
    expect(await list(`received_before=${at(1)}`)).toEqual(['L1']);
    expect(await list(`received_after=${at(1)}&domain=reply.test`)).toEqual(['L3']);

    const first = await own.call('GET', '/inbound-messages?limit=2');
    const cursor = encodeURIComponent(first.json.next_cursor);
    expect(await list(`limit=2&cursor=${cursor}`)).toEqual(['L1']);
  });

  test.each([
    ['from=nobody', 'from'],
    ['to=@not%20a%20domain', 'to'],
    ['to=nobody', 'to'],
    ['domain=-', 'domain'],
    ['in_reply_to_message_id=inm_01kc8x3f7ye6qvj2m4n5p6q7r8', 'in_reply_to_message_id'],
    ['cursor=x', 'cursor'],
  ])('refuses %s by name', async (query, parameter) => {
    const { status, json } = await app.call('GET', `/inbound-messages?${query}`);
    expect(status).toBe(422);
    expect(json.errors).toMatchObject([{ parameter }]);
  });

  test('shows neither other modes nor other workspaces', async () => {
    const { id } = await simulated({ subject: 'Private' });
    const { id: workspaceId } = await app.app.workspaces.create('Neighbor');
    const neighborKey = await app.newKey({ workspaceId });
    for (const key of [app.liveKey, neighborKey]) {
      const { json } = await app.call('GET', '/inbound-messages?q=private', { key });
      expect(json.data).toEqual([]);
      for (const path of ['', '/raw', '/attachments/0']) {
        const found = await app.call('GET', `/inbound-messages/${id}${path}`, { key });
        expect([path, found.status]).toEqual([path, 404]);
      }
      const deleted = await app.call('DELETE', `/inbound-messages/${id}`, { key });
      expect(deleted.status).toBe(404);
    }
    expect((await app.call('GET', `/inbound-messages/${id}`)).status).toBe(200);
  });
});

describe('downloads', () => {
  test('are files, whatever the sender declares', async () => {
    const { id } = await simulated({
      html: '<script>alert(1)</script>',
      attachments: [
        {
          filename: '"><svg onload=alert(1)>.html',
          content: Buffer.from('<script>alert(1)</script>').toString('base64'),
          content_type: 'text/html',
        },
      ],
    });
    const file = await download(`/inbound-messages/${id}/attachments/0`);
    expect(file.bytes.toString()).toBe('<script>alert(1)</script>');
    const raw = await download(`/inbound-messages/${id}/raw`);
    expect(raw.bytes.toString()).toContain('Subject: Re: Your order\r\n');
    expect(file.response.headers.get('content-type')).toBe('application/octet-stream');
    expect(raw.response.headers.get('content-type')).toBe('message/rfc822');
    expect(file.response.headers.get('content-disposition')).toBe(
      'attachment; filename="_><svg onload=alert(1)>.html"; filename*=UTF-8\'\'%22%3E%3Csvg%20onload%3Dalert%281%29%3E.html',
    );
    expect(raw.response.headers.get('content-disposition')).toBe(
      `attachment; filename="${id}.eml"`,
    );
    for (const { response } of [file, raw]) {
      expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    }
    for (const index of ['1', '-1', '0x0', '1e0', '99999999999']) {
      const { status } = await app.call('GET', `/inbound-messages/${id}/attachments/${index}`);
      expect([index, status]).toEqual([index, 404]);
    }
  });

  test('end with the retention of the content, and the message remains', async () => {
    const { id } = await simulated({ attachments: [{ filename: 'a.txt', content: 'aGk=' }] });
    await app.database.pool.query('delete from inbound_contents');
    const { json } = await app.call('GET', `/inbound-messages/${id}`);
    expect(json).toMatchObject({ text: null, html: null, headers: [], subject: MAIL.subject });
    for (const path of ['raw', 'attachments/0']) {
      expect((await app.call('GET', `/inbound-messages/${id}/${path}`)).status).toBe(404);
    }
  });
});

test('a deleted message is gone, and its event remains', async () => {
  const { id } = await simulated({ subject: 'Delete me' });
  const readOnly = await app.newKey({ scopes: ['read:inbound_messages'] });
  const denied = await app.call('DELETE', `/inbound-messages/${id}`, { key: readOnly });
  expect(denied.status).toBe(403);
  expect((await app.call('DELETE', `/inbound-messages/${id}`)).status).toBe(204);
  expect((await app.call('DELETE', `/inbound-messages/${id}`)).status).toBe(404);
  expect((await app.call('GET', `/inbound-messages/${id}`)).status).toBe(404);
  expect(await listed('q=delete%20me')).toEqual([]);
  const { json } = await app.call('GET', '/events?type=inbound_message.received&order=desc');
  expect(json.data[0].data).toMatchObject({ id, subject: 'Delete me' });
});

test('messages that match filters are deleted, and no others', async () => {
  const remove = async (query: string) =>
    (await app.call('DELETE', `/inbound-messages?${query}`)).json;
  for (const subject of ['Old spam', 'New spam', 'Kept']) {
    await simulated({ subject, from: { email: `${subject.at(-1)}@bulk.test` } });
  }
  const liveKey = await app.newKey({ mode: 'live' });
  const ofLive = '/inbound-messages?q=spam';
  expect((await app.call('DELETE', ofLive, { key: liveKey })).json.deleted).toBe(0);
  const readOnly = await app.newKey({ scopes: ['read:inbound_messages'] });
  expect((await app.call('DELETE', ofLive, { key: readOnly })).status).toBe(403);

  const errorsIn = async (query: string) =>
    (await remove(query)).errors.map(({ parameter }: { parameter: string }) => parameter);
  expect(await errorsIn('')).toEqual(['received_before']);
  const { next_cursor: cursor } = (await app.call('GET', '/inbound-messages?limit=1')).json;
  expect(await errorsIn(`cursor=${cursor}`)).toEqual(['received_before']);
  expect(await errorsIn('q=spam&to=no_address&limit=3')).toEqual(['limit', 'to']);
  expect((await listed('q=spam')).length).toBe(2);

  expect(await remove('q=spam&from=m@bulk.test')).toEqual({ deleted: 2, next_cursor: null });
  expect(await remove('q=spam')).toEqual({ deleted: 0, next_cursor: null });
  expect(await listed('from=t@bulk.test')).toEqual(['Kept']);
  const { rows } = await app.database.pool.query(
    `select from inbound_addresses a where not exists (
       select from inbound_messages m where m.id = a.message_id)`,
  );
  expect(rows).toEqual([]);
  const { json } = await app.call('GET', '/events?type=inbound_message.received&order=desc');
  expect(json.data[1].data).toMatchObject({ subject: 'New spam' });
});

test('many messages are deleted by several requests', async () => {
  await simulated({ subject: 'One of many' });
  await app.database.pool.query(
    `insert into inbound_messages
       select (jsonb_populate_record(m, jsonb_build_object('id', added.id))).*
         from inbound_messages m, unnest($2::uuid[]) added(id)
        where m.workspace_id = $1 and m.subject = 'One of many'`,
    [app.workspaceId, Array.from({ length: 700 }, () => uuidv7(Date.now()))],
  );
  const first = await app.call('DELETE', '/inbound-messages?q=one%20of%20many');
  expect(first.json).toEqual({ deleted: 500, next_cursor: expect.any(String) });
  const cursor = `cursor=${first.json.next_cursor}`;
  const second = await app.call('DELETE', `/inbound-messages?q=one%20of%20many&${cursor}`);
  expect(second.json).toEqual({ deleted: 201, next_cursor: null });
  expect(await listed('q=one%20of%20many')).toEqual([]);
});

test('a key for messages that were sent cannot read those that arrive', async () => {
  const { id } = await simulated();
  const key = await app.newKey({ scopes: ['read:messages', 'write:messages'] });
  for (const path of ['', `/${id}`, `/${id}/raw`, `/${id}/attachments/0`]) {
    const { status, json } = await app.call('GET', `/inbound-messages${path}`, { key });
    expect([path, status, json.code]).toEqual([path, 403, 'insufficient_scope']);
  }
});

test('a webhook endpoint of test mode receives the event', async () => {
  await using receiver = await startWebhookReceiver();
  const { status } = await app.call('POST', '/webhooks', {
    body: { url: receiver.url, events: ['inbound_message.received'] },
  });
  expect(status).toBe(201);
  const message = await simulated({ subject: 'For a webhook' });
  await expect.poll(() => receiver.received.length).toBe(1);
  expect(JSON.parse(receiver.received[0]?.body ?? '')).toMatchObject({
    type: 'inbound_message.received',
    mode: 'test',
    data: message,
  });
});
