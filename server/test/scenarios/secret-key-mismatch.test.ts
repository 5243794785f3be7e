import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { verifySecretKey } from '../../src/db/verify-secret-key.ts';
import { startApp, type TestApp } from '../harness/app.ts';
import { member, PASSWORD } from '../harness/dashboard-session.ts';

/**
 * Goal: a wrong key that is the first to come to a database from before there were proofs is not
 * believed, and does not keep the right one out.
 * Method: the proof is taken away from a database that holds one secret of each kind in turn.
 */

const secrets: Record<string, (app: TestApp) => Promise<{ status: number }>> = {
  'DKIM keys': (app) =>
    app.call('POST', '/domains', { key: app.liveKey, body: { name: 'shop.example' } }),
  'secrets of webhooks': (app) =>
    app.call('POST', '/webhooks', { body: { url: 'https://shop.example/hook', events: ['*'] } }),
  'second factors': async (app) =>
    (await member(app, 'owner')).visitor.call('POST', '/me/totp', { body: { password: PASSWORD } }),
};

for (const [kind, make] of Object.entries(secrets)) {
  test(`a wrong key is told by ${kind}`, async () => {
    await using app = await startApp();
    const { pool, secretKey } = app.app.storage;
    expect((await make(app)).status).toBeLessThan(300);
    await pool.query('delete from secret_key_fingerprint');
    await expect(verifySecretKey(pool, randomBytes(32), { allowOther: false })).rejects.toThrow(
      'The secrets in this database were encrypted with another key.',
    );
    await verifySecretKey(pool, secretKey, { allowOther: false });
  });
}

test('a wrong key is taken when the operator says so', async () => {
  await using app = await startApp();
  const { pool } = app.app.storage;
  await app.call('POST', '/domains', { key: app.liveKey, body: { name: 'shop.example' } });
  await pool.query('delete from secret_key_fingerprint');
  await verifySecretKey(pool, randomBytes(32), { allowOther: true });
});
