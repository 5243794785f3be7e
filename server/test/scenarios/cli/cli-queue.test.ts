import { expect, test } from 'vitest';
import { startApp, validMessage } from '../../harness/app.ts';
import { databaseEnv, runPostrider } from '../../harness/cli-process.ts';
import { startDnsServer } from '../../harness/smtp/dns-server.ts';
import { startSmtpReceiver } from '../../harness/smtp/smtp-receiver.ts';
import { until } from '../../harness/until.ts';

/** One command shows why mail is queued, for the whole server. */
test('lists the queue by workspace and receiver, with the most frequent reason', async () => {
  await using receiver = await startSmtpReceiver({ onRcpt: () => '452 4.2.2 Mailbox full' });
  await using dns = await startDnsServer({
    'full.example': { MX: ['10 mx.example.test'] },
    'mx.example.test': { A: ['127.0.0.1'] },
  });
  await using app = await startApp({
    env: { DNS_SERVERS: dns.address, MX_PORT: String(receiver.port) },
  });
  const second = await app.app.workspaces.create('Second');
  for (const id of [app.workspaceId, second.id]) {
    await app.app.domains.trust(id, { name: 'example.org' });
  }
  const secondKey = await app.newKey({ workspaceId: second.id, mode: 'live' });
  const send = (key: string, email: string, more = {}) =>
    app.call('POST', '/transactional/send', {
      key,
      body: validMessage({ to: { email }, ...more }),
    });
  const queue = async (...args: string[]) => {
    const result = await runPostrider(['queue', '--json', ...args], {
      env: databaseEnv(app.database),
    });
    return JSON.parse(result.stdout).data;
  };
  expect(await queue()).toEqual([]);

  const inAnHour = new Date(Date.now() + 3_600_000).toISOString();
  for (const name of ['a', 'b']) await send(app.liveKey, `${name}@full.example`);
  await send(app.liveKey, 'c@full.example', { scheduled_at: inAnHour });
  await send(secondKey, '"odd@name"@full.example');
  await send(app.testKey, 'deferred@simulator.test');
  const { pool } = app.database;
  await until(async () => {
    const { rowCount } = await pool.query(
      `select from deliveries where status = 'deferred' and mode = 'live'`,
    );
    return rowCount === 3;
  });
  const full = { receiver: 'full.example', queued: 0, reason: 'mailbox_full' };
  expect(await queue()).toMatchObject([
    { ...full, workspace: { name: 'Test' }, deferred: 2, scheduled: 1 },
    { ...full, workspace: { name: 'Second' }, deferred: 1, scheduled: 0 },
  ]);
  expect(await queue('--workspace', 'Second')).toMatchObject([{ workspace: { name: 'Second' } }]);
});
