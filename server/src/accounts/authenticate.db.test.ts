import { expect, test } from 'vitest';
import { createTestDatabase } from '../../test/harness/database/database.ts';
import { createEncryptor } from '../lib/crypto/encryption.ts';
import { ManualClock } from '../lib/time/manual-clock.ts';
import { ApiKeys, operatorIssuer } from './api-keys.ts';
import { Authenticator } from './authenticate.ts';
import { Workspaces } from './workspaces.ts';

test('the last use of a key is written, whichever of its secrets was used', async () => {
  await using database = await createTestDatabase();
  const { pool } = database;
  const clock = new ManualClock(Date.now());
  const workspace = await new Workspaces({ pool, clock }).create('Shop');
  const issuer = operatorIssuer(workspace.id);
  const keys = new ApiKeys({ pool, clock });
  const { key, token } = await keys.create(issuer, { name: 'Shop' });
  const { token: rotated } = await keys.rotate(issuer, key.id, 3_600);
  const encryptor = createEncryptor(Buffer.alloc(32), 'test');
  const authenticator = new Authenticator({ pool, clock, encryptor, maxAgeMs: () => 60_000 });
  const use = async (secret: string) => await authenticator.authenticate(secret, '127.0.0.1');
  const lastUsedMs = async () => {
    await authenticator.flushLastUsed();
    return (await keys.get(issuer, key.id)).lastUsedAtMs;
  };
  expect(await lastUsedMs()).toBeNull();
  for (const secret of [rotated, token, rotated]) {
    clock.advance(1_000);
    await use(secret);
  }
  expect(await lastUsedMs()).toBe(clock.now());
  // The cached key is used again, and then read again.
  for (const isInvalidated of [false, true]) {
    clock.advance(1_000);
    await use(token);
    if (isInvalidated) authenticator.invalidateWorkspace(workspace.id);
    clock.advance(1_000);
    await use(token);
    expect(await lastUsedMs()).toBe(clock.now());
  }
  clock.advance(1_000);
  expect(await lastUsedMs()).toBe(clock.now() - 1_000);
});
