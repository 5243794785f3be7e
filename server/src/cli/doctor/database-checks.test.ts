import { expect, test } from 'vitest';
import { checkLocks } from './database-checks.ts';

test('ten statements over all partitions must find room for their locks', () => {
  expect(checkLocks({ capacity: 6_400, perStatement: 640 })).toMatchObject({ status: 'ok' });
  expect(checkLocks({ capacity: 6_400, perStatement: 641 })).toMatchObject({
    status: 'warn',
    fix: expect.stringContaining('max_locks_per_transaction by 2'),
  });
});
