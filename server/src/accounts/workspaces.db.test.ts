import { expect, test } from 'vitest';
import { createTestDatabase } from '../../test/harness/database/database.ts';
import { systemClock } from '../lib/time/clock.ts';
import { Workspaces } from './workspaces.ts';

test('creates a name once when several requests compete', async () => {
  await using database = await createTestDatabase();
  const workspaces = new Workspaces({ pool: database.pool, clock: systemClock });
  const created = await Promise.all(
    [1, 2, 3, 4, 5].map(() => workspaces.createIfNameIsFree('Shop')),
  );
  expect(created.filter((one) => one !== undefined)).toHaveLength(1);
  expect((await workspaces.list()).filter(({ name }) => name === 'Shop')).toHaveLength(1);
});
