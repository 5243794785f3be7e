import { Writable } from 'node:stream';
import PostalMime from 'postal-mime';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { decodeId } from '../../../src/lib/ids.ts';
import { createLog } from '../../../src/lib/log.ts';
import { systemClock } from '../../../src/lib/time/clock.ts';
import { deleteEncryptedContents } from '../../../src/messages/content/message-content-store.ts';
import { startApp, type TestApp, type TestResponse } from '../../harness/app.ts';
import { createTestDatabase, type TestDatabase } from '../../harness/database/database.ts';
import { until } from '../../harness/delivery/delivery-engine.ts';
import { signedLiveRoute } from '../../harness/delivery/signed-live-route.ts';
import { documentedOperations, fillPath } from '../../harness/http/openapi-operations.ts';
import { startDnsServer } from '../../harness/smtp/dns-server.ts';
import { startSmtpReceiver } from '../../harness/smtp/smtp-receiver.ts';
import {
  startWebhookReceiver,
  type WebhookReceiver,
} from '../../harness/webhooks/webhook-receiver.ts';

/**
 * The value of a secret variable reaches the recipient and no one else. A template uses secrets in every field,
 * whole and in parts. One node accepts and another delivers, so that the content is read from the database. Then
 * all API responses, all tables as text and both nodes' logs are searched for the secrets.
 */

// Long enough that no timestamp, id or hash contains one of them by chance.
const CODE = 'K7QX93ZM4W';
const LINK = 'https://app.example/reset?token=Zx81mQ7pLw3T+q/9=&to=jane';
const NUMBER = 8190210734.55;
/** Must not be found anywhere: each secret, and the parts that the template extracts. */
const TRACES = [
  CODE,
  'K7QX9 3ZM4W',
  'Zx81mQ7pLw3T',
  '8190210734',
  '8,190,210,734',
  '8.190.210.734',
];

const TEMPLATE = {
  key: 'reset',
  subject: 'Your code: ${code}',
  html: `<p title="{{ code }}">{{ code | slice: 0, 5 }} {{ code | slice: 5, 5 }}</p>
    <p><a href="{{ link }}">{{ link | url_encode }}</a> {{ code | prepend: "no-" | upcase }}</p>
    <p>{{ amount | money: "EUR" }} {{ owner.pins | join: "/" }}</p>`,
  text: 'Your code is ${code}. ${link} ${amount}',
  from: { email: 'hello@example.com', name: 'Shop ${code}' },
  variables: [
    { name: 'code', secret: true, example: '000000' },
    { name: 'link', secret: true, type: 'string' },
    { name: 'amount', secret: true, type: 'number' },
    { name: 'owner', secret: true },
  ],
};

const VALUES = {
  code: CODE,
  link: LINK,
  amount: NUMBER,
  owner: { pins: ['Zx81mQ7pLw3T', 'Zx81mQ7pLw3T'] },
};

