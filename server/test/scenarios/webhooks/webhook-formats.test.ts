import { createHmac } from 'node:crypto';
import https from 'node:https';
import { EventWebhook } from '@sendgrid/eventwebhook';
import { ServerClient } from 'postmark';
import { Resend } from 'resend';
import MessageValidator from 'sns-validator';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { Webhook } from 'svix';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startApp, type TestApp } from '../../harness/app.ts';
import { type HttpsFront, startHttpsFront } from '../../harness/http/https-front.ts';
import { tlsFixtures } from '../../harness/smtp/tls-fixtures.ts';
import {
  type ReceivedWebhook,
  startWebhookReceiver,
  type WebhookReceiver,
} from '../../harness/webhooks/webhook-receiver.ts';

/**
 * Endpoints with the format of another provider, verified with that provider's own code or documented
 * check. Ids are those that the provider's client library got when it sent the message.
 */

let app: TestApp;
let front: HttpsFront;
const trusted = https.globalAgent.options.ca;

beforeAll(async () => {
  front = await startHttpsFront();
  app = await startApp({ env: { WEBHOOK_ALLOW_PRIVATE: 'true', BASE_URL: front.url } });
  front.target = app.url;
  // The SNS validator fetches certificates with the agent that all programs share.
  https.globalAgent.options.ca = tlsFixtures.authority;
});
afterAll(async () => {
  https.globalAgent.options.ca = trusted;
  https.globalAgent.destroy();
  await app[Symbol.asyncDispose]();
  await front[Symbol.asyncDispose]();
});

async function created(receiver: WebhookReceiver, body: Record<string, unknown>) {
  const answer = await app.call('POST', '/webhooks', { body: { url: receiver.url, ...body } });
  expect(answer.status).toBe(201);
  return answer.json;
}

async function sent(email: string, more: object = {}): Promise<string> {
  const { json } = await app.call('POST', '/transactional/send', {
    body: {
      to: { email },
      from: { email: 'hello@shop.example', name: 'Shop' },
      subject: 'Your order',
      html: '<p>Hello</p>',
      ...more,
    },
  });
  return json.id;
}

async function arrived(receiver: WebhookReceiver, count: number): Promise<ReceivedWebhook[]> {
  await expect.poll(() => receiver.received.length).toBe(count);
  return receiver.received;
}

/** Sends the delivery of the given event type again and returns the second request. */
async function replayed(receiver: WebhookReceiver, id: string): Promise<ReceivedWebhook> {
  const before = receiver.received.length;
  await expect
    .poll(async () => (await deliveriesOf(id)).map(({ status }) => status))
    .not.toContain('pending');
  const [delivery] = await deliveriesOf(id);
  const body = { delivery_id: delivery?.id };
  expect((await app.call('POST', `/webhooks/${id}/replay`, { body })).json.replayed).toBe(1);
  return (await arrived(receiver, before + 1)).at(-1) as ReceivedWebhook;
}

async function deliveriesOf(id: string): Promise<Record<string, string>[]> {
  return (await app.call('GET', `/webhooks/${id}/deliveries`)).json.data;
}

test('resend: Svix and the library of Resend verify, and ids match', async () => {
  await using receiver = await startWebhookReceiver();
  const { secret } = await created(receiver, {
    format: 'resend',
    events: ['message.accepted', 'message.bounced'],
  });
  const client = new Resend(app.testKey, { baseUrl: `${app.url}/compat/resend` });
  const { data } = await client.emails.send({
    from: 'Shop <hello@shop.example>',
    to: 'bounced@simulator.test',
    subject: 'Your order',
    text: 'Hello',
    tags: [{ name: 'category', value: 'receipt' }],
    headers: { 'X-Metadata': '{"order":"№ 17"}', 'List-Unsubscribe': '<https://shop.example/u/7>' },
  });
  const payloads = (await arrived(receiver, 2)).map(({ body, headers }) => {
    const id = headers['svix-id'] ?? '';
    const timestamp = headers['svix-timestamp'] ?? '';
    const signature = headers['svix-signature'] ?? '';
    expect(() => new Webhook(secret).verify(`${body} `, headers)).toThrow();
    expect(new Webhook(secret).verify(body, headers)).toEqual(JSON.parse(body));
    return client.webhooks.verify({
      payload: body,
      headers: { id, timestamp, signature },
      webhookSecret: secret,
    });
  });
  const common = {
    email_id: data?.id,
    from: 'Shop <hello@shop.example>',
    to: ['bounced@simulator.test'],
    subject: 'Your order',
    tags: { category: 'receipt' },
    headers: [{ name: 'X-Metadata', value: '{"order":"№ 17"}' }],
  };
  expect(payloads.find(({ type }) => type === 'email.sent')).toMatchObject({ data: common });
  expect(payloads.find(({ type }) => type === 'email.bounced')).toMatchObject({
    data: { ...common, bounce: { type: 'Permanent' } },
  });
});

