import { expect, test } from 'vitest';
import { changeOfCount, changeOfRate } from './period-comparison.ts';

test('a count changes by a share of what it was', () => {
  expect(changeOfCount(150, 100)).toEqual({ direction: 'up', tone: 'plain', text: '50%' });
  expect(changeOfCount(0, 100)).toEqual({ direction: 'down', tone: 'plain', text: '100%' });
  expect(changeOfCount(1001, 1000)).toEqual({ direction: 'same', tone: 'plain', text: '0%' });
});

test('a rate changes by percentage points, for better or worse', () => {
  expect(changeOfRate(0.99, 0.97, 'good')).toEqual({
    direction: 'up',
    tone: 'good',
    text: '2 pp',
  });
  expect(changeOfRate(0.03, 0.01, 'bad')).toEqual({ direction: 'up', tone: 'bad', text: '2 pp' });
  expect(changeOfRate(0.01, 0.03, 'bad')?.tone).toBe('good');
  expect(changeOfRate(0.01, 0.0101, 'bad')).toEqual({
    direction: 'same',
    tone: 'plain',
    text: '0.01 pp',
  });
  expect(changeOfRate(null, 0.1, 'bad')).toBeUndefined();
  expect(changeOfRate(0.1, undefined, 'bad')).toBeUndefined();
});
