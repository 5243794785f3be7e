import { expect, test } from 'vitest';
import { appendEvents } from '../../../src/events/events-store.ts';
import { until } from '../../harness/delivery/delivery-engine.ts';
import { setUpWebhooks } from '../../harness/webhooks/webhook-setup.ts';

/**
 * A replay of more events than one request can queue, continued from `next_from`, covers every event in the range and
 * none outside it. The events are recorded minutes after they happened, as after a database outage; the endpoint was
 * created later.
 */

const COUNT = 60_000;
const AT_ONCE = 5_000;

test('a replay continues where the previous request ended', {
  timeout: 120_000,
}, async () => {
  await using setup = await setUpWebhooks({ limits: { inFlightMax: 0 } });
  const beganMs = Date.now() - 5 * 60_000;
  for (let n = 0; n < COUNT; n += AT_ONCE) {
    const events = Array.from({ length: AT_ONCE }, (_, i) => ({
      ...setup.scope,
      type: 'template.published' as const,
      atMs: beganMs + n + i,
      data: {},
    }));
    await appendEvents(setup.pool, events);
  }
  await until(async () => {
    const { rowCount } = await setup.pool.query(
      'select from events where tx >= event_log_horizon()',
    );
    return rowCount === 0;
  });
  const { id } = await setup.createEndpoint('http://127.0.0.1:9/');
  const outside = 1_000;
  const range = { toMs: Date.now(), onlyFailed: false };
  const froms = [beganMs + outside];
  let replayed = 0;
  for (const fromMs of froms) {
    const step = await setup.node.history.replayRange(setup.scope, id, { ...range, fromMs });
    replayed += step.replayed;
    if (step.nextFromMs !== null) froms.push(step.nextFromMs);
  }
  expect(froms).toEqual([beganMs + outside, beganMs + outside + 50_000]);
  expect(replayed).toBe(COUNT - outside);
  expect(await setup.deliveries()).toHaveLength(COUNT - outside);
});