test('postmark: the password of the URL is checked, and never shown or stored in plain text', async () => {
  await using receiver = await startWebhookReceiver();
  const url = receiver.url.replace('http://', 'http://postmark:s3cret%21@');
  const endpoint = await created(receiver, {
    url,
    format: 'postmark',
    events: ['message.*', 'suppression.*'],
  });
  expect(endpoint).toMatchObject({ url: receiver.url, headers: { Authorization: '[hidden]' } });
  const client = new ServerClient(app.testKey, {
    requestHost: `${new URL(app.url).host}/compat/postmark`,
    useHttps: false,
  });
  const answer = await client.sendEmail({
    From: 'hello@shop.example',
    To: 'bounced@simulator.test',
    Subject: 'Your order',
    TextBody: 'Hello',
    Tag: 'receipt',
    Metadata: { order: '17' },
  });
  await arrived(receiver, 1);
  const suppression = { email: 'angry@example.com', reason: 'complaint' };
  await app.call('POST', '/suppressions', { body: suppression });
  const records = (await arrived(receiver, 2)).map(({ headers, body }) => {
    const [scheme, credentials = ''] = (headers.authorization ?? '').split(' ');
    expect([scheme, Buffer.from(credentials, 'base64').toString()]).toEqual([
      'Basic',
      'postmark:s3cret!',
    ]);
    return JSON.parse(body);
  });
  const bounce = records.find(({ RecordType }) => RecordType === 'Bounce');
  expect(await client.getBounce(bounce.ID)).toMatchObject({
    ID: bounce.ID,
    BouncedAt: bounce.BouncedAt,
    Details: bounce.Details,
  });
  expect(bounce).toMatchObject({
    Type: 'HardBounce',
    MessageID: answer.MessageID,
    Email: 'bounced@simulator.test',
    From: 'hello@shop.example',
    Subject: 'Your order',
    Tag: 'receipt',
    Metadata: { order: '17' },
    MessageStream: 'outbound',
  });
  expect(records.find(({ RecordType }) => RecordType === 'SubscriptionChange')).toMatchObject({
    Recipient: 'angry@example.com',
    SuppressSending: true,
    SuppressionReason: 'SpamComplaint',
  });
  const { text } = await app.call('GET', `/webhooks/${endpoint.id}`);
  expect(text).not.toContain('s3cret');
  const { rows } = await app.database.pool.query(
    `select w::text || d::text as row from webhooks w join webhook_deliveries d on d.webhook_id = w.id`,
  );
  expect(rows.length).toBeGreaterThan(0);
  expect(JSON.stringify(rows)).not.toContain(Buffer.from('postmark:s3cret!').toString('base64'));
  expect(JSON.stringify(rows)).not.toContain('s3cret');
});

