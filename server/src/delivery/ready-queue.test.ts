import { describe, expect, test } from 'vitest';
import { ConcurrencyLimit } from './concurrency-limit.ts';
import type { Delivery, Message } from './delivery.ts';
import { ReadyQueue } from './ready-queue.ts';

let messages = 0;

function message(workspaceId: string): Message {
  messages += 1;
  return {
    workspaceId,
    mode: 'live',
    id: `message-${messages}`,
    dateMs: 0,
    tags: [],
    metadata: {},
    content: undefined,
    contentBytes: 0,
    contentMissing: false,
    signature: null,
    prepared: undefined,
    leased: [],
  };
}

function delivery(
  workspaceId: string,
  recipient: string,
  of = message(workspaceId),
  isBlindCopy = false,
): Delivery {
  return {
    message: of,
    ordinal: 0,
    recipient,
    recipientKey: recipient,
    domain: recipient.slice(recipient.indexOf('@') + 1),
    isBlindCopy,
    lease: 8,
    leaseEndsAtMs: 1000,
    attempts: 0,
    cycleStartedAtMs: 0,
    expiresAtMs: 1000,
    giveUpAtMs: 1000,
    suspect: false,
    state: 'ready',
  };
}

function queueWith(gates: Record<string, ConcurrencyLimit> = {}) {
  const wide = new ConcurrencyLimit(1_000_000);
  return new ReadyQueue((item) => gates[item.domain] ?? wide);
}

function recipients(queue: ReadyQueue, count: number): string[] {
  const taken: string[] = [];
  for (let i = 0; i < count; i++) {
    const transaction = queue.take(50);
    if (!transaction) break;
    taken.push(
      ...transaction.deliveries.map((item) => `${item.message.workspaceId}:${item.recipient}`),
    );
  }
  return taken;
}

describe('fairness', () => {
  test('a workspace with thousands of deliveries delays another by at most one turn', () => {
    const queue = queueWith();
    for (let i = 0; i < 5000; i++) queue.add(delivery('big', `u${i}@a.example`));
    queue.add(delivery('small', 'reset@b.example'));
    expect(recipients(queue, 2)).toContain('small:reset@b.example');
  });

  test('receiving domains of a workspace take turns', () => {
    const queue = queueWith();
    for (let i = 0; i < 3; i++) queue.add(delivery('w', `u${i}@a.example`));
    queue.add(delivery('w', 'x@b.example'));
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
    const one = message('w');
    for (const name of ['a', 'b', 'c']) queue.add(delivery('w', `${name}@a.example`, one));
    queue.add(delivery('w', 'd@a.example'));
    expect(queue.take(2)?.deliveries.map((item) => item.recipient)).toEqual([
      'a@a.example',
      'b@a.example',
    ]);
    expect(queue.take(2)?.deliveries).toHaveLength(1);
    expect(queue.take(2)?.deliveries).toHaveLength(1);
  });
});

describe('gates', () => {
  test('a domain without capacity is skipped and resumes when a slot is free', () => {
    const limit = new ConcurrencyLimit(1);
    const queue = queueWith({ 'slow.example': limit });
    queue.add(delivery('w', 'a@slow.example'));
    queue.add(delivery('w', 'b@slow.example'));
    queue.add(delivery('w', 'c@fast.example'));
    expect(recipients(queue, 9)).toEqual(['w:a@slow.example', 'w:c@fast.example']);
    expect(queue.size).toBe(1);
    limit.release();
    expect(recipients(queue, 9)).toEqual(['w:b@slow.example']);
  });

  test('a raised limit resumes as many waiters as there are slots', () => {
    const limit = new ConcurrencyLimit(1);
    const queue = queueWith({ 'a.example': limit, 'b.example': limit, 'c.example': limit });
    for (const name of ['a', 'b', 'c']) queue.add(delivery('w', `x@${name}.example`));
    expect(recipients(queue, 9)).toHaveLength(1);
    limit.limit = 3;
    limit.notifyWaiters();
    expect(recipients(queue, 9)).toHaveLength(2);
  });

  test('a slot that its waiter no longer needs goes to the next in line', () => {
    const limit = new ConcurrencyLimit(1);
    const queue = queueWith({ 'a.example': limit, 'b.example': limit, 'c.example': limit });
    const withdrawn = delivery('w', 'x@b.example');
    queue.add(delivery('w', 'x@a.example'));
    queue.add(withdrawn);
    queue.add(delivery('w', 'x@c.example'));
    expect(recipients(queue, 9)).toEqual(['w:x@a.example']);
    queue.remove(withdrawn);
    limit.release();
    expect(recipients(queue, 9)).toEqual(['w:x@c.example']);
  });

  test('a domain that waits on a limit it no longer uses continues with the new one', () => {
    const first = new ConcurrencyLimit(1);
    const gates = { 'a.example': first };
    const queue = queueWith(gates);
    for (const workspace of ['v', 'w', 'x']) queue.add(delivery(workspace, 'x@a.example'));
    expect(recipients(queue, 9)).toHaveLength(1);
    gates['a.example'] = new ConcurrencyLimit(5);
    first.release();
    expect(recipients(queue, 9)).toHaveLength(2);
  });
});

test('removed deliveries are neither counted nor taken', () => {
  const queue = queueWith();
  const removed = delivery('w', 'a@a.example');
  queue.add(removed);
  queue.add(delivery('w', 'b@a.example'));
  queue.remove(removed);
  queue.remove(removed);
  expect(queue.size).toBe(1);
  expect(queue.sizeOf('w')).toBe(1);
  expect(recipients(queue, 9)).toEqual(['w:b@a.example']);
  expect(queue.sizeOf('w')).toBe(0);
});

test('lists the workspaces that hold many deliveries', () => {
  const queue = queueWith();
  for (let i = 0; i < 10; i++) queue.add(delivery('big', `u${i}@a.example`));
  queue.add(delivery('small', 'u@a.example'));
  expect(queue.workspacesHolding(10)).toEqual(['big']);
  expect(queue.workspacesHolding(11)).toEqual([]);
});

describe('a workspace at its fair share', () => {
  test('is skipped until there is capacity, then continues', () => {
    let full = new Set(['a']);
    const queue = new ReadyQueue(
      () => new ConcurrencyLimit(10),
      { ready: 0 },
      (id) => !full.has(id),
    );
    queue.add(delivery('a', 'one@a.example'));
    queue.add(delivery('b', 'two@b.example'));
    expect(recipients(queue, 5)).toEqual(['b:two@b.example']);
    queue.add(delivery('a', 'three@c.example'));
    expect(recipients(queue, 5)).toEqual([]);
    full = new Set();
    queue.capacityFreed();
    expect(recipients(queue, 5)).toEqual(['a:one@a.example', 'a:three@c.example']);
  });

  test('leaves its slot to the next waiter', () => {
    const full = new Set<string>();
    const limit = new ConcurrencyLimit(1);
    const queue = new ReadyQueue(
      () => limit,
      { ready: 0 },
      (id) => !full.has(id),
    );
    queue.add(delivery('a', 'first@x.example'));
    expect(recipients(queue, 5)).toEqual(['a:first@x.example']);
    queue.add(delivery('a', 'one@x.example'));
    queue.add(delivery('a', 'two@y.example'));
    queue.add(delivery('b', 'three@x.example'));
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
