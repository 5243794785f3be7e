import { describe, expect, test } from 'vitest';
import { dropExpired } from '../../../src/db/schema/partitions.ts';
import { ManualClock } from '../../../src/lib/time/manual-clock.ts';
import { disableWebhook } from '../../../src/webhooks/disable-webhook.ts';
import { RETRY_DELAYS_MS } from '../../../src/webhooks/dispatch/webhook-retry-schedule.ts';
import { xorIds } from '../../../src/webhooks/history/webhook-history.ts';
import { eventsOf } from '../../harness/database/enqueue-messages.ts';
import { until } from '../../harness/delivery/delivery-engine.ts';
import {
  type ScriptedResponse,
  startWebhookReceiver,
} from '../../harness/webhooks/webhook-receiver.ts';
import {
  type StoredDelivery,
  setUpWebhooks,
  type WebhookSetup,
} from '../../harness/webhooks/webhook-setup.ts';

/**
 * A failing receiver is retried on the documented schedule, and left alone when it asks for that. A manual clock lets
 * three days pass in a moment; receivers are real.
 */

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** The clock passes days during a request: the deadline has its own test. */
const deadlineMs = 1_000 * DAY_MS;

async function setUpWith(answer: () => ScriptedResponse, events?: string[]) {
  const clock = new ManualClock(Date.now());
  const setup = await setUpWebhooks({ clock, deadlineMs, limits: { leaseMs: 30 * DAY_MS } });
  const receiver = await startWebhookReceiver({ answer });
  const { id } = await setup.createEndpoint(receiver.url, events);
  const soon = { clock, stepMs: 20 };
  return {
    clock,
    rig: setup,
    receiver,
    id,
    soon,
    async [Symbol.asyncDispose]() {
      await setup[Symbol.asyncDispose]();
      await receiver[Symbol.asyncDispose]();
    },
  };
}

/** Waits until an attempt of the only delivery has been recorded. */
async function tried(setup: WebhookSetup, tries: number, soon: Parameters<typeof until>[1]) {
  await until(async () => (await setup.deliveries())[0]?.tries === tries, soon);
  const all = await setup.deliveries();
  expect(all).toHaveLength(1);
  return all[0] as StoredDelivery;
}

async function triedOnce(setup: WebhookSetup, count: number, soon: Parameters<typeof until>[1]) {
  await until(
    async () => (await setup.deliveries()).filter((one) => one.tries === 1).length === count,
    soon,
  );
}

/** Runs first: it depends on the time in ids, which never decreases within a process. */
test('a range replay sends events that the endpoint never got, and only those in the range', async () => {
  const clock = new ManualClock(Date.now());
  await using setup = await setUpWebhooks({ clock, deadlineMs });
  await using receiver = await startWebhookReceiver();
  await setup.appendEvents(2);
  clock.advance(HOUR_MS);
  const wanted = await setup.appendEvents(3);
  await setup.appendEvents(1, 'domain.verified');
  clock.advance(HOUR_MS);
  await setup.appendEvents(2);
  clock.advance(HOUR_MS);
  const { id } = await setup.createEndpoint(receiver.url, ['template.*']);
  const now = clock.now();
  const range = { fromMs: now - 2.5 * HOUR_MS, toMs: now - 1.5 * HOUR_MS, onlyFailed: false };
  expect((await setup.node.history.replayRange(setup.scope, id, range)).replayed).toBe(3);
  await until(() => receiver.received.length === 3, { clock, stepMs: 20 });
  expect(receiver.received.map((one) => one.id).toSorted()).toEqual(wanted.toSorted());
  await triedOnce(setup, 3, { clock, stepMs: 20 });
  const again = await setup.node.history.replayRange(setup.scope, id, range);
  expect(again.replayed).toBe(3);
});