test('sendgrid: the library of SendGrid verifies with the key of the endpoint, also after a rotation', async () => {
  await using receiver = await startWebhookReceiver();
  const endpoint = await created(receiver, { format: 'sendgrid', events: ['message.bounced'] });
  const id = await sent('bounced@simulator.test', {
    metadata: { order: '17' },
    tags: ['receipt'],
  });
  const verifier = new EventWebhook();
  const isValid = ({ body, headers }: ReceivedWebhook, publicKey: string) =>
    verifier.verifySignature(
      verifier.convertPublicKeyToECDSA(publicKey),
      body,
      headers['x-twilio-email-event-webhook-signature'] ?? '',
      headers['x-twilio-email-event-webhook-timestamp'] ?? '',
    );
  const [first] = (await arrived(receiver, 1)) as [ReceivedWebhook];
  expect(isValid(first, endpoint.public_key)).toBe(true);
  expect(new StandardWebhook(endpoint.secret).verify(first.body, first.headers)).toHaveLength(1);
  expect(isValid({ ...first, body: `${first.body} ` }, endpoint.public_key)).toBe(false);
  expect(JSON.parse(first.body)).toMatchObject([
    {
      event: 'bounce',
      type: 'bounce',
      email: 'bounced@simulator.test',
      sg_message_id: id,
      order: '17',
      category: ['receipt'],
    },
  ]);
  const path = `/webhooks/${endpoint.id}/rotate-secret`;
  const rotated = await app.call('POST', path, { body: { grace_seconds: 600 } });
  expect(rotated.json.public_key).not.toBe(endpoint.public_key);
  const during = await replayed(receiver, endpoint.id);
  expect(isValid(during, endpoint.public_key)).toBe(true);
  const ended = await app.call('POST', path, { body: { grace_seconds: 0 } });
  const after = await replayed(receiver, endpoint.id);
  expect(isValid(after, ended.json.public_key)).toBe(true);
  expect((await app.call('GET', `/webhooks/${endpoint.id}`)).json.public_key).toBe(
    ended.json.public_key,
  );
  expect([during.body, after.body]).toEqual([first.body, first.body]);
});

test('mailgun: the documented check accepts every attempt, each with a token of its own', async () => {
  await using receiver = await startWebhookReceiver();
  const { id, secret } = await created(receiver, {
    format: 'mailgun',
    events: ['message.delivered'],
  });
  const messageId = await sent('jane@example.com');
  await arrived(receiver, 1);
  await replayed(receiver, id);
  const requests = receiver.received.map(({ body }) => JSON.parse(body));
  for (const { signature } of requests) {
    const { timestamp, token } = signature;
    const expected = createHmac('sha256', secret).update(timestamp + token);
    expect(signature.signature).toBe(expected.digest('hex'));
    expect(Math.abs(Date.now() / 1000 - Number(timestamp))).toBeLessThan(300);
  }
  const [first, second] = requests;
  expect(second.signature.token).not.toBe(first.signature.token);
  expect(second['event-data']).toEqual(first['event-data']);
  expect(first['event-data']).toMatchObject({
    event: 'delivered',
    recipient: 'jane@example.com',
    flags: { 'is-test-mode': true },
    message: { headers: { 'message-id': `${messageId}@shop.example`, subject: 'Your order' } },
  });
  const [delivery] = await deliveriesOf(id);
  const logged = await app.call('GET', `/webhooks/${id}/deliveries/${delivery?.id}`);
  expect(JSON.parse(logged.json.body)).toEqual(first['event-data']);
});

