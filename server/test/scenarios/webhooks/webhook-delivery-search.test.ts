import { afterAll, beforeAll, expect, test } from 'vitest';
import { encodeId, uuidv7 } from '../../../src/lib/ids.ts';
import { listDeliveries } from '../../../src/webhooks/history/webhook-delivery-list-store.ts';
import { startApp, type TestApp, validMessage } from '../../harness/app.ts';
import { until } from '../../harness/delivery/delivery-engine.ts';
import { startWebhookReceiver } from '../../harness/webhooks/webhook-receiver.ts';
import { setUpWebhooks } from '../../harness/webhooks/webhook-setup.ts';

/**
 * The webhook deliveries of a message, an event or an endpoint are found page by page, and nothing of other tenants.
 * The whole server runs with two receivers, one that accepts everything and one that fails; the module alone where a
 * filter has few matches among many rows.
 */

let app: TestApp;
let good: AsyncDisposable & { url: string };
let bad: AsyncDisposable & { url: string };
let goodId: string;
let badId: string;
const messages: string[] = [];

beforeAll(async () => {
  app = await startApp({ env: { WEBHOOK_ALLOW_PRIVATE: 'true' } });
  good = await startWebhookReceiver();
  bad = await startWebhookReceiver({ answer: () => ({ status: 410 }) });
  goodId = await endpoint(good.url, ['message.*']);
  badId = await endpoint(bad.url, ['message.accepted']);
  messages.push(await send());
  await until(async () => (await find('status=failed')).length === 1);
  for (let n = 0; n < 3; n++) messages.push(await send());
  await until(async () => (await find('status=succeeded')).length === 8);
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await good[Symbol.asyncDispose]();
  await bad[Symbol.asyncDispose]();
});

async function endpoint(url: string, events: string[]): Promise<string> {
  return (await app.call('POST', '/webhooks', { body: { url, events } })).json.id;
}

async function send(): Promise<string> {
  return (await app.call('POST', '/transactional/send', { body: validMessage() })).json.id;
}

interface Found {
  id: string;
  webhook_id: string;
  event_id: string;
  event_type: string;
  message_id: string | null;
  status: string;
}

async function find(query: string, path = '/webhook-deliveries', limit = 3): Promise<Found[]> {
  const found: Found[] = [];
  let cursor = '';
  do {
    const { json } = await app.call('GET', `${path}?limit=${limit}&${query}${cursor}`);
    found.push(...json.data);
    cursor = json.next_cursor && `&cursor=${json.next_cursor}`;
  } while (cursor);
  return found;
}

test('all deliveries for a message, to every endpoint', async () => {
  const [first, second] = messages;
  const sent = await find(`message_id=${first}`, undefined, 1);
  expect(sent.map((one) => [one.webhook_id, one.event_type, one.status])).toEqual([
    [goodId, 'message.delivered', 'succeeded'],
    ...[
      [goodId, 'message.accepted', 'succeeded'],
      [badId, 'message.accepted', 'failed'],
    ].sort(([a = ''], [b = '']) => (a < b ? 1 : -1)),
  ]);
  expect(sent.every(({ message_id }) => message_id === first)).toBe(true);
  expect((await find(`message_id=${second}`)).map(({ webhook_id }) => webhook_id)).toEqual([
    goodId,
    goodId,
  ]);
});

test('by event, endpoint, status and type, and combined', async () => {
  const [message] = messages;
  const [accepted] = await find(`message_id=${message}&status=failed`);
  const ofEvent = await find(`event_id=${accepted?.event_id}`);
  expect(ofEvent.map(({ webhook_id }) => webhook_id).sort()).toEqual([goodId, badId].sort());
  expect(await find(`event_id=${accepted?.event_id}&webhook_id=${badId}`)).toEqual([accepted]);
  expect(await find(`message_id=${message}`, `/webhooks/${badId}/deliveries`)).toEqual([accepted]);
  expect(await find(`webhook_id=${goodId}&event_type=message.delivered`)).toHaveLength(4);
  expect(await find(`status=failed&event_type=message.delivered`)).toEqual([]);
});

