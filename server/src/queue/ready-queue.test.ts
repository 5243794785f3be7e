import { describe, expect, test } from 'vitest';
import { ConcurrencyLimit } from './concurrency-limit.ts';
import type { LeasedItem } from './lease.ts';
import { ReadyQueue } from './ready-queue.ts';

interface Item extends LeasedItem {
  workspaceId: string;
  recipient: string;
  message: object;
}

function item(workspaceId: string, recipient: string, message: object = {}): Item {
  return { workspaceId, recipient, message, lease: 8, leaseEndsAtMs: 1_000, state: 'leased' };
}

function domainOf({ recipient }: Item): string {
  return recipient.slice(recipient.indexOf('@') + 1);
}

function queueWith(
  limits: Record<string, ConcurrencyLimit> = {},
  mayTake: (workspaceId: string) => boolean = () => true,
): ReadyQueue<Item> {
  const wide = new ConcurrencyLimit(1_000_000);
  return new ReadyQueue<Item>({
    workspaceOf: ({ workspaceId }) => workspaceId,
    receiverOf: domainOf,
    limitFor: (one) => limits[domainOf(one)] ?? wide,
    mayTake,
    sharesTransaction: (first, next) => first.message === next.message,
    stats: { ready: 0 },
  });
}

function recipients(queue: ReadyQueue<Item>, count: number): string[] {
  const taken: string[] = [];
  for (let i = 0; i < count; i++) {
    const transaction = queue.take(50);
    if (!transaction) break;
    taken.push(...transaction.items.map((one) => `${one.workspaceId}:${one.recipient}`));
  }
  return taken;
}

describe('fairness', () => {
  test('a workspace with thousands of deliveries delays another by at most one turn', () => {
    const queue = queueWith();
    for (let i = 0; i < 5000; i++) queue.add(item('big', `u${i}@a.example`));
    queue.add(item('small', 'reset@b.example'));
    expect(recipients(queue, 2)).toContain('small:reset@b.example');
  });

  test('receiving domains of a workspace take turns', () => {
    const queue = queueWith();
    for (let i = 0; i < 3; i++) queue.add(item('w', `u${i}@a.example`));
    queue.add(item('w', 'x@b.example'));
    expect(recipients(queue, 9)).toEqual([
      'w:u0@a.example',
      'w:x@b.example',
      'w:u1@a.example',
      'w:u2@a.example',
    ]);
    expect(queue.size).toBe(0);
  });

  test('recipients of one message at one domain share a transaction, up to the limit', () => {
    const queue = queueWith();
    const one = {};
    for (const name of ['a', 'b', 'c']) queue.add(item('w', `${name}@a.example`, one));
    queue.add(item('w', 'd@a.example'));
    expect(queue.take(2)?.items.map(({ recipient }) => recipient)).toEqual([
      'a@a.example',
      'b@a.example',
    ]);
    expect(queue.take(2)?.items).toHaveLength(1);
    expect(queue.take(2)?.items).toHaveLength(1);
  });
});