test('ses-sns: the SNS validator verifies messages of this server, and a receiver can confirm', async () => {
  await using receiver = await startWebhookReceiver();
  const endpoint = await created(receiver, { format: 'ses-sns', events: ['message.bounced'] });
  const [confirmation] = (await arrived(receiver, 1)) as [ReceivedWebhook];
  expect(confirmation.headers['x-amz-sns-message-type']).toBe('SubscriptionConfirmation');
  const confirm = await validated(confirmation.body);
  expect(confirm.TopicArn).toBe(endpoint.topic_arn);
  const confirmed = await get(confirm.SubscribeURL ?? '');
  expect(confirmed.status).toBe(200);
  expect(confirmed.text).toContain(`<SubscriptionArn>${endpoint.topic_arn}:`);

  const id = await sent('bounced@simulator.test');
  const [, first] = (await arrived(receiver, 2)) as [ReceivedWebhook, ReceivedWebhook];
  expect(first.headers['content-type']).toBe('text/plain; charset=UTF-8');
  const message = await validated(first.body);
  expect(new StandardWebhook(endpoint.secret).verify(first.body, first.headers)).toEqual(message);
  expect(message.SigningCertURL).toBe(endpoint.signing_cert_url);
  expect(JSON.parse(message.Message ?? '')).toMatchObject({
    eventType: 'Bounce',
    mail: { messageId: id, source: 'hello@shop.example', destination: ['bounced@simulator.test'] },
    bounce: {
      bounceType: 'Permanent',
      bouncedRecipients: [{ emailAddress: 'bounced@simulator.test' }],
    },
  });
  // The validator as it comes trusts Amazon only, and so must be given the host of this server.
  await expect(validated(first.body, new MessageValidator())).rejects.toThrow('invalid domain');
  const forged = { ...JSON.parse(first.body), Message: '{}' };
  await expect(validated(JSON.stringify(forged))).rejects.toThrow('signature is invalid');

  const path = `/webhooks/${endpoint.id}/rotate-secret`;
  const { json: rotated } = await app.call('POST', path, { body: {} });
  const again = await replayed(receiver, endpoint.id);
  const second = await validated(again.body);
  expect(second.SigningCertURL).toBe(rotated.signing_cert_url);
  expect(rotated.signing_cert_url).not.toBe(endpoint.signing_cert_url);
  expect([second.MessageId, second.Message]).toEqual([message.MessageId, message.Message]);
  // A message of the time before is still verified.
  expect((await get(endpoint.signing_cert_url)).status).toBe(200);

  const resent = await app.call('POST', `/webhooks/${endpoint.id}/test`, {
    body: { type: 'subscription_confirmation' },
  });
  expect(resent.json).toMatchObject({ succeeded: true });
  expect(await validated(resent.json.body)).toMatchObject({ Type: 'SubscriptionConfirmation' });
});

test('certificates and tokens that do not exist are not found', async () => {
  const none = '0'.repeat(32);
  for (const path of [
    `/sns/SimpleNotificationService-${none}.pem`,
    '/sns/anything.pem',
    `/sns/?Token=${none}`,
    '/sns/?Token=%27',
    '/sns/?Token=1&Token=2',
    '/sns/',
  ]) {
    expect((await fetch(app.url + path)).status).toBe(404);
  }
});

function validated(
  body: string,
  validator = new MessageValidator(/^localhost:\d+$/),
): Promise<Record<string, string>> {
  return new Promise((resolve, reject) => {
    validator.validate(body, (error, message) =>
      error ? reject(error) : resolve(message as Record<string, string>),
    );
  });
}

function get(url: string): Promise<{ status: number | undefined; text: string }> {
  return new Promise((resolve, reject) => {
    https
      .get(url, (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          text += chunk;
        });
        response.on('end', () => resolve({ status: response.statusCode, text }));
      })
      .on('error', reject);
  });
}

test('test events have the format of the endpoint', async () => {
  await using receiver = await startWebhookReceiver();
  const { id } = await created(receiver, { format: 'mailgun' });
  const { json } = await app.call('POST', `/webhooks/${id}/test`, {
    body: { type: 'message.bounced' },
  });
  expect(json).toMatchObject({ succeeded: true, body: receiver.received[0]?.body });
  expect(JSON.parse(json.body)['event-data']).toMatchObject({
    event: 'failed',
    message: { headers: { subject: 'Welcome, Jane' } },
  });
  for (const type of ['template.published', 'subscription_confirmation']) {
    const refused = await app.call('POST', `/webhooks/${id}/test`, { body: { type } });
    expect([refused.status, refused.json.errors]).toEqual([
      422,
      [
        {
          pointer: '/type',
          code: 'no_equivalent',
          detail: `The format mailgun has no equivalent of ${type}.`,
        },
      ],
    ]);
  }
});

