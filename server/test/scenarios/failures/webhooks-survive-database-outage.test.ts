import { expect, test } from 'vitest';
import { systemClock } from '../../../src/lib/time/clock.ts';
import { ManualClock } from '../../../src/lib/time/manual-clock.ts';
import type { WebhookDispatcher } from '../../../src/webhooks/dispatch/webhook-dispatcher.ts';
import { until } from '../../harness/until.ts';
import { startWebhookReceiver } from '../../harness/webhooks/webhook-receiver.ts';
import { setUpWebhooks } from '../../harness/webhooks/webhook-setup.ts';

/**
 * During a database outage no more requests are sent than results can be kept for; afterwards every event has arrived
 * and every attempt is recorded. The database rejects connections during the deliveries; the receiver's log is compared
 * with the recorded attempts.
 */

test('a 45-second outage: each event once, each attempt recorded', async () => {
  const count = 120;
  const clock = new ManualClock(systemClock.now());
  await using receiver = await startWebhookReceiver();
  // A small in-memory limit, so that most events are still queued; no attempt times out as the clock advances.
  const limits = { inFlightMax: 4, readyMax: 30 };
  await using setup = await setUpWebhooks({ clock, limits, deadlineMs: 3_600_000 });
  await setup.createEndpoint(receiver.url);
  const { dispatcher } = setup.node;
  // Results block on each other, so that some are pending when the outage starts.
  const holder = await setup.pool.connect();
  await holder.query('begin; lock table webhook_attempts in share mode');
  const ids = await setup.appendEvents(count);
  await until(() => receiver.received.length >= 20, { clock, stepMs: 5 });
  await setup.database.allowConnections(false);
  holder.release(true);
  await until(() => dispatcher?.stats.inFlight === 0, { clock, stepMs: 5 });
  const postedThen = receiver.received.length;
  expect(postedThen).toBeLessThan(count);
  const startedMs = clock.now();
  await until(() => clock.now() - startedMs > 45_000, { clock, stepMs: 250 });
  // Nothing is sent while results could not be recorded.
  expect(receiver.received.length).toBe(postedThen);
  await setup.database.allowConnections(true);
  const succeeded = async () =>
    (await setup.deliveries()).filter(({ status }) => status === 'succeeded').length;
  await until(async () => (await succeeded()) === count, { clock, stepMs: 50, timeoutMs: 60_000 });
  expect(receiver.received.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
  const { rows } = await setup.pool.query('select attempts from webhook_deliveries');
  expect(rows).toEqual(ids.map(() => ({ attempts: 1 })));
});

test('leases that expired before the results were written: no event is sent again', async () => {
  const clock = new ManualClock(systemClock.now());
  await using receiver = await startWebhookReceiver();
  await using setup = await setUpWebhooks({ clock, deadlineMs: 3_600_000 });
  await setup.createEndpoint(receiver.url);
  // The results are known, and cannot be written.
  const blocker = await setup.pool.connect();
  await blocker.query('begin; lock table webhook_attempts in share mode');
  const ids = await setup.appendEvents(5);
  const { stats } = setup.node.dispatcher as WebhookDispatcher;
  await until(() => stats.succeeded === ids.length, { clock, stepMs: 5 });
  // As after an outage in which no lease could be renewed.
  await setup.pool.query('update webhook_deliveries set due_at = created_at, lease = 8');
  const areClaimed = async () => {
    const { rows } = await setup.pool.query('select from webhook_deliveries where lease = 8');
    return rows.length === 0;
  };
  await until(areClaimed, { clock, stepMs: 100 });
  await blocker.query('commit');
  blocker.release();
  const succeeded = async () =>
    (await setup.deliveries()).filter(({ status }) => status === 'succeeded').length;
  await until(async () => (await succeeded()) === ids.length, { clock, stepMs: 50 });
  expect(receiver.received.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
  const { rows } = await setup.pool.query('select attempts from webhook_deliveries');
  expect(rows).toEqual(ids.map(() => ({ attempts: 1 })));
});
