import { expect, test } from 'vitest';
import { addressDomain, QUEUE_SHARDS, queueShardOf } from './queue-shard.ts';

test('a domain keeps its lane for ever, because rows carry it', () => {
  expect(queueShardOf('example.com')).toBe(38);
  expect(queueShardOf('gmail.com')).toBe(50);
});

test('many domains spread over all lanes', () => {
  const used = new Set<number>();
  for (let i = 0; i < 2000; i++) used.add(queueShardOf(`domain-${i}.example`));
  expect(used.size).toBe(QUEUE_SHARDS);
  expect(Math.min(...used)).toBe(0);
  expect(Math.max(...used)).toBe(QUEUE_SHARDS - 1);
});

test('the domain follows the last @, whatever a quoted local part holds', () => {
  expect(addressDomain('"a@b"@example.com')).toBe('example.com');
});
