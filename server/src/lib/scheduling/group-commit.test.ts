import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { GroupCommit } from './group-commit.ts';

/**
 * Checks that groups grow with the load while a single item is written immediately, and that spacing
 * batches items without delaying drained().
 */

function groupsOf(spacingMs: number): { groups: number[][]; commits: GroupCommit<number, number> } {
  const groups: number[][] = [];
  const commits = new GroupCommit<number, number>({
    commit: async (items) => {
      groups.push(items);
      return items;
    },
    isItemError: () => false,
    groupItemsMax: 100,
    groupBytesMax: 1_000,
    groupsInFlightMax: 1,
    spacingMs,
    waitingItemsMax: 1_000,
    waitingBytesMax: 1_000_000,
  });
  return { groups, commits };
}

test('with spacing, the first item is written immediately and the following ones together', async () => {
  const { groups, commits } = groupsOf(200);
  await commits.add(1, 1);
  const later = [2, 3].map((n) => commits.add(n, 1));
  await nextTurn();
  later.push(commits.add(4, 1));
  expect(await Promise.all(later)).toEqual([2, 3, 4]);
  expect(groups).toEqual([[1], [2, 3, 4]]);
});

test('drained() does not wait for the spacing', async () => {
  const { groups, commits } = groupsOf(1_000_000);
  await commits.add(1, 1);
  void commits.add(2, 1);
  await commits.drained();
  void commits.add(3, 1);
  await commits.drained();
  expect(groups).toEqual([[1], [2], [3]]);
});

/** A writer whose commits end when the test decides. */
function rig(options: { groupItemsMax?: number } = {}) {
  const groups: { items: number[]; end: () => void }[] = [];
  const commits = new GroupCommit<number, number>({
    commit: (items) =>
      new Promise((resolve) =>
        groups.push({ items, end: () => resolve(items.map((n) => n * 10)) }),
      ),
    isItemError: () => false,
    groupItemsMax: 100,
    groupBytesMax: 1_000,
    groupsInFlightMax: 2,
    waitingItemsMax: 100,
    waitingBytesMax: 1_000,
    ...options,
  });
  return { commits, groups, sizes: () => groups.map(({ items }) => items.length) };
}

test('a single item is written immediately and answered after its commit', async () => {
  const { commits, groups, sizes } = rig();
  const answer = commits.add(7, 1);
  await nextTurn();
  expect(sizes()).toEqual([1]);
  groups[0]?.end();
  expect(await answer).toBe(70);
});

test('with a small group in flight, a second starts when as many items are waiting', async () => {
  const { commits, sizes } = rig();
  for (const n of [1, 2, 3]) void commits.add(n, 1);
  await nextTurn();
  for (const n of [4, 5]) void commits.add(n, 1);
  await nextTurn();
  expect(sizes()).toEqual([3]);
  void commits.add(6, 1);
  await nextTurn();
  expect(sizes()).toEqual([3, 3]);
});

test('with a larger group in flight, items wait for its end unless two full groups are waiting', async () => {
  const { commits, groups, sizes } = rig({ groupItemsMax: 16 });
  for (let n = 0; n < 32; n++) void commits.add(n, 1);
  await nextTurn();
  expect(sizes()).toEqual([16]);
  for (let n = 0; n < 15; n++) void commits.add(n, 1);
  await nextTurn();
  expect(sizes()).toEqual([16]);
  void commits.add(32, 1);
  await nextTurn();
  expect(sizes()).toEqual([16, 16]);
  for (const { end } of groups) end();
});

test('callers that return after every response end up in equal groups', async () => {
  const { commits, groups, sizes } = rig();
  let answers = 0;
  const comeAgain = async (n: number): Promise<void> => {
    while (answers < 400) {
      await commits.add(n, 1);
      answers += 1;
    }
  };
  // One item first and the rest in the next turn, which is the most uneven start.
  const callers = [comeAgain(0)];
  await nextTurn();
  for (let n = 1; n < 40; n++) callers.push(comeAgain(n));
  for (let ended = 0; answers < 400; ) {
    await nextTurn();
    groups[ended++]?.end();
  }
  expect(sizes().slice(6, 14)).toEqual(Array(8).fill(20));
  for (let ended = 0; commits.waiting > 0 || ended < groups.length; ended++) {
    groups[ended]?.end();
    await nextTurn();
  }
  await Promise.all(callers);
});

test('fewer waiting items than in flight start when the first group is done', async () => {
  const { commits, groups, sizes } = rig();
  for (let n = 0; n < 16; n++) void commits.add(n, 1);
  await nextTurn();
  expect(sizes()).toEqual([8]);
  const answer = commits.add(4, 1);
  await nextTurn();
  groups[0]?.end();
  await nextTurn();
  expect(sizes()).toEqual([8, 9]);
  groups[1]?.end();
  expect(await answer).toBe(40);
  await commits.drained();
});

test('groups of one item do not wait for each other', async () => {
  const { commits, sizes } = rig({ groupItemsMax: 1 });
  for (const n of [1, 2, 3]) void commits.add(n, 1);
  await nextTurn();
  expect(sizes()).toEqual([1, 1]);
});
