import { expect, it } from 'vitest';
import { subscriptionsWithoutStreams } from '../../test/harness/database/contact-subscriptions.ts';
import { createTestDatabase } from '../../test/harness/database/database.ts';
import { systemClock } from '../lib/time/clock.ts';
import { ContactLookup } from './contact-lookup.ts';
import { Contacts } from './contacts.ts';

/**
 * Concurrent lookups share statements, and each gets its own result. Runs hundreds of lookups in
 * two workspaces and modes on a real database and counts the statements.
 */

const ONE = '00000000-0000-7000-8000-000000000001';
const TWO = '00000000-0000-7000-8000-000000000002';

it('resolves many concurrent lookups with few statements', async () => {
  await using database = await createTestDatabase();
  const { pool } = database;
  const subscriptions = subscriptionsWithoutStreams(pool);
  const contacts = new Contacts({ pool, clock: systemClock, subscriptions });
  const places = [ONE, TWO].flatMap((workspaceId) =>
    (['live', 'test'] as const).map((mode) => ({ workspaceId, mode, keyId: undefined })),
  );
  for (const place of places) {
    const first_name = `${place.workspaceId} ${place.mode}`;
    await contacts.create(place, { email: 'Shared@example.com', first_name, attributes: { a: 1 } });
  }
  const [first] = places as [(typeof places)[number]];
  await contacts.create(first, { email: 'only@example.com' });

  let statements = 0;
  const query = pool.query;
  pool.query = ((...args: Parameters<typeof query>) => {
    statements += 1;
    return query(...args);
  }) as typeof query;
  const lookup = new ContactLookup({ pool });
  const lookups = Array.from({ length: 400 }, (_, n) => ({
    ...(places[n % 4] as (typeof places)[number]),
    key: ['shared@example.com', 'only@example.com', 'nobody@example.com'][n % 3] as string,
  }));
  const found = await Promise.all(
    lookups.map(({ workspaceId, mode, key }) => lookup.contactFor(workspaceId, mode, key)),
  );
  expect(statements).toBeLessThanOrEqual(3);
  lookups.forEach(({ workspaceId, mode, key }, n) => {
    const isOnly = key.startsWith('only') && workspaceId === ONE && mode === 'live';
    if (key.startsWith('shared')) {
      const first_name = `${workspaceId} ${mode}`;
      const names = { first_name, last_name: null, locale: null };
      expect(found[n]).toEqual({ email: 'Shared@example.com', ...names, attributes: { a: 1 } });
    } else if (isOnly) expect(found[n]?.email).toBe('only@example.com');
    else expect(found[n]).toBeUndefined();
  });
});

it('rejects every lookup when the database is unreachable', async () => {
  await using database = await createTestDatabase();
  const lookup = new ContactLookup({ pool: database.pool });
  await database.pool.end();
  const lookups = [
    lookup.contactFor(ONE, 'live', 'a@b.test'),
    lookup.contactFor(ONE, 'live', 'b@b.test'),
  ];
  for (const one of lookups) await expect(one).rejects.toThrow(/pool/);
});
