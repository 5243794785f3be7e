import { expect, test } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { ManualClock } from '../../src/lib/manual-clock.ts';
import { until } from '../harness/until.ts';
import { startWebhookReceiver } from '../harness/webhook-receiver.ts';
import { setUpWebhooks } from '../harness/webhook-setup.ts';

/**
 * Goal: while the database is gone no more is posted than can be remembered, and when it is back
 * every event has arrived and every try stands in the log.
 * Method: the database lets nobody in, in the middle of the deliveries; what the receiver got is
 * compared with the log of tries.
 */

test('the database gone for 45 seconds in the middle: each event once, each try in the log', async () => {
  const count = 120;
  const clock = new ManualClock(systemClock.now());
  await using receiver = await startWebhookReceiver();
  // Little is held, so that most of it still waits; and no try ends because the clock runs ahead.
  const limits = { wireMax: 4, readyMax: 30 };
  await using rig = await setUpWebhooks({ clock, limits, deadlineMs: 3_600_000 });
  await rig.createEndpoint(receiver.url);
  const { dispatcher } = rig.node;
  // Results wait for each other, so that there are some when it happens.
  const holder = await rig.pool.connect();
  await holder.query('begin; lock table webhook_attempts in share mode');
  const ids = await rig.appendEvents(count);
  await until(() => receiver.received.length >= 20, { clock, stepMs: 5 });
  await rig.database.allowConnections(false);
  holder.release(true);
  await until(() => dispatcher?.stats.inFlight === 0, { clock, stepMs: 5 });
  const postedThen = receiver.received.length;
  expect(postedThen).toBeLessThan(count);
  const startedMs = clock.now();
  await until(() => clock.now() - startedMs > 45_000, { clock, stepMs: 250 });
  // Nothing goes out while nobody could note it.
  expect(receiver.received.length).toBe(postedThen);
  await rig.database.allowConnections(true);
  const succeeded = async () =>
    (await rig.deliveries()).filter(({ status }) => status === 'succeeded').length;
  await until(async () => (await succeeded()) === count, { clock, stepMs: 50, timeoutMs: 60_000 });
  expect(receiver.received.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
  const { rows } = await rig.pool.query('select number from webhook_attempts');
  expect(rows).toEqual(ids.map(() => ({ number: 1 })));
});
