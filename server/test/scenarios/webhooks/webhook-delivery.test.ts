import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startApp, type TestApp, validMessage } from '../../harness/app.ts';
import { until } from '../../harness/delivery/delivery-engine.ts';
import { startWebhookReceiver } from '../../harness/webhooks/webhook-receiver.ts';

/**
 * Events reach their owner's endpoints: the right events, in the right mode, signed, with the bytes that the event feed
 * shows. Receivers run on loopback; signatures are verified with the official Standard Webhooks library.
 */

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ env: { WEBHOOK_ALLOW_PRIVATE: 'true' } });
});
afterAll(() => app[Symbol.asyncDispose]());

async function endpoint(url: string, events: string[], key = app.testKey) {
  const { status, json } = await app.call('POST', '/webhooks', { body: { url, events }, key });
  expect(status).toBe(201);
  return json as { id: string; secret: string };
}

function send(changes: Record<string, unknown> = {}) {
  return app.call('POST', '/transactional/send', { body: validMessage(changes) });
}

function typesOf(received: { body: string }[]): string[] {
  return received.map(({ body }) => JSON.parse(body).type as string).toSorted();
}

test('every event of a message arrives, signed, with the id and content of the feed', async () => {
  await using receiver = await startWebhookReceiver();
  const { secret } = await endpoint(receiver.url, ['message.*']);
  const { json: message } = await send({ metadata: { order: 'Nº 7 “ä”' }, tags: ['receipt'] });
  await until(() => receiver.received.length === 2);
  expect(typesOf(receiver.received)).toEqual(['message.accepted', 'message.delivered']);
  const feed = await app.call('GET', `/events?message_id=${message.id}`);
  for (const { body, headers, id } of receiver.received) {
    const event = new Webhook(secret).verify(body, headers);
    expect(feed.json.data).toContainEqual(event);
    expect((event as { id: string }).id).toBe(id);
    expect(headers['content-type']).toBe('application/json');
  }
});

test('an endpoint gets only the events that it subscribes to', async () => {
  await using some = await startWebhookReceiver();
  await using all = await startWebhookReceiver();
  await endpoint(some.url, ['message.bounced', 'suppression.*']);
  await endpoint(all.url, ['*']);
  await send({ to: { email: 'bounced@simulator.test' } });
  await send({ to: { email: 'nobody@example.com' }, headers: { 'X-Test': '1' } });
  await until(() => all.received.length === 4);
  await until(() => some.received.length === 1);
  expect(typesOf(some.received)).toEqual(['message.bounced']);
});

test('test events never reach a live endpoint, or another tenant’s', async () => {
  await using live = await startWebhookReceiver();
  await using otherReceiver = await startWebhookReceiver();
  await using own = await startWebhookReceiver();
  const otherWorkspace = await app.app.workspaces.create('Neighbour');
  await endpoint(live.url, ['*'], app.liveKey);
  await endpoint(otherReceiver.url, ['*'], await app.newKey({ workspaceId: otherWorkspace.id }));
  await endpoint(own.url, ['message.*']);
  const foreign = otherReceiver.received.length;
  await send();
  await until(() => own.received.length === 2);
  expect(live.received).toEqual([]);
  expect(otherReceiver.received).toHaveLength(foreign);
});

test('an endpoint gets no events from before its creation or while it was disabled', async () => {
  await using first = await startWebhookReceiver();
  await endpoint(first.url, ['message.accepted']);
  const { json: before } = await send();
  await using receiver = await startWebhookReceiver();
  const { id } = await endpoint(receiver.url, ['message.accepted']);
  const { json: one } = await send();
  await until(() => receiver.received.length === 1);
  await app.call('PATCH', `/webhooks/${id}`, { body: { enabled: false } });
  const { json: missed } = await send();
  await until(() => first.received.length === 3);
  await app.call('PATCH', `/webhooks/${id}`, { body: { enabled: true } });
  const { json: two } = await send();
  await until(() => receiver.received.length === 2);
  const ids = receiver.received.map(({ body }) => JSON.parse(body).data.message_id);
  expect(ids).toEqual([one.id, two.id]);
  expect(ids).not.toContain(before.id);
  expect(ids).not.toContain(missed.id);
});

test('during a rotation both secrets verify, and afterwards only the new one', async () => {
  await using receiver = await startWebhookReceiver();
  const { id, secret: old } = await endpoint(receiver.url, ['message.accepted']);
  const rotate = (grace_seconds: number) =>
    app.call('POST', `/webhooks/${id}/rotate-secret`, { body: { grace_seconds } });
  const { json: rotated } = await rotate(3600);
  await send();
  await until(() => receiver.received.length === 1);
  const [during] = receiver.received;
  new Webhook(old).verify(during?.body ?? '', during?.headers ?? {});
  new Webhook(rotated.secret).verify(during?.body ?? '', during?.headers ?? {});
  const { json: again } = await rotate(0);
  await send();
  await until(() => receiver.received.length === 2);
  const [, after] = receiver.received;
  new Webhook(again.secret).verify(after?.body ?? '', after?.headers ?? {});
  for (const gone of [old, rotated.secret]) {
    expect(() => new Webhook(gone).verify(after?.body ?? '', after?.headers ?? {})).toThrow();
  }
});

test('custom headers are sent, and every response is stored per attempt', async () => {
  await using receiver = await startWebhookReceiver({
    answer: () => ({ status: 200, body: 'noted' }),
  });
  const { json } = await app.call('POST', '/webhooks', {
    body: {
      url: `${receiver.url}?shop=1`,
      events: ['message.accepted'],
      headers: { 'X-Api-Key': 'very secret' },
    },
  });
  await send();
  await until(() => receiver.received.length === 1);
  expect(receiver.received[0]).toMatchObject({
    path: '/hook?shop=1',
    headers: { 'x-api-key': 'very secret' },
  });
  const list = `/webhooks/${json.id}/deliveries`;
  await until(async () => (await app.call('GET', `${list}?status=succeeded`)).json.data[0]);
  const [delivery] = (await app.call('GET', list)).json.data;
  const { json: detail, text } = await app.call('GET', `${list}/${delivery.id}`);
  expect(detail).toMatchObject({
    event_type: 'message.accepted',
    event_id: receiver.received[0]?.id,
    status: 'succeeded',
    body: receiver.received[0]?.body,
    tries: [{ number: 1, status: 200, response_body: 'noted', error: null }],
  });
  const { 'x-api-key': _, 'webhook-signature': signature } = receiver.received[0]?.headers ?? {};
  expect(detail.tries[0].request_headers).toMatchObject({
    'X-Api-Key': '[hidden]',
    'webhook-signature': signature,
  });
  expect(text).not.toContain('very secret');
});
