import { expect, test } from 'vitest';
import { addressDomain, QUEUE_SHARDS, queueShardOf } from './queue-shard.ts';

test('keeps the shard of a domain forever, because it is stored in rows', () => {
  expect(queueShardOf('example.com')).toBe(38);
  expect(queueShardOf('gmail.com')).toBe(50);
});

test('spreads domains over all shards', () => {
  const used = new Set<number>();
  for (let i = 0; i < 2000; i++) used.add(queueShardOf(`domain-${i}.example`));
  expect(used.size).toBe(QUEUE_SHARDS);
  expect(Math.min(...used)).toBe(0);
  expect(Math.max(...used)).toBe(QUEUE_SHARDS - 1);
});

test('takes the domain after the last @, whatever a quoted local part contains', () => {
  expect(addressDomain('"a@b"@example.com')).toBe('example.com');
});