test('by id, whatever the endpoint', async () => {
  const all = await find(`message_id=${messages[0]}`);
  expect(new Set(all.map(({ webhook_id }) => webhook_id)).size).toBe(2);
  for (const one of all) {
    const { status, json } = await app.call('GET', `/webhook-deliveries/${one.id}`);
    expect([status, json.webhook_id, json.event_id]).toEqual([200, one.webhook_id, one.event_id]);
    const direct = await app.call('GET', `/webhooks/${one.webhook_id}/deliveries/${one.id}`);
    expect(json).toEqual(direct.json);
    const strange = await app.call('GET', `/webhook-deliveries/${one.id}`, { key: app.liveKey });
    expect([strange.status, strange.json.code]).toEqual([404, 'not_found']);
  }
  const never = encodeId('whd', uuidv7(Date.now()));
  for (const id of [never, 'whd_nonsense', messages[0]]) {
    expect((await app.call('GET', `/webhook-deliveries/${id}`)).status).toBe(404);
  }
});

test('newest first, each once, with any page size', async () => {
  const all = await find('');
  expect(all).toHaveLength(9);
  expect(new Set(all.map(({ id }) => id)).size).toBe(9);
  expect(all.map(({ event_id }) => event_id)).toEqual(
    all
      .map(({ event_id }) => event_id)
      .toSorted()
      .reverse(),
  );
  expect(await find('', undefined, 1)).toEqual(all);
});

test('unknown deliveries and those of other tenants are not found', async () => {
  const other = await app.newKey({ workspaceId: (await app.app.workspaces.create('Other')).id });
  for (const key of [other, app.liveKey]) {
    const { json } = await app.call('GET', `/webhook-deliveries?message_id=${messages[0]}`, {
      key,
    });
    expect(json).toEqual({ data: [], next_cursor: null });
    const own = await app.call('GET', `/webhook-deliveries?webhook_id=${goodId}`, { key });
    expect(own.json.data).toEqual([]);
  }
  for (const query of [
    'message_id=msg_nonsense',
    `message_id=${encodeId('msg', uuidv7(Date.now()))}`,
    'event_id=evt_nonsense',
    'webhook_id=whk_nonsense',
  ]) {
    expect(await find(query)).toEqual([]);
  }
  const refused = await app.call('GET', '/webhook-deliveries?cursor=WyJ4Il0');
  expect([refused.status, refused.json.errors[0].code]).toEqual([422, 'invalid_cursor']);
});

test('a rare delivery among many is found in steps, with no row skipped between endpoints', async () => {
  await using setup = await setUpWebhooks();
  await setup.node.dispatcher?.stop(100);
  const { pool, scope } = setup;
  const endpoints: string[] = [];
  for (const n of [1, 2]) endpoints.push((await setup.createEndpoint(`http://127.0.0.1:${n}/`)).id);
  // One has 12,000 rows and the other 40: their pages end at different events.
  for (const [n, count] of [12_000, 40].entries()) {
    await pool.query(
      `insert into webhook_deliveries (workspace_id, mode, webhook_id, event_id, event_tx, event_type,
         status, created_at)
       select $1, $2, $3, (lpad(to_hex($4::bigint + k * (12000 / $5::int)), 12, '0') || '70008000000000000001')::uuid,
              1, case when k % 1000 = 7 then 'domain.verified' else 'message.delivered' end,
              'succeeded', now()
         from generate_series(1, $5::int) k`,
      [scope.workspaceId, scope.mode, endpoints[n], Date.now(), count],
    );
  }
  const found: string[] = [];
  let pages = 0;
  let after: Parameters<typeof listDeliveries>[3]['after'];
  for (let more = true; more; pages += 1) {
    const filter = { eventType: 'domain.verified' };
    const page = await listDeliveries(pool, scope, filter, { after, limit: 5 });
    found.push(...page.deliveries.map(({ webhookId, eventId }) => `${eventId} ${webhookId}`));
    after = page.next ?? undefined;
    more = page.next !== null;
  }
  expect(pages).toBeGreaterThan(2);
  expect(found).toHaveLength(13);
  expect(found).toEqual([...new Set(found)].sort().reverse());
});
