import { expect, test } from 'vitest';
import { ManualClock } from '../lib/time/manual-clock.ts';
import { ApiKeyCache, type CachedKey } from './api-key-cache.ts';

/** Checks which keys are forgotten, and when. */

function setUp() {
  const clock = new ManualClock(0);
  const age = { maxMs: 3_600_000 };
  const cache = new ApiKeyCache({ clock, maxAgeMs: () => age.maxMs });
  const store = (presented: string, workspaceId: string) =>
    cache.read(presented, async () => ({ caller: { workspaceId } }) as CachedKey);
  const cached = (...presented: string[]) => presented.filter((one) => cache.get(one));
  return { clock, age, cache, store, cached };
}

test('a change of a workspace invalidates all its keys and no others', async () => {
  const { cache, store, cached } = setUp();
  await Promise.all([store('a', 'w'), store('b', 'w'), store('c', 'v')]);
  cache.invalidateWorkspace('w');
  expect(cached('a', 'b', 'c')).toEqual(['c']);
  await store('a', 'w');
  expect(cached('a', 'b', 'c')).toEqual(['a', 'c']);
  cache.invalidateAll();
  expect(cached('a', 'b', 'c')).toEqual([]);
});

test('a key that was read again is invalidated too', async () => {
  const { clock, age, cache, store, cached } = setUp();
  await store('a', 'w');
  clock.advance(60_000);
  age.maxMs = 60_000;
  expect(cached('a')).toEqual([]);
  await store('a', 'w');
  expect(cached('a')).toEqual(['a']);
  cache.invalidateWorkspace('w');
  expect(cached('a')).toEqual([]);
});

test('when the cache is full, the keys that were read first go first', async () => {
  const { cache, store, cached } = setUp();
  for (let n = 0; n < 20_001; n++) await store(`k${n}`, `w${n % 3}`);
  expect(cached('k0', 'k1', 'k20000')).toEqual(['k1', 'k20000']);
  cache.invalidateWorkspace('w1');
  expect(cached('k1', 'k2', 'k20000')).toEqual(['k2', 'k20000']);
});
