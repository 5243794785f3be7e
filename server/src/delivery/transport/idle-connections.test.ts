import { expect, test } from 'vitest';
import { IdleConnections } from './idle-connections.ts';

test('the connection that has been idle for longest is closed, and none that is in use', () => {
  const closed: string[] = [];
  const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((name) => ({
    retire: () => void closed.push(name),
  })) as [Idle, Idle, Idle, Idle];
  const idle = new IdleConnections(2);
  idle.add(a);
  idle.add(b);
  // It is used, and idle again.
  idle.delete(a);
  idle.add(a);
  idle.add(c);
  expect(closed).toEqual(['b']);
  idle.delete(a);
  idle.add(d);
  expect(closed).toEqual(['b']);
  idle.add(a);
  expect(closed).toEqual(['b', 'c']);
});

type Idle = Parameters<IdleConnections['add']>[0];
