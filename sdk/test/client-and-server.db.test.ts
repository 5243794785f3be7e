import { afterAll, beforeAll, expect, test } from 'vitest';
import { startApp, type TestApp, validMessage } from '../../server/test/harness/app.ts';
import { startWebhookReceiver } from '../../server/test/harness/webhooks/webhook-receiver.ts';
import {
  type Message,
  Postrider,
  PostriderError,
  type Schema,
  verifyWebhook,
} from '../src/index.ts';
import { collect } from './harness/collect.ts';

let app: TestApp;
let postrider: Postrider;

beforeAll(async () => {
  app = await startApp({ env: { WEBHOOK_ALLOW_PRIVATE: 'true' } });
  postrider = new Postrider({ apiKey: `${app.testKey}\n`, baseUrl: `${app.url}/` });
});

afterAll(async () => await app[Symbol.asyncDispose]());

function message(changes: Partial<Message> = {}): Message {
  return validMessage(changes) as Message;
}

test('sends a message and reads it from the test inbox and the API', async () => {
  const to = `${crypto.randomUUID()}@example.com`;
  const accepted = await postrider.send(message({ to: { email: to }, text: 'Your code: 493021' }));
  expect(accepted).toMatchObject({ status: 'queued', mode: 'test' });
  const mail = await postrider.testInbox.wait({ to, subject: 'Hello' });
  expect(mail).toMatchObject({ id: accepted.id, codes: ['493021'] });
  expect(await postrider.messages.get(accepted.id)).toMatchObject({ status: 'delivered' });
});

test('waiting for a message that does not arrive returns null', async () => {
  const unused = `${crypto.randomUUID()}@example.com`;
  expect(await postrider.testInbox.wait({ to: unused, timeoutSeconds: 1 })).toBeNull();
});

test('two sends with the same idempotency key create one message', async () => {
  const idempotencyKey = crypto.randomUUID();
  const first = await postrider.send(message(), { idempotencyKey });
  const second = await postrider.send(message(), { idempotencyKey });
  expect(second).toEqual(first);
  const other = postrider.send(message({ subject: 'Other' }), { idempotencyKey });
  await expect(other).rejects.toMatchObject({ code: 'idempotency_key_reused', idempotencyKey });
});

test('a permissive batch accepts valid messages and reports invalid ones', async () => {
  const bad = message({ to: { email: 'nobody' } });
  const { data } = await postrider.sendBatch([message(), bad], { mode: 'permissive' });
  expect(data).toMatchObject([{ message: { status: 'queued' } }, { error: { status: 422 } }]);
  await expect(postrider.sendBatch([message(), bad])).rejects.toMatchObject({
    errors: [{ pointer: '/messages/1/to/email' }],
  });
});

test('cancels a scheduled message; retrying it is rejected', async () => {
  const scheduled_at = new Date(Date.now() + 86_400_000).toISOString();
  const { id } = await postrider.send(message({ scheduled_at }));
  expect(await postrider.messages.cancel(id)).toMatchObject({ id, status: 'cancelled' });
  await expect(postrider.messages.retry(id)).rejects.toMatchObject({ code: 'not_retryable' });
});

test('an error message is one line with the problem and its fix', async () => {
  const sending = postrider.send(message({ to: { email: 'nobody' }, subject: '', html: '' }));
  const error = await sending.catch((caught: unknown) => caught as PostriderError);
  if (!(error instanceof PostriderError)) return expect.fail('the request succeeded');
  expect(error).toMatchObject({ status: 422, code: 'validation_failed' });
  expect(error.errors[0]).toMatchObject({ pointer: '/to/email' });
  expect(error.requestId).toMatch(/^req_/);
  expect(error.message).toMatch(
    /^POST \/transactional\/send: 422 validation_failed: [^\n]*\/to\/email: [^\n]*\(req_\w+\)$/,
  );
  expect(error.message).toContain(error.fix);
});

test('lists continue across pages, with filters, and stop when the loop breaks', async () => {
  const run = crypto.randomUUID();
  const five = Array.from({ length: 5 }, () => message({ metadata: { run } }));
  await postrider.sendBatch(five);
  const query = { limit: 2, metadata: { run } };
  expect(await collect(postrider.messages.list(query))).toHaveLength(5);
  const pages = await collect(postrider.pages('/messages', { query }));
  expect(pages.map(({ data }) => data.length)).toEqual([2, 2, 1]);
  for await (const { subject } of postrider.all('/messages', { query })) {
    expect(subject).toBe('Hello');
    break;
  }
});