describe('limits', () => {
  test('a domain without capacity is skipped and resumes when a slot is free', () => {
    const limit = new ConcurrencyLimit(1);
    const queue = queueWith({ 'slow.example': limit });
    queue.add(item('w', 'a@slow.example'));
    queue.add(item('w', 'b@slow.example'));
    queue.add(item('w', 'c@fast.example'));
    expect(recipients(queue, 9)).toEqual(['w:a@slow.example', 'w:c@fast.example']);
    expect(queue.size).toBe(1);
    limit.release();
    expect(recipients(queue, 9)).toEqual(['w:b@slow.example']);
  });

  test('a raised limit resumes as many waiters as there are slots', () => {
    const limit = new ConcurrencyLimit(1);
    const queue = queueWith({ 'a.example': limit, 'b.example': limit, 'c.example': limit });
    for (const name of ['a', 'b', 'c']) queue.add(item('w', `x@${name}.example`));
    expect(recipients(queue, 9)).toHaveLength(1);
    limit.limit = 3;
    limit.notifyWaiters();
    expect(recipients(queue, 9)).toHaveLength(2);
  });

  test('a slot that its waiter no longer needs goes to the next in line', () => {
    const limit = new ConcurrencyLimit(1);
    const queue = queueWith({ 'a.example': limit, 'b.example': limit, 'c.example': limit });
    const withdrawn = item('w', 'x@b.example');
    queue.add(item('w', 'x@a.example'));
    queue.add(withdrawn);
    queue.add(item('w', 'x@c.example'));
    expect(recipients(queue, 9)).toEqual(['w:x@a.example']);
    queue.remove(withdrawn, 'dropped');
    limit.release();
    expect(recipients(queue, 9)).toEqual(['w:x@c.example']);
  });

  test('a domain that waits on a limit it no longer uses continues with the new one', () => {
    const first = new ConcurrencyLimit(1);
    const gates = { 'a.example': first };
    const queue = queueWith(gates);
    for (const workspace of ['v', 'w', 'x']) queue.add(item(workspace, 'x@a.example'));
    expect(recipients(queue, 9)).toHaveLength(1);
    gates['a.example'] = new ConcurrencyLimit(5);
    first.release();
    expect(recipients(queue, 9)).toHaveLength(2);
  });
});

test('removed deliveries are neither counted nor taken', () => {
  const queue = queueWith();
  const removed = item('w', 'a@a.example');
  queue.add(removed);
  queue.add(item('w', 'b@a.example'));
  queue.remove(removed, 'dropped');
  expect(queue.size).toBe(1);
  expect(queue.sizeOf('w')).toBe(1);
  expect(recipients(queue, 9)).toEqual(['w:b@a.example']);
  expect(queue.sizeOf('w')).toBe(0);
});

test('lists the workspaces that hold many deliveries', () => {
  const queue = queueWith();
  for (let i = 0; i < 10; i++) queue.add(item('big', `u${i}@a.example`));
  queue.add(item('small', 'u@a.example'));
  expect(queue.workspacesHolding(10)).toEqual(['big']);
  expect(queue.workspacesHolding(11)).toEqual([]);
});

describe('a workspace at its fair share', () => {
  test('is skipped until there is capacity, then continues', () => {
    let full = new Set(['a']);
    const queue = queueWith({}, (id) => !full.has(id));
    queue.add(item('a', 'one@a.example'));
    queue.add(item('b', 'two@b.example'));
    expect(recipients(queue, 5)).toEqual(['b:two@b.example']);
    queue.add(item('a', 'three@c.example'));
    expect(recipients(queue, 5)).toEqual([]);
    full = new Set();
    queue.capacityFreed();
    expect(recipients(queue, 5)).toEqual(['a:one@a.example', 'a:three@c.example']);
  });

  test('leaves its slot to the next waiter', () => {
    const full = new Set<string>();
    const limit = new ConcurrencyLimit(1);
    const limits = { 'x.example': limit, 'y.example': limit };
    const queue = queueWith(limits, (id) => !full.has(id));
    queue.add(item('a', 'first@x.example'));
    expect(recipients(queue, 5)).toEqual(['a:first@x.example']);
    queue.add(item('a', 'one@x.example'));
    queue.add(item('a', 'two@y.example'));
    queue.add(item('b', 'three@x.example'));
    expect(recipients(queue, 5)).toEqual([]);
    full.add('a');
    limit.release();
    expect(recipients(queue, 5)).toEqual(['b:three@x.example']);
    limit.release();
    full.clear();
    queue.capacityFreed();
    expect(recipients(queue, 5)).toEqual(['a:one@x.example']);
    limit.release();
    expect(recipients(queue, 5)).toEqual(['a:two@y.example']);
  });
});

test('an item that is taken or removed cannot be removed again', () => {
  const queue = queueWith();
  const removed = item('w', 'a@a.example');
  queue.add(removed);
  queue.remove(removed, 'recording');
  expect(() => queue.remove(removed, 'dropped')).toThrow(/only ready items/);
  expect(() => queue.add(removed)).toThrow(/from recording to ready/);
});
