import { expect, test } from 'vitest';
import { MemoryBudget } from './memory-budget.ts';

const MIB = 1024 * 1024;
const SMALL = MIB / 4;

test('large items leave memory for small ones', () => {
  const memory = new MemoryBudget(16 * MIB);
  expect(memory.reserve('a').tryGrow(6 * MIB)).toBe(true);
  const other = memory.reserve('b');
  expect(other.tryGrow(6 * MIB)).toBe(true);
  expect(other.tryGrow(1)).toBe(false);
  expect(memory.reserve('c').tryGrow(MIB)).toBe(false);
  expect(memory.reserve('c').tryGrow(SMALL)).toBe(true);
});

test('an owner with several items leaves as much free as it holds, whatever their size', () => {
  const memory = new MemoryBudget(16 * MIB);
  const grown = (owner: string, bytes: number, times: number) =>
    Array.from({ length: times }, () => memory.reserve(owner).tryGrow(bytes)).filter(Boolean)
      .length;
  expect(grown('a', SMALL, 1_000)).toBe(32);
  expect(grown('b', SMALL, 1_000)).toBe(16);
  expect(grown('c', SMALL, 1_000)).toBe(8);
});

test('an item that is alone may use the whole budget, but no more', () => {
  const memory = new MemoryBudget(MIB);
  const only = memory.reserve('a');
  expect(only.tryGrow(MIB)).toBe(true);
  expect(memory.reserve('b').tryGrow(1)).toBe(false);
  only.release();
  only.release();
  expect(memory.used).toBe(0);
  expect(memory.reserve('b').tryGrow(MIB)).toBe(true);
});
