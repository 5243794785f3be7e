import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { createTestDatabase } from '../../test/harness/database.ts';
import { verifySecretKey } from './verify-secret-key.ts';

/** One key to a database: the first that comes, until the operator says otherwise. */

const [first, second] = [randomBytes(32), randomBytes(32)];
const strictly = { allowOther: false };

test('another key is refused, and changes nothing', async () => {
  await using database = await createTestDatabase();
  const { pool } = database;
  await verifySecretKey(pool, first, strictly);
  await expect(verifySecretKey(pool, second, strictly)).rejects.toThrow(
    'The secrets in this database were encrypted with another key.',
  );
  await verifySecretKey(pool, first, strictly);
});

test('another key that is allowed takes the place of the first', async () => {
  await using database = await createTestDatabase();
  const { pool } = database;
  await verifySecretKey(pool, first, strictly);
  await verifySecretKey(pool, second, { allowOther: true });
  await verifySecretKey(pool, second, strictly);
  await expect(verifySecretKey(pool, first, strictly)).rejects.toThrow('ALLOW_OTHER_SECRET_KEY');
});

test('of two first starts at once with different keys one is refused', async () => {
  await using database = await createTestDatabase();
  const both = await Promise.allSettled(
    [first, second].map((key) => verifySecretKey(database.pool, key, strictly)),
  );
  expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
});

test('the key is not to be read from its proof', async () => {
  await using database = await createTestDatabase();
  await verifySecretKey(database.pool, first, strictly);
  const { rows } = await database.pool.query('select proof from secret_key_fingerprint');
  expect(rows[0].proof.equals(first)).toBe(false);
});
