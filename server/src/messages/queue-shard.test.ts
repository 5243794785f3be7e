import { expect, test } from 'vitest';
import { domainOf, LANES, laneOf } from './queue-shard.ts';

test('a domain keeps its lane for ever, because rows carry it', () => {
  expect(laneOf('example.com')).toBe(38);
  expect(laneOf('gmail.com')).toBe(50);
});

test('many domains spread over all lanes', () => {
  const used = new Set<number>();
  for (let i = 0; i < 2000; i++) used.add(laneOf(`domain-${i}.example`));
  expect(used.size).toBe(LANES);
  expect(Math.min(...used)).toBe(0);
  expect(Math.max(...used)).toBe(LANES - 1);
});

test('the domain follows the last @, whatever a quoted local part holds', () => {
  expect(domainOf('"a@b"@example.com')).toBe('example.com');
});
