import { expect, test } from 'vitest';
import { EVENT_TYPES } from '../../../src/events/event-types.ts';
import { systemClock } from '../../../src/lib/time/clock.ts';
import { Alarms } from '../../../src/stats/alarms.ts';
import { startApp, type TestApp, validMessage } from '../../harness/app.ts';
import { until } from '../../harness/delivery/delivery-engine.ts';
import { createEventCheck } from '../../harness/http/event-schemas.ts';
import { startWebhookReceiver } from '../../harness/webhooks/webhook-receiver.ts';

/**
 * Every event, and every sample that a webhook test sends, has exactly the documented fields. All events
 * that a test key can cause are caused through the API; then each is validated against the schema of its
 * type.
 */

interface FeedEvent {
  id: string;
  type: string;
  sequence: number | null;
  data: { message_id?: string; recipient?: string };
}

async function ledger(app: TestApp): Promise<FeedEvent[]> {
  const events: FeedEvent[] = [];
  for (let cursor = '', more = true; more; ) {
    const { json } = await app.call('GET', `/events?limit=100${cursor}`);
    events.push(...json.data);
    cursor = `&cursor=${json.next_cursor}`;
    more = json.has_more;
  }
  return events;
}

const NEEDED = [
  'message.accepted',
  'message.scheduled',
  'message.rescheduled',
  'message.cancelled',
  'message.suppressed',
  'message.deferred',
  'message.delivered',
  'message.bounced',
  'message.expired',
  'message.complained',
  'suppression.created',
  'suppression.deleted',
  'api_key.created',
  'api_key.rotated',
  'api_key.expiring',
  'api_key.revoked',
  'webhook.disabled',
  'alarm.raised',
];

const SILENT = {
  bounceRate: 0,
  complaintRate: 0,
  windowMs: 3_600_000,
  recipientsMin: 1,
  queueAgeMs: 0,
  webhookFailingMs: 0,
  keyExpiryMs: 0,
  domainRecords: 0,
};

test('events match their schemas, in sequence order', async () => {
  await using app = await startApp({ env: { WEBHOOK_ALLOW_PRIVATE: 'true' } });
  await using gone = await startWebhookReceiver({ answer: () => ({ status: 410 }) });
  await using failing = await startWebhookReceiver({ answer: () => ({ status: 500 }) });
  const post = async (path: string, body?: object) => {
    const { status, json, text } = await app.call('POST', path, body ? { body } : {});
    expect([path, status < 300, text]).toEqual([path, true, expect.anything()]);
    return json;
  };
  const send = (changes: Record<string, unknown>) =>
    post('/transactional/send', validMessage({ tags: ['a'], metadata: { b: 'c' }, ...changes }));

  for (const part of ['bounced', 'deferred', 'complained', 'suppressed', 'smtp-550-5.7.26']) {
    await send({
      to: { email: `${part}@simulator.test` },
      cc: [{ email: `x-${part}@example.com` }],
    });
  }
  await send({ to: { email: 'defer-9@simulator.test' }, ttl_seconds: 1 });
  const at = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString();
  const later = await send({ scheduled_at: at(2) });
  await app.call('PATCH', `/messages/${later.id}`, { body: { scheduled_at: at(3) } });
  await post(`/messages/${later.id}/cancel`);
  const added = await post('/suppressions', { email: 'no@example.com', note: 'asked' });
  await app.call('DELETE', `/suppressions/${added.id}`);
  await post('/suppressions', { domain: 'never.example' });
  const key = await post('/api-keys', { name: 'short', expires_at: at(24) });
  await post(`/api-keys/${key.id}/rotate`, {});
  await app.app.apiKeys.notifyExpiring();
  await app.call('DELETE', `/api-keys/${key.id}`);
  await post('/webhooks', { url: gone.url });
  await post('/webhooks', { url: failing.url });
  await send({});
  await post('/templates', { key: 'welcome', subject: 'Hi', html: '<p>Hi</p>' });
  await post('/templates/welcome/publish', {});
  const alarms = new Alarms({
    pool: app.database.pool,
    clock: systemClock,
    thresholds: { ...SILENT, webhookFailingMs: 1_000 },
  });

  await until(
    async () => {
      await alarms.check();
      const types = new Set((await ledger(app)).map(({ type }) => type));
      return NEEDED.every((type) => types.has(type));
    },
    {
      what: () => 'every type has occurred',
      timeoutMs: 60_000,
    },
  );
  const check = await createEventCheck(app.url);
  const events = await ledger(app);
  const { json: live } = await app.call('GET', '/events?type=template.*', { key: app.liveKey });
  expect(live.data).toHaveLength(1);
  for (const event of [...events, ...live.data]) check(event);

  const own = events.filter(({ data }) => data.message_id);
  const byRecipient = Map.groupBy(own, ({ data }) => `${data.message_id} ${data.recipient ?? ''}`);
  for (const recipientEvents of byRecipient.values()) {
    const numbers = recipientEvents.map(({ sequence }) => sequence);
    expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => (a ?? 0) - (b ?? 0)));
    expect(numbers.every((number) => (number ?? 0) > 0)).toBe(true);
  }
});

test('samples match their schemas', async () => {
  await using app = await startApp({ env: { WEBHOOK_ALLOW_PRIVATE: 'true' } });
  await using receiver = await startWebhookReceiver();
  const { json } = await app.call('POST', '/webhooks', {
    body: { url: receiver.url, events: ['webhook.disabled'] },
  });
  const check = await createEventCheck(app.url);
  for (const type of EVENT_TYPES) {
    await app.call('POST', `/webhooks/${json.id}/test`, { body: { type } });
    check(JSON.parse(receiver.received.at(-1)?.body ?? '{}'));
  }
  expect(receiver.received).toHaveLength(EVENT_TYPES.length);
});
