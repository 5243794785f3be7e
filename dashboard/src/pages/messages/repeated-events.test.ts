import { expect, test } from 'vitest';
import { repeatedEvents } from './repeated-events.ts';

function hiddenOf(types: string): (number | undefined)[] {
  const events = [...types].map((type, index) => ({ id: String(index), type }));
  const hidden = repeatedEvents(events);
  return events.map(({ id }) => hidden.get(id));
}

test('the inner events of a long run are hidden, and the first of them counts them', () => {
  expect(hiddenOf('addddde')).toEqual([undefined, undefined, 3, 0, 0, undefined, undefined]);
});

test('short runs and different events are shown', () => {
  expect(hiddenOf('adddbbb')).toEqual(Array(7).fill(undefined));
  expect(hiddenOf('')).toEqual([]);
});
