import { describe, expect, test } from 'vitest';
import { type Delivery, ConcurrencyLimit, type Message } from './delivery.ts';
import { leaveGate, ReadyQueue, notifyWaiters } from './ready-queue.ts';

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

function delivery(workspaceId: string, recipient: string, of = message(workspaceId)): Delivery {
  return {
    message: of,
    ordinal: 0,
    recipient,
    recipientKey: recipient,
    domain: recipient.slice(recipient.indexOf('@') + 1),
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

function listWith(gates: Record<string, ConcurrencyLimit> = {}) {
  const wide = new ConcurrencyLimit(1_000_000);
  return new ReadyQueue((item) => gates[item.domain] ?? wide);
}

function recipients(list: ReadyQueue, count: number): string[] {
  const taken: string[] = [];
  for (let i = 0; i < count; i++) {
    const turn = list.take(50);
    if (!turn) break;
    taken.push(...turn.deliveries.map((item) => `${item.message.workspaceId}:${item.recipient}`));
  }
  return taken;
}

describe('turns', () => {
  test('a workspace with thousands waiting does not delay another by more than one turn', () => {
    const list = listWith();
    for (let i = 0; i < 5000; i++) list.add(delivery('big', `u${i}@a.example`));
    list.add(delivery('small', 'reset@b.example'));
    expect(recipients(list, 2)).toContain('small:reset@b.example');
  });

  test('inside a workspace the receiving domains take turns', () => {
    const list = listWith();
    for (let i = 0; i < 3; i++) list.add(delivery('w', `u${i}@a.example`));
    list.add(delivery('w', 'x@b.example'));
    expect(recipients(list, 9)).toEqual([
      'w:u0@a.example',
      'w:x@b.example',
      'w:u1@a.example',
      'w:u2@a.example',
    ]);
    expect(list.size).toBe(0);
  });

  test('recipients of one message at one domain leave together, up to the limit', () => {
    const list = listWith();
    const one = message('w');
    for (const name of ['a', 'b', 'c']) list.add(delivery('w', `${name}@a.example`, one));
    list.add(delivery('w', 'd@a.example'));
    expect(list.take(2)?.deliveries.map((item) => item.recipient)).toEqual([
      'a@a.example',
      'b@a.example',
    ]);
    expect(list.take(2)?.deliveries).toHaveLength(1);
    expect(list.take(2)?.deliveries).toHaveLength(1);
  });
});

describe('gates', () => {
  test('a domain without a free place is passed over and comes back when one is free', () => {
    const gate = new ConcurrencyLimit(1);
    const list = listWith({ 'slow.example': gate });
    list.add(delivery('w', 'a@slow.example'));
    list.add(delivery('w', 'b@slow.example'));
    list.add(delivery('w', 'c@fast.example'));
    expect(recipients(list, 9)).toEqual(['w:a@slow.example', 'w:c@fast.example']);
    expect(list.size).toBe(1);
    leaveGate(gate);
    expect(recipients(list, 9)).toEqual(['w:b@slow.example']);
  });

  test('a raised limit lets in as many as there are places', () => {
    const gate = new ConcurrencyLimit(1);
    const list = listWith({ 'a.example': gate, 'b.example': gate, 'c.example': gate });
    for (const name of ['a', 'b', 'c']) list.add(delivery('w', `x@${name}.example`));
    expect(recipients(list, 9)).toHaveLength(1);
    gate.limit = 3;
    notifyWaiters(gate);
    expect(recipients(list, 9)).toHaveLength(2);
  });

  test('a place given to one who no longer wants it goes to the next in line', () => {
    const gate = new ConcurrencyLimit(1);
    const list = listWith({ 'a.example': gate, 'b.example': gate, 'c.example': gate });
    const withdrawn = delivery('w', 'x@b.example');
    list.add(delivery('w', 'x@a.example'));
    list.add(withdrawn);
    list.add(delivery('w', 'x@c.example'));
    expect(recipients(list, 9)).toEqual(['w:x@a.example']);
    list.remove(withdrawn);
    leaveGate(gate);
    expect(recipients(list, 9)).toEqual(['w:x@c.example']);
  });

  test('whoever waits at a gate that its domain has left goes on through the new one', () => {
    const first = new ConcurrencyLimit(1);
    const gates = { 'a.example': first };
    const list = listWith(gates);
    for (const workspace of ['v', 'w', 'x']) list.add(delivery(workspace, 'x@a.example'));
    expect(recipients(list, 9)).toHaveLength(1);
    gates['a.example'] = new ConcurrencyLimit(5);
    leaveGate(first);
    expect(recipients(list, 9)).toHaveLength(2);
  });
});

test('what is removed is neither counted nor taken', () => {
  const list = listWith();
  const gone = delivery('w', 'a@a.example');
  list.add(gone);
  list.add(delivery('w', 'b@a.example'));
  list.remove(gone);
  list.remove(gone);
  expect(list.size).toBe(1);
  expect(list.sizeOf('w')).toBe(1);
  expect(recipients(list, 9)).toEqual(['w:b@a.example']);
  expect(list.sizeOf('w')).toBe(0);
});

test('names the workspaces that hold much', () => {
  const list = listWith();
  for (let i = 0; i < 10; i++) list.add(delivery('big', `u${i}@a.example`));
  list.add(delivery('small', 'u@a.example'));
  expect(list.workspacesHolding(10)).toEqual(['big']);
  expect(list.workspacesHolding(11)).toEqual([]);
});

describe('a workspace that has its share of the wire', () => {
  test('is passed over until there is room, and then goes on', () => {
    let full = new Set(['a']);
    const list = new ReadyQueue(
      () => new ConcurrencyLimit(10),
      { ready: 0 },
      (id) => !full.has(id),
    );
    list.add(delivery('a', 'one@a.example'));
    list.add(delivery('b', 'two@b.example'));
    expect(recipients(list, 5)).toEqual(['b:two@b.example']);
    list.add(delivery('a', 'three@c.example'));
    expect(recipients(list, 5)).toEqual([]);
    full = new Set();
    list.capacityFreed();
    expect(recipients(list, 5)).toEqual(['a:one@a.example', 'a:three@c.example']);
  });

  test('leaves a place at a gate to whoever waits there behind it', () => {
    const full = new Set<string>();
    const gate = new ConcurrencyLimit(1);
    const list = new ReadyQueue(
      () => gate,
      { ready: 0 },
      (id) => !full.has(id),
    );
    list.add(delivery('a', 'first@x.example'));
    expect(recipients(list, 5)).toEqual(['a:first@x.example']);
    list.add(delivery('a', 'one@x.example'));
    list.add(delivery('a', 'two@y.example'));
    list.add(delivery('b', 'three@x.example'));
    expect(recipients(list, 5)).toEqual([]);
    full.add('a');
    leaveGate(gate);
    expect(recipients(list, 5)).toEqual(['b:three@x.example']);
    leaveGate(gate);
    full.clear();
    list.capacityFreed();
    expect(recipients(list, 5)).toEqual(['a:one@x.example']);
    leaveGate(gate);
    expect(recipients(list, 5)).toEqual(['a:two@y.example']);
  });
});