test('an endpoint lists the types that its format has, and others are refused', async () => {
  await using receiver = await startWebhookReceiver();
  const { id, events } = await created(receiver, { format: 'postmark', events: ['*'] });
  expect(events).toContain('message.delivered');
  expect(events).not.toContain('message.cancelled');
  expect(events).not.toContain('*');
  const bad = ['message.cancelled', 'domain.*', 'message.opened'];
  const errors = [
    {
      pointer: '/events',
      code: 'no_equivalent',
      detail: 'The format postmark has no equivalent of message.cancelled, domain.*.',
    },
  ];
  const url = receiver.url;
  for (const [method, path, body] of [
    ['POST', '/webhooks', { url, format: 'postmark', events: bad }],
    ['PATCH', `/webhooks/${id}`, { events: bad }],
  ] as const) {
    const refused = await app.call(method, path, { body });
    expect([refused.status, refused.json.errors]).toEqual([422, errors]);
  }
  const changed = await app.call('PATCH', `/webhooks/${id}`, { body: { events: ['message.*'] } });
  expect(changed.json.events).toEqual(events.filter((type: string) => type.startsWith('message')));
  const unknown = await app.call('POST', '/webhooks', { body: { url, format: 'sparkpost' } });
  expect([unknown.status, unknown.json.errors[0].pointer]).toEqual([422, '/format']);
  const fixed = await app.call('PATCH', `/webhooks/${id}`, { body: { format: 'resend' } });
  expect([fixed.status, fixed.json.errors[0].pointer]).toEqual([422, '/format']);
});

test('an event without an equivalent is done without a request', async () => {
  await using receiver = await startWebhookReceiver();
  const { id } = await created(receiver, { format: 'sendgrid', events: ['suppression.created'] });
  const suppress = (email: string, reason: string) =>
    app.call('POST', '/suppressions', { body: { email, reason } });
  await suppress('manual@example.com', 'manual');
  await suppress('asked@example.com', 'unsubscribe');
  const [request] = (await arrived(receiver, 1)) as [ReceivedWebhook];
  expect(JSON.parse(request.body)).toMatchObject([
    { event: 'unsubscribe', email: 'asked@example.com' },
  ]);
  await expect
    .poll(async () => (await deliveriesOf(id)).map(({ status }) => status))
    .toEqual(['succeeded', 'succeeded']);
  expect((await deliveriesOf(id)).map(({ last_error }) => last_error)).toEqual([
    null,
    'Not sent: the format sendgrid has no equivalent of this event.',
  ]);
  expect(receiver.received).toHaveLength(1);
});

const simulatedMail = {
  from: { email: 'jane@example.com', name: 'Jane' },
  to: { email: 'ticket+42@inbound.example' },
  subject: 'Re: Your order',
  text: 'Thank you.\n\nOn Nov 15, 2026, Shop wrote:\n> It is on its way.',
  attachments: [{ filename: 'a.txt', content: 'aGVsbG8=', content_type: 'text/plain' }],
};

async function simulated(more: object = {}): Promise<string> {
  await app.call('POST', '/domains', { body: { name: 'inbound.example' } });
  const body = { ...simulatedMail, ...more };
  const { json } = await app.call('POST', '/inbound-messages/simulate', { body });
  return json.id;
}

test('an inbound message in the format of Resend names it, and Resend’s client reads it', async () => {
  await using receiver = await startWebhookReceiver();
  const events = ['inbound_message.*'];
  const endpoint = await created(receiver, { format: 'resend', events });
  expect(endpoint.events).toEqual(['inbound_message.received']);
  const id = await simulated();
  const [request] = await arrived(receiver, 1);
  const client = new Resend(app.testKey, { baseUrl: `${app.url}/compat/resend` });
  const event = client.webhooks.verify({
    payload: request?.body ?? '',
    headers: {
      id: request?.headers['svix-id'] ?? '',
      timestamp: request?.headers['svix-timestamp'] ?? '',
      signature: request?.headers['svix-signature'] ?? '',
    },
    webhookSecret: endpoint.secret,
  });
  expect(event).toMatchObject({
    type: 'email.received',
    data: { email_id: id, to: ['ticket+42@inbound.example'], subject: 'Re: Your order' },
  });
  const { data } = await client.emails.receiving.get(id);
  expect(data?.text).toContain('Thank you.');
});

