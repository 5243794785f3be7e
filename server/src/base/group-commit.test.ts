import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { GroupCommit } from './group-commit.ts';

/** Goal: with spacing, what comes together is written together, and nobody is kept from the end. */

function groupsOf(spacingMs: number): { groups: number[][]; commits: GroupCommit<number, number> } {
  const groups: number[][] = [];
  const commits = new GroupCommit<number, number>({
    commit: async (items) => {
      groups.push(items);
      return items;
    },
    isItemFault: () => false,
    groupItemsMax: 100,
    groupBytesMax: 1_000,
    groupsInFlightMax: 1,
    spacingMs,
    waitingItemsMax: 1_000,
    waitingBytesMax: 1_000_000,
  });
  return { groups, commits };
}

test('the first after a rest is written at once, those behind it together', async () => {
  const { groups, commits } = groupsOf(200);
  await commits.add(1, 1);
  const later = [2, 3].map((n) => commits.add(n, 1));
  await nextTurn();
  later.push(commits.add(4, 1));
  expect(await Promise.all(later)).toEqual([2, 3, 4]);
  expect(groups).toEqual([[1], [2, 3, 4]]);
});

test('whoever waits for the end does not wait for the spacing', async () => {
  const { groups, commits } = groupsOf(1_000_000);
  await commits.add(1, 1);
  void commits.add(2, 1);
  await commits.drained();
  void commits.add(3, 1);
  await commits.drained();
  expect(groups).toEqual([[1], [2], [3]]);
});
