import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { startApp, validMessage } from '../../harness/app.ts';
import { databaseEnv, runPostrider } from '../../harness/cli-process.ts';
import { startDnsServer } from '../../harness/smtp/dns-server.ts';
import { publishRecords } from '../../harness/smtp/publish-dns-records.ts';
import { createTempDir } from '../../harness/temp-dir.ts';
import { until } from '../../harness/until.ts';

/**
 * Operators can add, verify and trust domains at the command line with the same result as through the
 * API, and a running server picks up the change immediately. Real processes share a database with a
 * real server, with a scripted DNS server.
 */

test('adds a domain, verifies it once its records are published, and lists it', async () => {
  await using dns = await startDnsServer();
  const settings = { DNS_SERVERS: dns.address, HELO_NAME: 'mail.postrider.test' };
  await using app = await startApp({ env: settings });
  // The shell of a command need not have the server's HELO_NAME.
  const env = { ...databaseEnv(app.database), DNS_SERVERS: dns.address };
  const ending = async (code: number, ...args: string[]) => {
    const ran = await runPostrider(['domains', ...args, '--json'], { env });
    expect(ran).toMatchObject({ code, stderr: '' });
    return JSON.parse(ran.stdout);
  };
  const run = (...args: string[]) => ending(0, ...args);

  const added = await run('add', 'Shop.test');
  expect(added).toMatchObject({ name: 'shop.test', status: 'pending' });
  const seen = await app.call('GET', `/domains/${added.id}`);
  expect(seen.json).toEqual(added);
  const again = await runPostrider(['domains', 'add', 'shop.test'], { env });
  expect([again.code, again.stdout]).toEqual([2, '']);
  expect(again.stderr).toBe(
    'shop.test already exists in this workspace. Run "postrider domains verify shop.test" to see its records.\n',
  );

  // Scripts wait for it by the exit code.
  expect((await ending(1, 'verify', 'shop.test')).status).toBe('pending');
  const result = await runPostrider(['domains', 'verify', 'shop.test'], { env });
  expect(result).toMatchObject({ code: 1, stderr: '' });
  expect(result.stdout).toContain('may not send yet');
  publishRecords(dns, added.records);
  expect((await run('verify', added.id)).status).toBe('verified');
  expect((await run('list')).data).toMatchObject([{ name: 'shop.test', status: 'verified' }]);

  const receives = await runPostrider(['domains', 'receive', 'shop.test'], { env });
  expect(receives).toMatchObject({ code: 0, stderr: '' });
  expect(receives.stdout).toContain('MX  shop.test\n      10 mail.postrider.test\n');
  expect(receives.stdout).not.toContain('TXT');
  expect(await run('receive', 'shop.test', '--stop')).toMatchObject({ receiving: false });
  const pending = await run('add', 'pending.test');
  const early = await runPostrider(['domains', 'receive', pending.id], { env });
  expect([early.code, early.stdout]).toEqual([2, '']);
  expect(early.stderr).toContain('pending.test is not verified, so it cannot receive mail.');

  const strange = await runPostrider(['domains', 'verify', 'other.test'], { env });
  expect([strange.code, strange.stdout]).toEqual([2, '']);
  expect(strange.stderr).toContain('has no domain other.test');
});

test('trusts a domain, and a running server sends from it immediately', async () => {
  await using app = await startApp({ env: { DNS_SERVERS: '127.0.0.1:9' } });
  const env = { ...databaseEnv(app.database), DNS_SERVERS: '127.0.0.1:9' };
  const send = async () => {
    const body = validMessage({ from: { email: 'hello@ours.test' } });
    return (await app.call('POST', '/transactional/send', { key: app.liveKey, body })).status;
  };
  expect(await send()).toBe(403);
  const ran = await runPostrider(['domains', 'add', 'ours.test', '--trust', '--json'], { env });
  expect(ran).toMatchObject({ code: 0, stderr: '' });
  expect(JSON.parse(ran.stdout)).toMatchObject({ status: 'verified', trusted: true });
  await expect.poll(send).toBe(202);

  // Trusting it again succeeds and creates no second domain.
  const again = await runPostrider(['domains', 'add', 'ours.test', '--trust', '--json'], { env });
  expect(JSON.parse(again.stdout).id).toBe(JSON.parse(ran.stdout).id);

  const verified = await runPostrider(['domains', 'verify', 'ours.test'], { env });
  expect(verified).toMatchObject({ code: 0, stderr: '' });
  expect(verified.stdout).toContain('is trusted and may send');
});

test('a verification that takes too long is aborted, and its embedded database is stopped', async () => {
  await using folder = await createTempDir();
  await using dns = await startDnsServer({ '_postrider.shop.test': 'silence' });
  const env = { DATA_DIR: folder.path, DNS_SERVERS: dns.address };
  for (const command of [
    ['workspaces', 'list'],
    ['domains', 'add', 'shop.test'],
  ]) {
    const refused = await runPostrider(command, { env });
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toContain(`There is no database in DATA_DIR ${folder.path}.`);
    expect(await readdir(folder.path)).toEqual([]);
  }
  const created = await runPostrider(['workspaces', 'create', 'Shop'], { env });
  const notice = `Created a new database in ${folder.path}.\n`;
  expect(created).toMatchObject({ code: 0, stderr: notice });
  const added = await runPostrider(['domains', 'add', 'shop.test'], { env });
  expect(added).toMatchObject({ code: 0, stderr: '' });
  const queried = until(() => dns.queries.length > 0, { timeoutMs: 100_000 });
  const ended = await runPostrider(['domains', 'verify', 'shop.test'], {
    env,
    terminateAfter: queried,
  });
  expect(ended).toEqual({ code: null, signal: 'SIGTERM', stdout: '', stderr: '' });
  expect(existsSync(path.join(folder.path, 'postgres', 'postmaster.pid'))).toBe(false);
});