test('a replay reaches back as far as deliveries are kept, though events are kept longer', async () => {
  const clock = new ManualClock(Date.now());
  await using setup = await setUpWebhooks({ clock, deadlineMs });
  await using receiver = await startWebhookReceiver();
  await setup.appendEvents(2);
  clock.advance(8 * DAY_MS);
  const kept = await setup.appendEvents(1);
  const { id } = await setup.createEndpoint(receiver.url);
  const retention = { recordDays: 1_000, contentDays: 1_000, webhookDays: -4, auditDays: 1_000 };
  await dropExpired(setup.pool, clock.now(), retention);
  const range = { fromMs: clock.now() - 30 * DAY_MS, toMs: clock.now() + 1, onlyFailed: false };
  expect((await setup.node.history.replayRange(setup.scope, id, range)).replayed).toBe(1);
  await until(() => receiver.received.length === 1, { clock, stepMs: 20 });
  expect(receiver.received.map((one) => one.id)).toEqual(kept);
});

test('nine retries over three days on the documented schedule, then failed', async () => {
  await using scene = await setUpWith(() => ({ status: 500, body: 'broken' }));
  const { rig: setup, clock, receiver, soon } = scene;
  const [eventId] = await setup.appendEvents(1);
  await until(() => receiver.received.length === 1, soon);
  for (const [n, plannedMs] of RETRY_DELAYS_MS.entries()) {
    const delivery = await tried(setup, n + 1, soon);
    expect(delivery).toMatchObject({ status: 'pending', last_status: 500 });
    const waitMs = (delivery.due_at ?? 0) - clock.now();
    expect(waitMs).toBeGreaterThan(plannedMs * 0.85 - 1_000);
    expect(waitMs).toBeLessThan(plannedMs * 1.11);
    clock.advance(waitMs - 200);
    expect(receiver.received).toHaveLength(n + 1);
    await until(() => receiver.received.length === n + 2, soon);
  }
  const last = await tried(setup, 10, soon);
  expect(last).toMatchObject({ status: 'failed', due_at: null });
  expect(new Set(receiver.received.map(({ id }) => id))).toEqual(new Set([eventId]));
  expect(new Set(receiver.received.map(({ body }) => body)).size).toBe(1);
  const tries = await setup.node.history.get(
    setup.scope,
    scene.id,
    xorIds(scene.id, last.event_id),
  );
  expect(tries.tries.map(({ number, response_body }) => [number, response_body])).toEqual(
    Array.from({ length: 10 }, (_, n) => [n + 1, 'broken']),
  );
});

test('a receiver that recovers gets the queued events and is healthy again', async () => {
  let broken = true;
  await using scene = await setUpWith(() => ({ status: broken ? 503 : 200 }));
  const { rig: setup, receiver, soon, id } = scene;
  await setup.appendEvents(3);
  await triedOnce(setup, 3, soon);
  expect((await setup.node.webhooks.get(setup.scope, id)).failingSinceMs).not.toBeNull();
  broken = false;
  await until(async () => (await setup.deliveries()).every((one) => one.status === 'succeeded'), {
    ...soon,
    stepMs: 100,
  });
  expect(receiver.received).toHaveLength(6);
  expect((await setup.node.webhooks.get(setup.scope, id)).failingSinceMs).toBeNull();
});

