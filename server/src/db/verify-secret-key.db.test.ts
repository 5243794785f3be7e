import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { createTestDatabase } from '../../test/harness/database/database.ts';
import { verifySecretKey } from './verify-secret-key.ts';

/** A database accepts only the key of its first start, until the operator allows another one. */

const [first, second] = [randomBytes(32), randomBytes(32)];
const STRICT = { allowOther: false };

test('a different key is rejected without side effects', async () => {
  await using database = await createTestDatabase();
  const { pool } = database;
  await verifySecretKey(pool, first, STRICT);
  await expect(verifySecretKey(pool, second, STRICT)).rejects.toThrow(
    'The secrets in this database were encrypted with a different key.',
  );
  await verifySecretKey(pool, first, STRICT);
});

test('a different key replaces the first if it is allowed', async () => {
  await using database = await createTestDatabase();
  const { pool } = database;
  await verifySecretKey(pool, first, STRICT);
  await verifySecretKey(pool, second, { allowOther: true });
  await verifySecretKey(pool, second, STRICT);
  await expect(verifySecretKey(pool, first, STRICT)).rejects.toThrow('ALLOW_OTHER_SECRET_KEY');
});

test('of two concurrent first starts with different keys, one is rejected', async () => {
  await using database = await createTestDatabase();
  const both = await Promise.allSettled(
    [first, second].map((key) => verifySecretKey(database.pool, key, STRICT)),
  );
  expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
});

test('the fingerprint does not reveal the key', async () => {
  await using database = await createTestDatabase();
  await verifySecretKey(database.pool, first, STRICT);
  const { rows } = await database.pool.query('select fingerprint from secret_key_fingerprint');
  expect(rows[0].fingerprint.equals(first)).toBe(false);
});