test('path values are escaped', async () => {
  const email = `a+b/c?d=${crypto.randomUUID()}@example.com`;
  await postrider.request('PUT', '/contacts/{email}', { path: { email }, body: {} });
  const contact = await postrider.request('GET', '/contacts/{email}', { path: { email } });
  expect(contact.email).toBe(email);
  expect(await postrider.request('DELETE', '/contacts/{email}', { path: { email } })).toBe(
    undefined,
  );
  await expect(postrider.messages.get('..')).rejects.toThrow('path.id is not a valid path segment');
  await expect(postrider.messages.get('')).rejects.toThrow('path.id is missing');
});

test('uploads a text file and downloads an export', async () => {
  const email = `${crypto.randomUUID()}@example.com`;
  await postrider.request('POST', '/contacts/import', {
    body: `email,first_name\n${email},Jane\n`,
    headers: { 'Content-Type': 'text/csv' },
  });
  const path = { email };
  const found = () => postrider.request('GET', '/contacts/{email}', { path }).catch(() => null);
  await expect.poll(found).toMatchObject({ first_name: 'Jane' });
  const query = { format: 'csv' } as const;
  expect(await postrider.request('GET', '/contacts/export', { query })).toContain(email);
  const response = await postrider.response('GET', '/contacts/export', { query });
  expect(await response.text()).toContain(email);
});

test('reads an inbound message when its event arrives', async () => {
  await using receiver = await startWebhookReceiver();
  const events: Schema<'CreateWebhook'>['events'] = ['inbound_message.received'];
  const { secret } = await postrider.webhooks.create({ url: receiver.url, events });
  await app.call('POST', '/domains', { body: { name: 'inbound.example' } });
  await postrider.inboundMessages.simulate({
    from: { email: 'jane@example.com' },
    to: { email: 'ticket+42@inbound.example' },
    subject: 'Re: Your order',
    text: 'Thank you.',
    attachments: [{ filename: 'a.txt', content: 'aGVsbG8=' }],
  });
  await expect.poll(() => receiver.received.length).toBe(1);
  const [request] = receiver.received;
  const event = await verifyWebhook(request?.body ?? '', request?.headers ?? {}, secret);
  if (event.type !== 'inbound_message.received') return expect.fail(event.type);
  const message = await postrider.inboundMessages.get(event.data.id);
  expect(message).toMatchObject({ ...event.data, text: 'Thank you.' });
  for (const { index } of message.attachments) {
    const file = await postrider.inboundMessages.getAttachment(message.id, String(index));
    expect(await file.text()).toBe('hello');
  }
  const listed = await collect(postrider.inboundMessages.list({ to: '@inbound.example' }));
  expect(listed.map(({ id }) => id)).toEqual([message.id]);
  const raw = await postrider.inboundMessages.getRaw(message.id);
  expect(await raw.text()).toContain('Subject: Re: Your order');
  await postrider.inboundMessages.delete(message.id);
  await expect(postrider.inboundMessages.get(message.id)).rejects.toMatchObject({ status: 404 });
});

test('an abort ends the body of a streamed response', async () => {
  const abort = new AbortController();
  const { signal } = abort;
  const response = await postrider.response('GET', '/events/stream', { signal });
  abort.abort(new Error('enough'));
  await expect(response.text()).rejects.toThrow('enough');
});

test('follows the event feed and resumes at a cursor', async () => {
  const tag = 'followed';
  const { id } = await postrider.send(message({ tags: [tag] }));
  const accepted: string[] = [];
  let cursor: string | undefined;
  for await (const page of postrider.events.follow({ type: 'message.accepted' })) {
    for (const event of page.data) {
      if (event.type === 'message.accepted') accepted.push(event.data.message_id);
    }
    cursor = page.next_cursor;
    if (accepted.includes(id)) break;
  }
  const next = await postrider.send(message());
  const settings = { type: 'message.accepted', pollMs: 20, cursor };
  for await (const { data } of postrider.events.follow(settings)) {
    expect(data.map((event) => 'message_id' in event.data && event.data.message_id)).toEqual([
      next.id,
    ]);
    break;
  }
});

test('verifies a webhook of the server, with the old secret too during rotation', async () => {
  await using receiver = await startWebhookReceiver();
  const endpoint: Schema<'CreateWebhook'> = { url: receiver.url, events: ['message.bounced'] };
  const made = await postrider.request('POST', '/webhooks', { body: endpoint });
  const path = { id: made.id };
  const renewed = await postrider.request('POST', '/webhooks/{id}/rotate-secret', {
    path,
    body: {},
  });
  const body = { type: 'message.bounced' } as const;
  await postrider.request('POST', '/webhooks/{id}/test', { path, body });
  const [received] = receiver.received;
  if (received === undefined) return expect.fail('nothing arrived');
  for (const secret of [made.secret, renewed.secret]) {
    const event = await verifyWebhook(received.body, received.headers, secret);
    if (event.type !== 'message.bounced') return expect.fail(event.type);
    expect(event.data.bounce.class).toBe('hard');
  }
  await postrider.request('DELETE', '/webhooks/{id}', { path });
});
