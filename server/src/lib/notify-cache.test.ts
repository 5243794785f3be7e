import { expect, it } from 'vitest';
import { NotifyCache } from './notify-cache.ts';
import { ManualClock } from './manual-clock.ts';
import { WeightedCache } from './weighted-cache.ts';

/** Goal: a value is read once, never longer than it may be believed, never from before a notice. */

function rig(entriesMax = 10) {
  const clock = new ManualClock(0);
  const state = { notices: true, reads: 0, value: 'a' };
  const believed = new NotifyCache<string>({
    clock,
    isListening: () => state.notices,
    entriesMax,
  });
  const get = (group = 'w', name = 'n') =>
    believed.get(group, name, async () => {
      state.reads += 1;
      return state.value;
    });
  return { clock, state, believed, get };
}

it('reads once for all who ask, and answers at once when it knows', async () => {
  const { state, get } = rig();
  expect(await Promise.all([get(), get()])).toEqual(['a', 'a']);
  expect(get()).toBe('a');
  expect(state.reads).toBe(1);
});

it('forgets a group and keeps the others', async () => {
  const { state, believed, get } = rig();
  await Promise.all([get('w'), get('v')]);
  state.value = 'b';
  believed.invalidate('w');
  expect([await get('w'), await get('v')]).toEqual(['b', 'a']);
  believed.invalidateAll();
  expect(await get('v')).toBe('b');
});

it('hands a read from before a notice to nobody who asks after it', async () => {
  const { believed } = rig();
  const slow = Promise.withResolvers<string>();
  const before = believed.get('w', 'n', () => slow.promise);
  believed.invalidate('w');
  const after = believed.get('w', 'n', async () => 'new');
  slow.resolve('old');
  expect([await before, await after]).toEqual(['old', 'new']);
  expect(believed.get('w', 'n', async () => 'newer')).toBe('new');
});

it('believes for a second without notices, for a minute with them', async () => {
  const { clock, state, get } = rig();
  await get();
  state.value = 'b';
  clock.advance(59_999);
  expect(get()).toBe('a');
  state.notices = false;
  expect(await get()).toBe('b');
  clock.advance(999);
  expect(get()).toBe('b');
  clock.advance(1);
  state.value = 'c';
  expect(await get()).toBe('c');
});

it('asks again for what could not be read', async () => {
  const { believed } = rig();
  await expect(
    believed.get('w', 'n', async () => {
      throw new Error('gone');
    }),
  ).rejects.toThrow('gone');
  expect(await believed.get('w', 'n', async () => 'a')).toBe('a');
});

it('holds a bounded number', async () => {
  const { state, get } = rig(2);
  for (const name of ['1', '2', '3']) await get('w', name);
  expect(get('w', '3')).toBe('a');
  await get('w', '1');
  expect(state.reads).toBe(4);
});

it('keeps what was used last, by weight', () => {
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
