import { totalmem } from 'node:os';
import { expect, test, vi } from 'vitest';
import { usableMemory } from './usable-memory.ts';

const total = totalmem();

test.each([
  ['the limit of the container', 256 * 1024 ** 2, 256 * 1024 ** 2],
  ['all of the machine if the limit is higher', 2 ** 64, total],
  ['all of the machine if the limit is not known', 0, total],
])('usable is %s', (_, limit, usable) => {
  using _constrained = vi.spyOn(process, 'constrainedMemory').mockReturnValue(limit);
  expect(usableMemory()).toBe(usable);
});
