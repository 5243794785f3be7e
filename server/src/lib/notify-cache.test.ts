import { expect, it } from 'vitest';
import { WeightedCache } from './memory/weighted-cache.ts';
import { NotifyCache } from './notify-cache.ts';
import { ManualClock } from './time/manual-clock.ts';

/** Checks that a value is read once, expires in time, and is never from before an invalidation. */

function setUp(entriesMax = 10) {
  const clock = new ManualClock(0);
  const state = { maxAgeMs: 60_000, reads: 0, value: 'a' };
  const cache = new NotifyCache<string>({
    clock,
    maxAgeMs: () => state.maxAgeMs,
    entriesMax,
  });
  const get = (group = 'w', name = 'n') =>
    cache.get(group, name, async () => {
      state.reads += 1;
      return state.value;
    });
  return { clock, state, cache, get };
}

it('concurrent callers share one read, and a cached value is returned synchronously', async () => {
  const { state, get } = setUp();
  expect(await Promise.all([get(), get()])).toEqual(['a', 'a']);
  expect(get()).toBe('a');
  expect(state.reads).toBe(1);
});

it('invalidating a group keeps the others', async () => {
  const { state, cache, get } = setUp();
  await Promise.all([get('w'), get('v')]);
  state.value = 'b';
  cache.invalidate('w');
  expect([await get('w'), await get('v')]).toEqual(['b', 'a']);
  cache.invalidateAll();
  expect(await get('v')).toBe('b');
});

it('a read that started before an invalidation is not used by later callers', async () => {
  const { cache } = setUp();
  const slow = Promise.withResolvers<string>();
  const before = cache.get('w', 'n', () => slow.promise);
  cache.invalidate('w');
  const after = cache.get('w', 'n', async () => 'new');
  slow.resolve('old');
  expect([await before, await after]).toEqual(['old', 'new']);
  expect(cache.get('w', 'n', async () => 'newer')).toBe('new');
});

it('the age at which entries expire can change at any time', async () => {
  const { clock, state, get } = setUp();
  await get();
  state.value = 'b';
  clock.advance(59_999);
  expect(get()).toBe('a');
  state.maxAgeMs = 1_000;
  expect(await get()).toBe('b');
  clock.advance(999);
  expect(get()).toBe('b');
  clock.advance(1);
  state.value = 'c';
  expect(await get()).toBe('c');
});

it('a failed read is not cached', async () => {
  const { cache } = setUp();
  await expect(
    cache.get('w', 'n', async () => {
      throw new Error('unreachable');
    }),
  ).rejects.toThrow('unreachable');
  expect(await cache.get('w', 'n', async () => 'a')).toBe('a');
});

it('a group keeps its other entries when one is evicted', async () => {
  const { clock, state, cache, get } = setUp(3);
  for (const name of ['1', '2', '3']) {
    state.value = name;
    await get('w', name);
    clock.advance(20_000);
  }
  state.value = 'b';
  expect(await get('w', '1')).toBe('b');
  expect(['1', '2', '3'].map((name) => get('w', name))).toEqual(['b', '2', '3']);
  // The oldest is no longer the first.
  expect(await get('w', '4')).toBe('b');
  expect(['1', '3', '4'].map((name) => get('w', name))).toEqual(['b', '3', 'b']);
  cache.invalidate('w');
  state.value = 'c';
  const all = ['1', '3', '4'].map((name) => get('w', name));
  expect(await Promise.all(all)).toEqual(['c', 'c', 'c']);
});

it('caches that there is no value', async () => {
  const { clock } = setUp();
  const cache = new NotifyCache<undefined>({ clock, maxAgeMs: () => 60_000, entriesMax: 10 });
  let reads = 0;
  const read = async () => {
    reads += 1;
    return undefined;
  };
  await cache.get('w', 'n', read);
  expect([cache.get('w', 'n', read), reads]).toEqual([undefined, 1]);
});

it('the number of entries is bounded', async () => {
  const { state, get } = setUp(2);
  for (const name of ['1', '2', '3']) await get('w', name);
  expect(get('w', '3')).toBe('a');
  await get('w', '1');
  expect(state.reads).toBe(4);
});

it('evicts the least recently used entries by weight', () => {
  const cache = new WeightedCache<string>(10);
  cache.set('a', 'A', 4);
  cache.set('b', 'B', 4);
  cache.get('a');
  cache.set('c', 'C', 4);
  expect(['a', 'b', 'c'].map((key) => cache.get(key))).toEqual(['A', undefined, 'C']);
  cache.set('huge', 'H', 100);
  expect([cache.get('huge'), cache.get('a')]).toEqual(['H', undefined]);
  cache.set('d', 'D', 1);
  expect([cache.get('huge'), cache.get('d')]).toEqual([undefined, 'D']);
});
