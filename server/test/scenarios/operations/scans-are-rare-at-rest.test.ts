import { expect, test } from 'vitest';
import { systemClock } from '../../../src/lib/time/clock.ts';
import { ManualClock } from '../../../src/lib/time/manual-clock.ts';
import { createTestDatabase } from '../../harness/database/database.ts';
import { startEngine, until } from '../../harness/delivery/delivery-engine.ts';

/**
 * A delivery engine that no other process shares the database with rarely scans it while there is nothing
 * unfinished. What it gets without a claim may become due without a notification, when it is deferred.
 */

test('a handoff makes scans frequent again', async () => {
  const clock = new ManualClock(systemClock.now());
  await using database = await createTestDatabase();
  let scans = 0;
  await using node = startEngine({
    url: database.url,
    clock,
    changeStore: (store) => ({
      ...store,
      scan: async (request) => {
        const found = await store.scan(request);
        scans += 1;
        return found;
      },
    }),
  });
  await until(() => scans === 6, { clock, stepMs: 500 });
  await new Promise(setImmediate);
  clock.advance(2_000);
  expect(scans).toBe(6);
  const lease = node.engine.reserveCapacity(1, 1_000);
  if (!lease) throw new Error('The engine has no capacity.');
  node.engine.handOff(lease, []);
  clock.advance(0);
  await expect.poll(() => scans).toBe(7);
});
