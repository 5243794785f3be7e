import { expect, test } from 'vitest';
import { Turns } from './turns.ts';

test('one turn per iteration of the event loop, round-robin across keys', async () => {
  const turns = new Turns();
  const log: string[] = [];
  const take = async (key: string, name: string) => {
    await turns.next(key);
    log.push(name);
  };
  const all = [take('a', 'a1'), take('a', 'a2'), take('a', 'a3'), take('b', 'b1')];
  let iterations = 0;
  const count = (): void => {
    iterations += 1;
    log.push('-');
    if (iterations < 4) setImmediate(count);
  };
  setImmediate(count);
  await Promise.all(all);
  expect(log.join(' ')).toBe('a1 - b1 - a2 - a3');
});