describe('Retry-After', () => {
  test('extends the delay, for this event and for the others', async () => {
    let limited = true;
    await using scene = await setUpWith(() =>
      limited ? { status: 429, headers: { 'retry-after': '120' } } : { status: 200 },
    );
    const { rig: setup, clock, receiver, soon } = scene;
    await setup.appendEvents(1);
    const delivery = await tried(setup, 1, soon);
    const waitMs = (delivery.due_at ?? 0) - clock.now();
    expect(waitMs).toBeGreaterThan(110_000);
    expect(waitMs).toBeLessThanOrEqual(120_000);
    limited = false;
    await setup.appendEvents(1);
    for (let n = 0; n < 50; n++) {
      clock.advance(100);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    expect(receiver.received).toHaveLength(1);
    clock.advance(120_000);
    await until(() => receiver.received.length === 3, soon);
  });
});

describe('an endpoint is disabled', () => {
  async function disabledEvents(setup: WebhookSetup) {
    const events = await eventsOf(setup.pool, setup.scope.workspaceId);
    return events.filter(({ type }) => type === 'webhook.disabled').map(({ data }) => data);
  }

  test('by 410, once, with an event that says why', async () => {
    await using other = await startWebhookReceiver();
    await using scene = await setUpWith(() => ({ status: 410 }), ['template.published']);
    const { rig: setup, receiver, soon, id } = scene;
    await setup.createEndpoint(other.url, ['webhook.disabled']);
    await setup.appendEvents(3);
    await until(async () => (await disabledEvents(setup)).length > 0, soon);
    setup.node.dispatcher?.wake();
    await until(() => other.received.length > 0, soon);
    const event = JSON.parse(other.received[0]?.body ?? '{}');
    expect(event.data).toMatchObject({ reason: 'gone', webhook: { url: receiver.url } });
    expect(await setup.node.webhooks.get(setup.scope, id)).toMatchObject({
      enabled: false,
      disabledReason: 'gone',
    });
    const sent = receiver.received.length;
    await setup.appendEvents(2);
    await until(async () => (await disabledEvents(setup)).length === 1, soon);
    expect(receiver.received).toHaveLength(sent);
  });

  test('after five days without success', async () => {
    await using scene = await setUpWith(() => 'close');
    const { rig: setup, clock, id } = scene;
    // An endpoint that only fails is tried every few seconds, with more queued events every day.
    const soon = { clock, stepMs: 250 };
    for (let day = 0; day < 5; day++) {
      await setup.appendEvents(1);
      await until(async () => ((await setup.deliveries()).at(-1)?.tries ?? 0) >= 1, soon);
      expect([day, (await setup.node.webhooks.get(setup.scope, id)).enabled]).toEqual([day, true]);
      clock.advance(DAY_MS);
    }
    // The next attempt, of an old or a new event, is the last.
    await setup.appendEvents(1);
    await until(async () => !(await setup.node.webhooks.get(setup.scope, id)).enabled, soon);
    expect(await disabledEvents(setup)).toMatchObject([{ reason: 'failing' }]);
  });

  test('not by responses of its previous URL, nor by failures before a success', async () => {
    await using scene = await setUpWith(() => ({ status: 500 }));
    const { rig: setup, clock, soon, id, receiver } = scene;
    const { webhooks } = setup.node;
    await setup.appendEvents(1);
    await tried(setup, 1, soon);
    expect((await webhooks.get(setup.scope, id)).failingSinceMs).not.toBeNull();
    const url = `${receiver.url}/moved`;
    const moved = await webhooks.change(setup.scope, id, { url });
    expect([moved.failingSinceMs, (await webhooks.get(setup.scope, id)).failingSinceMs]).toEqual([
      null,
      null,
    ]);
    // The last attempts at the previous URL may end after the change.
    const disable = (found: Parameters<typeof disableWebhook>[3]) =>
      disableWebhook(setup.pool, setup.scope, id, found, clock.now());
    await disable({ reason: 'gone', url: receiver.url });
    await disable({ reason: 'failing', url });
    expect(await disabledEvents(setup)).toEqual([]);
    await disable({ reason: 'gone', url });
    expect(await disabledEvents(setup)).toMatchObject([{ reason: 'gone', webhook: { url } }]);
  });

  test('queued events are sent when it is enabled again', async () => {
    let broken = true;
    await using scene = await setUpWith(() => (broken ? { status: 500 } : { status: 200 }));
    const { rig: setup, clock, soon, id, receiver } = scene;
    await setup.appendEvents(1);
    await tried(setup, 1, soon);
    await setup.node.webhooks.change(setup.scope, id, { enabled: false });
    clock.advance(10_000);
    broken = false;
    await setup.node.webhooks.change(setup.scope, id, { enabled: true });
    await until(() => receiver.received.length === 2, soon);
  });
});

test('queued events of a deleted endpoint are removed from the queue', async () => {
  await using it = await setUpWith(() => ({ status: 500 }));
  const { rig: setup, soon } = it;
  await using other = await startWebhookReceiver({ answer: () => ({ status: 500 }) });
  await setup.createEndpoint(other.url);
  await setup.appendEvents(3);
  await triedOnce(setup, 6, soon);
  await setup.node.webhooks.remove(setup.scope, it.id);
  it.clock.advance(2 * 60_000);
  await until(async () => {
    const gone = (await setup.deliveries()).filter((one) => one.webhook_id === it.id);
    return gone.every(({ status, due_at }) => status === 'failed' && due_at === null);
  }, soon);
  const left = (await setup.deliveries()).filter((one) => one.webhook_id !== it.id);
  expect(left.map(({ status }) => status)).toEqual(['pending', 'pending', 'pending']);
});

describe('a replay', () => {
  async function broken(count: number) {
    let works = false;
    const scene = await setUpWith(() => (works ? { status: 200 } : { status: 400 }));
    const { rig: setup, soon } = scene;
    await setup.appendEvents(count);
    await triedOnce(setup, count, soon);
    await setup.pool.query(`update webhook_deliveries set status = 'failed', due_at = null`);
    works = true;
    return scene;
  }

  function succeeded({ rig: setup, soon }: Awaited<ReturnType<typeof broken>>, count: number) {
    return until(
      async () =>
        (await setup.deliveries()).filter((one) => one.status === 'succeeded').length === count,
      soon,
    );
  }

  test('of one delivery sends it again with the same id', async () => {
    await using scene = await broken(3);
    const { rig: setup, receiver, id } = scene;
    const [, chosen] = await setup.deliveries();
    const deliveryId = xorIds(id, chosen?.event_id ?? '');
    expect(await setup.node.history.replayDelivery(setup.scope, id, deliveryId)).toEqual({
      replayed: 1,
      nextFromMs: null,
    });
    await succeeded(scene, 1);
    expect(receiver.received).toHaveLength(4);
    const first = receiver.received.find(({ id: sent }) => sent === receiver.received[3]?.id);
    expect(first?.body).toBe(receiver.received[3]?.body);
  });

  test('of all failed deliveries does not affect others', async () => {
    await using scene = await broken(5);
    const { rig: setup, clock, receiver, id } = scene;
    await setup.pool.query(
      `update webhook_deliveries set status = 'succeeded'
        where event_id = (select min(event_id::text)::uuid from webhook_deliveries)`,
    );
    const range = { fromMs: 0, toMs: clock.now() + 30 * DAY_MS, onlyFailed: true };
    expect((await setup.node.history.replayRange(setup.scope, id, range)).replayed).toBe(4);
    await succeeded(scene, 5);
    expect(receiver.received).toHaveLength(9);
    expect((await setup.node.history.replayRange(setup.scope, id, range)).replayed).toBe(0);
  });

  test('needs an enabled endpoint and an existing delivery', async () => {
    await using scene = await broken(1);
    const { rig: setup, id } = scene;
    const none = '01900000-0000-7000-8000-000000000000';
    await expect(setup.node.history.replayDelivery(setup.scope, id, none)).rejects.toMatchObject({
      code: 'not_found',
    });
    await setup.node.webhooks.change(setup.scope, id, { enabled: false });
    const range = { fromMs: 0, toMs: Date.now(), onlyFailed: true };
    await expect(setup.node.history.replayRange(setup.scope, id, range)).rejects.toMatchObject({
      code: 'conflict',
    });
  });
});

test('an event past its retention fails instead of being sent without content', async () => {
  await using scene = await setUpWith(() => ({ status: 500 }));
  const { rig: setup, clock, soon, receiver } = scene;
  await setup.appendEvents(1);
  await tried(setup, 1, soon);
  await setup.pool.query('delete from events');
  clock.advance(10_000);
  const delivery = await tried(setup, 2, soon);
  expect(delivery).toMatchObject({ status: 'failed', last_status: null });
  expect(delivery.last_error).toContain('past its retention');
  expect(receiver.received).toHaveLength(1);
});
