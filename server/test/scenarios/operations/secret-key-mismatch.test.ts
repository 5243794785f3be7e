import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { verifySecretKey } from '../../../src/db/verify-secret-key.ts';
import { startApp, type TestApp } from '../../harness/app.ts';
import { member, PASSWORD } from '../../harness/browser/dashboard-session.ts';

/**
 * On a database from before key verification existed, a wrong SECRET_KEY is detected by the stored secrets and does
 * not lock out the right one. The verification value is removed from databases with one secret of each kind.
 */

const secrets: Record<string, (app: TestApp) => Promise<{ status: number }>> = {
  'DKIM keys': (app) =>
    app.call('POST', '/domains', { key: app.liveKey, body: { name: 'shop.example' } }),
  'webhook secrets': (app) =>
    app.call('POST', '/webhooks', { body: { url: 'https://shop.example/hook', events: ['*'] } }),
  'second factors': async (app) =>
    (await member(app, 'owner')).visitor.call('POST', '/me/totp', { body: { password: PASSWORD } }),
};

for (const [kind, make] of Object.entries(secrets)) {
  test(`a wrong key is detected by ${kind}`, async () => {
    await using app = await startApp();
    const { pool, secretKey } = app.app.storage;
    expect((await make(app)).status).toBeLessThan(300);
    await pool.query('delete from secret_key_fingerprint');
    await expect(verifySecretKey(pool, randomBytes(32), { allowOther: false })).rejects.toThrow(
      'The secrets in this database were encrypted with a different key.',
    );
    await verifySecretKey(pool, secretKey, { allowOther: false });
  });
}

test('a wrong key is accepted if the operator confirms it', async () => {
  await using app = await startApp();
  const { pool } = app.app.storage;
  await app.call('POST', '/domains', { key: app.liveKey, body: { name: 'shop.example' } });
  await pool.query('delete from secret_key_fingerprint');
  await verifySecretKey(pool, randomBytes(32), { allowOther: true });
});
