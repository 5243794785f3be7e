import { expect, test } from 'vitest';
import { startApp, validMessage } from '../../harness/app.ts';

/** The life of one message in test mode, from the request to the inbox, on the whole server. */

test('a message is accepted, delivered to the test inbox and explained', async () => {
  await using app = await startApp();
  const sent = await app.call('POST', '/transactional/send', {
    body: validMessage({
      subject: 'Hello ${name}',
      html: '<p>Hello {{ name }}, your code is 482913. <a href="https://example.com/in">Go</a></p>',
      variables: { name: 'Jane & Joe' },
      metadata: { order: '7' },
      tags: ['welcome'],
    }),
  });
  expect(sent.json).toMatchObject({ status: 'queued', mode: 'test', template: null });
  expect(sent.status).toBe(202);
  expect(sent.headers.get('location')).toBe(`/api/v1/messages/${sent.json.id}`);

  const waited = await app.call('GET', '/test/inbox/wait?to=jane@example.com&timeout=20');
  expect(waited.json.message).toMatchObject({
    id: sent.json.id,
    subject: 'Hello Jane & Joe',
    html: '<p>Hello Jane &amp; Joe, your code is 482913. <a href="https://example.com/in">Go</a></p>',
    links: ['https://example.com/in'],
    codes: ['482913'],
  });

  const message = await app.call('GET', `/messages/${sent.json.id}`);
  expect(message.json).toMatchObject({
    status: 'delivered',
    tags: ['welcome'],
    metadata: { order: '7' },
    recipients: [{ email: 'jane@example.com', status: 'delivered', attempts: 1 }],
  });
  expect(message.json.events.map((event: { type: string }) => event.type)).toEqual([
    'message.accepted',
    'message.delivered',
  ]);
  const attempts = await app.call('GET', `/messages/${sent.json.id}/attempts`);
  expect(attempts.json.data).toHaveLength(1);
  const events = await app.call('GET', `/events?message_id=${sent.json.id}`);
  expect(events.json.data).toHaveLength(2);
});