test('an inbound message in the format of Postmark is sent whole, the same at each attempt', async () => {
  await using receiver = await startWebhookReceiver();
  const events = ['inbound_message.received'];
  const endpoint = await created(receiver, { format: 'postmark', events });
  const id = await simulated();
  const [request] = await arrived(receiver, 1);
  const body = JSON.parse(request?.body ?? '');
  expect(body).toMatchObject({
    MessageID: id,
    MailboxHash: '42',
    TextBody: simulatedMail.text,
    StrippedTextReply: 'Thank you.',
    Attachments: [{ Name: 'a.txt', Content: 'aGVsbG8=', ContentLength: 5 }],
  });
  const postmark = new ServerClient(app.testKey, {
    useHttps: false,
    requestHost: `${app.url.replace('http://', '')}/compat/postmark`,
  });
  const details = await postmark.getInboundMessageDetails(id);
  expect(body).toMatchObject({ Headers: details.Headers, Date: details.Date, From: details.From });
  const raw = await app.call('GET', `/inbound-messages/${id}/raw`);
  expect(body.RawEmail).toBe(raw.text);
  expect((await replayed(receiver, endpoint.id)).body).toBe(request?.body);

  // What was sent can be read by those who may read inbound messages.
  const [delivery] = await deliveriesOf(endpoint.id);
  const path = `/webhooks/${endpoint.id}/deliveries/${delivery?.id}`;
  expect((await app.call('GET', path)).json.body).toBe(request?.body);
  const key = await app.newKey({ scopes: ['read:webhooks', 'write:webhooks'] });
  for (const [method, where, change] of [
    ['GET', path, undefined],
    ['GET', `/webhook-deliveries/${delivery?.id}`, undefined],
    ['PATCH', `/webhooks/${endpoint.id}`, { url: 'http://127.0.0.1:1/' }],
    ['POST', '/webhooks', { url: receiver.url, format: 'postmark', events }],
  ] as const) {
    const denied = await app.call(method, where, { key, body: change });
    expect([method, where, denied.status]).toEqual([method, where, 403]);
    expect(denied.json.code).toBe('insufficient_scope');
  }
  const others = await app.call('POST', '/webhooks', {
    key,
    body: { url: receiver.url, format: 'postmark', events: ['*'] },
  });
  expect(others.status).toBe(201);
  expect(others.json.events).not.toContain('inbound_message.received');
});

test('attachments of large inbound messages are listed without their content', async () => {
  await using receiver = await startWebhookReceiver();
  await created(receiver, { format: 'postmark', events: ['inbound_message.received'] });
  const content = Buffer.alloc(10 * 1024 * 1024 + 1).toString('base64');
  const id = await simulated({ attachments: [{ filename: 'large.bin', content }] });
  const [request] = await arrived(receiver, 1);
  const body = JSON.parse(request?.body ?? '');
  expect(body).toMatchObject({
    TextBody: simulatedMail.text,
    Attachments: [{ Name: 'large.bin', Content: '', ContentLength: 10 * 1024 * 1024 + 1 }],
  });
  expect(body.RawEmail).toBe((await app.call('GET', `/inbound-messages/${id}/raw`)).text);
});

test('a sample of an inbound message is whole too', async () => {
  await using receiver = await startWebhookReceiver();
  const events = ['inbound_message.received'];
  const { id } = await created(receiver, { format: 'postmark', events });
  const { json } = await app.call('POST', `/webhooks/${id}/test`, { body: { type: events[0] } });
  expect(json.succeeded).toBe(true);
  expect(JSON.parse(json.body)).toMatchObject({
    MailboxHash: '42',
    TextBody: expect.stringContaining('arrived'),
    Attachments: [{ Content: expect.stringMatching(/^[\w+/]+=*$/) }],
  });
});