let database: TestDatabase;
let front: TestApp;
const logged: string[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  front = await startApp({
    database,
    env: { ROLES: 'api', WEBHOOK_ALLOW_PRIVATE: 'true' },
    log: noted(),
  });
  await front.app.domains.trust(front.workspaceId, { name: 'example.com' });
  await ok(front.call('POST', '/templates', { body: TEMPLATE }));
  await ok(front.call('POST', '/templates/reset/publish', { body: {} }));
});
afterAll(async () => {
  await front[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

function noted() {
  const destination = new Writable({
    write: (chunk, _encoding, done) => {
      logged.push(String(chunk));
      done();
    },
  });
  return createLog({ level: 'trace', destination });
}

async function ok(answer: Promise<TestResponse>): Promise<TestResponse['json']> {
  const { status, json, text } = await answer;
  expect([status < 300, text]).toEqual([true, text]);
  return json;
}

async function send(key: string, more: Record<string, unknown> = {}): Promise<string> {
  const body = {
    to: { email: 'jane@example.org' },
    template_key: 'reset',
    template_variables: VALUES,
    headers: { 'X-Code': '${code}' },
    ...more,
  };
  return (await ok(front.call('POST', '/transactional/send', { key, body }))).id;
}

/** Responses of all GET operations, with the message's id for every id parameter. */
async function everyAnswer(app: TestApp, key: string, id: string): Promise<string[]> {
  const operations = (await documentedOperations(app)).filter(
    ({ method, id: name }) =>
      method === 'GET' && name !== 'waitForTestMessage' && name !== 'streamEvents',
  );
  const ofInbox = operations.filter(({ path }) => path.includes('/test/inbox'));
  const answers: string[] = [];
  for (const operation of operations.filter((one) => !ofInbox.includes(one))) {
    const answer = await app.call('GET', fillPath(operation.path, id), { key });
    answers.push(`${operation.id} ${JSON.stringify([...answer.headers])} ${answer.text}`);
  }
  expect(answers.length).toBeGreaterThan(20);
  return answers;
}

/** Every row of every table as text, except for encrypted content, which is binary. */
async function everyRow(): Promise<string[]> {
  const { rows: tables } = await database.pool.query<{ name: string }>(
    `select c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = 'public' and c.relkind in ('r', 'p') and not c.relispartition`,
  );
  expect(tables.length).toBeGreaterThan(15);
  const found: string[] = [];
  for (const { name } of tables) {
    const { rows } = await database.pool.query<{ row: string }>(
      `select t::text as row from ${name} t`,
    );
    found.push(...rows.map(({ row }) => `${name} ${row}`));
  }
  return found;
}

function expectNoTrace(texts: readonly string[]): void {
  const traces = texts.flatMap((text) =>
    TRACES.filter((trace) => text.includes(trace)).map(
      (trace) => `${trace} in ${text.slice(0, 200)}`,
    ),
  );
  expect(traces).toEqual([]);
}

async function stored(id: string): Promise<{ encrypted: Buffer | null; html: string }> {
  const { rows } = await database.pool.query(
    'select encrypted_content as encrypted, html from message_contents where id = $1',
    [decodeId('msg', id)],
  );
  return rows[0] as { encrypted: Buffer | null; html: string };
}

test('a message without secrets is stored unencrypted', async () => {
  const body = {
    to: { email: 'a@example.com' },
    from: { email: 'hello@example.org' },
    subject: 'S',
    html: '<p>H</p>',
  };
  const { id } = await ok(front.call('POST', '/transactional/send', { body }));
  expect(await stored(id)).toEqual({ encrypted: null, html: '<p>H</p>' });
});

describe('in test mode', () => {
  let id: string;
  let webhookId: string;
  let receiver: WebhookReceiver;

  beforeAll(async () => {
    receiver = await startWebhookReceiver();
    const body = { url: receiver.url, events: ['*'] };
    webhookId = (await ok(front.call('POST', '/webhooks', { body }))).id;
    id = await send(front.testKey);
  });
  afterAll(() => receiver[Symbol.asyncDispose]());

  test('nothing is shown while the message is queued', async () => {
    expectNoTrace(await everyAnswer(front, front.testKey, id));
    expectNoTrace(await everyRow());
  });

  test('the test inbox shows the complete message', async () => {
    await using _back = await startApp({
      database,
      env: { ROLES: 'delivery,api,webhooks', WEBHOOK_ALLOW_PRIVATE: 'true' },
      log: noted(),
    });
    const { message } = await ok(front.call('GET', '/test/inbox/wait?subject=your%20code'));
    expect(message).toMatchObject({ id, subject: `Your code: ${CODE}`, codes: [CODE] });
    expect(message.from.name).toBe(`Shop ${CODE}`);
    expect(message.links).toContain(LINK);
    expect(message.html).toContain('K7QX9 3ZM4W');
    expect(message.html).toContain('8,190,210,734.55');
    const { data } = await ok(front.call('GET', '/test/inbox'));
    expect(data[0].subject).toBe(`Your code: ${CODE}`);
    expect((await ok(front.call('GET', `/test/inbox/${id}`))).subject).toBe(`Your code: ${CODE}`);
    // In any order: requests of an endpoint overlap.
    const arrived = (type: string) => receiver.received.some(({ body }) => body.includes(type));
    await until(() => arrived('message.accepted') && arrived('message.delivered'));
  });

  test('neither webhooks nor their stored deliveries contain secrets', async () => {
    const bodies = receiver.received.map(({ body }) => body);
    expect(bodies.some((body) => body.includes('Your code: [redacted]'))).toBe(true);
    expectNoTrace(bodies);
    const list = await front.call('GET', `/webhooks/${webhookId}/deliveries`);
    expect(list.json.data.length).toBeGreaterThan(1);
    const whole = await Promise.all(
      list.json.data.map((one: { id: string }) =>
        front.call('GET', `/webhooks/${webhookId}/deliveries/${one.id}`),
      ),
    );
    expectNoTrace([list.text, ...whole.map(({ text }) => text)]);
  });

  test('nothing else contains secrets once the message is final', async () => {
    const message = await ok(front.call('GET', `/messages/${id}`));
    expect(message.status).toBe('delivered');
    expect(message.subject).toBe('Your code: [redacted]');
    expect(message.from.name).toBe('Shop [redacted]');
    expect(message.events[0].data.subject).toBe('Your code: [redacted]');
    const content = await ok(front.call('GET', `/messages/${id}/content`));
    expect(content.html).toContain('[redacted]');
    expect(content.headers).toContainEqual({ name: 'X-Code', value: '[redacted]' });
    expectNoTrace(await everyAnswer(front, front.testKey, id));
    expectNoTrace(await everyRow());
    expectNoTrace(logged);
    expect((await ok(front.call('GET', `/messages?q=${CODE}`))).data).toEqual([]);
  });

  test('rejected and replayed sends contain no secrets', async () => {
    const headers = { 'idempotency-key': 'again' };
    const body = {
      to: { email: 'jane@example.org' },
      template_key: 'reset',
      template_variables: VALUES,
    };
    for (let i = 0; i < 2; i++) {
      await ok(front.call('POST', '/transactional/send', { body, headers }));
    }
    const lacking = { ...VALUES, amount: undefined };
    const refused = await front.call('POST', '/transactional/send', {
      body: { ...body, template_variables: lacking },
    });
    expect(refused.json.code).toBe('missing_variables');
    expectNoTrace([refused.text]);
    expectNoTrace(await everyRow());
    expectNoTrace(logged);
  });
});

describe('in live mode', () => {
  test('the recipient gets the complete message, then its content is deleted', async () => {
    await using receiver = await startSmtpReceiver();
    await using dns = await startDnsServer({
      'example.org': { MX: ['10 mx.example.org'] },
      'mx.example.org': { A: ['127.0.0.1'] },
    });
    const id = await send(front.liveKey);
    expectNoTrace(await everyRow());
    {
      await using _back = await startApp({
        database,
        env: { ROLES: 'delivery' },
        liveRoute: signedLiveRoute({ clock: systemClock, dns: dns.address, mxPort: receiver.port }),
        log: noted(),
      });
      await receiver.until(({ messages }) => messages.length === 1);
      const shown = async () =>
        (await ok(front.call('GET', `/messages/${id}`, { key: front.liveKey }))).status;
      await until(async () => (await shown()) === 'delivered');
    }
    const mail = await PostalMime.parse(receiver.messages[0]?.raw as Buffer);
    expect(mail.subject).toBe(`Your code: ${CODE}`);
    expect(mail.text?.trim()).toBe(`Your code is ${CODE}. ${LINK} ${NUMBER}`);
    expect(mail.html).toContain('K7QX9 3ZM4W');
    expect(mail.from).toMatchObject({ name: `Shop ${CODE}` });
    expect(mail.headers.find(({ key }) => key === 'x-code')?.value).toBe(CODE);

    expectNoTrace(await everyAnswer(front, front.liveKey, id));
    expectNoTrace(await everyRow());
    expectNoTrace(logged);
    expect((await stored(id)).encrypted?.length).toBeGreaterThan(100);
    expect(await deleteEncryptedContents(database.pool, Date.now(), 10)).toBe(1);
    expect((await stored(id)).encrypted?.length).toBe(0);
  });

  test('a bounced message keeps its content for a retry; without content it is not sent', async () => {
    await using receiver = await startSmtpReceiver({ onRcpt: () => '550 5.1.1 no such user' });
    await using dns = await startDnsServer({
      'example.org': { MX: ['10 mx.example.org'] },
      'mx.example.org': { A: ['127.0.0.1'] },
    });
    const key = front.liveKey;
    const id = await send(key, { to: { email: 'gone@example.org' } });
    await using _back = await startApp({
      database,
      env: { ROLES: 'delivery' },
      liveRoute: signedLiveRoute({ clock: systemClock, dns: dns.address, mxPort: receiver.port }),
      log: noted(),
    });
    const status = async () => (await ok(front.call('GET', `/messages/${id}`, { key }))).status;
    await until(async () => (await status()) === 'bounced');
    expect(await deleteEncryptedContents(database.pool, Date.now(), 10)).toBe(0);
    expect(await deleteEncryptedContents(database.pool, Date.now() + 4 * 24 * 3_600_000, 10)).toBe(
      1,
    );
    const refused = await front.call('POST', `/messages/${id}/retry`, { key });
    expect(refused.json).toMatchObject({ status: 409, code: 'not_retryable' });
    expect(receiver.messages).toEqual([]);
    expectNoTrace(await everyAnswer(front, key, id));
    expectNoTrace(logged);
  });
});
