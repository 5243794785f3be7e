import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { freshDatabase } from '../../test/harness/database.ts';
import { proveSecretKey } from './prove-secret-key.ts';

/** One key to a database: the first that comes, until the operator says otherwise. */

const [first, second] = [randomBytes(32), randomBytes(32)];
const strictly = { allowOther: false };

test('another key is refused, and changes nothing', async () => {
  await using database = await freshDatabase();
  const { pool } = database;
  await proveSecretKey(pool, first, strictly);
  await expect(proveSecretKey(pool, second, strictly)).rejects.toThrow(
    'The secrets in this database were encrypted with another key.',
  );
  await proveSecretKey(pool, first, strictly);
});

test('another key that is allowed takes the place of the first', async () => {
  await using database = await freshDatabase();
  const { pool } = database;
  await proveSecretKey(pool, first, strictly);
  await proveSecretKey(pool, second, { allowOther: true });
  await proveSecretKey(pool, second, strictly);
  await expect(proveSecretKey(pool, first, strictly)).rejects.toThrow('ALLOW_OTHER_SECRET_KEY');
});

test('of two first starts at once with different keys one is refused', async () => {
  await using database = await freshDatabase();
  const both = await Promise.allSettled(
    [first, second].map((key) => proveSecretKey(database.pool, key, strictly)),
  );
  expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
});

test('the key is not to be read from its proof', async () => {
  await using database = await freshDatabase();
  await proveSecretKey(database.pool, first, strictly);
  const { rows } = await database.pool.query('select proof from secret_key_fingerprint');
  expect(rows[0].proof.equals(first)).toBe(false);
});
