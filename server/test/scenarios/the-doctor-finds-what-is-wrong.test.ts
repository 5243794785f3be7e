import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import path from 'node:path';
import { expect, it } from 'vitest';
import { startApp } from '../harness/app.ts';
import { environmentOf, postrider } from '../harness/command.ts';
import { freshDatabase } from '../harness/database.ts';
import { dnsServer } from '../harness/dns-server.ts';
import { scratchFolder } from '../harness/scratch-folder.ts';
import { smtpReceiver } from '../harness/smtp-receiver.ts';

/**
 * Goal: the doctor says ok of what works, names what does not and what to do, and changes nothing.
 * Method: real processes against a real database, DNS server, mail server and ports on loopback.
 */

interface Check {
  name: string;
  status: string;
  detail: string;
  fix: string | null;
}

async function examine(env: Record<string, string>, ...args: string[]) {
  const { code, stdout, stderr } = await postrider(['doctor', '--json', ...args], { env });
  expect(stderr).toBe('');
  const { checks } = JSON.parse(stdout) as { checks: Check[] };
  return { code, checks, of: (name: string) => checks.find((check) => check.name === name) };
}

it('finds nothing wrong with a server that runs', async () => {
  await using dns = await dnsServer({});
  await using receiver = await smtpReceiver();
  await using app = await startApp();
  const { code, checks, of } = await examine(
    {
      ...environmentOf(app.database),
      PORT: new URL(app.url).port,
      DNS_SERVERS: dns.address,
      HELO_NAME: 'mail.example.org',
      MX_PORT: String(receiver.port),
    },
    '--outgoing',
    '127.0.0.1',
  );
  expect(code).toBe(0);
  // The database of tests does not wait for its disk, and says so.
  expect(checks.filter(({ status }) => status !== 'ok').map(({ name }) => name)).toEqual([
    'durability',
  ]);
  expect(of('migrations')?.detail).toBe('All are applied.');
  expect(of('port')?.detail).toContain('A Postrider server runs');
  expect(of('outgoing mail')?.detail).toContain('220');
  expect(of('clock')?.detail).toMatch(/0\.[0-9] s apart/);
});

it('finds silent name servers, a taken port, a closed way out and a database that forgets', async () => {
  await using dns = await dnsServer({ 'example.com': 'silence' });
  const stranger = createServer((socket) => socket.end('HTTP/1.1 404 Not Found\r\n\r\n'));
  stranger.listen(0, '127.0.0.1');
  await once(stranger, 'listening');
  await using database = await freshDatabase({ empty: true });
  const port = String((stranger.address() as AddressInfo).port);
  const { code, of } = await examine(
    {
      ...environmentOf(database),
      ALLOW_UNSAFE_DATABASE: 'false',
      PORT: port,
      DNS_SERVERS: dns.address,
      HELO_NAME: 'laptop',
      MX_PORT: port,
    },
    '--outgoing',
    '127.0.0.1',
  );
  stranger.close();
  expect(code).toBe(1);
  expect(of('database')?.status).toBe('ok');
  expect(of('durability')).toMatchObject({ status: 'fail', fix: expect.stringContaining('fsync') });
  expect(of('migrations')).toMatchObject({ status: 'warn' });
  expect(of('port')?.detail).toContain('Another program listens');
  expect(of('greeting')?.status).toBe('warn');
  expect(of('name servers')).toMatchObject({
    status: 'fail',
    fix: expect.stringContaining('DNS_SERVERS'),
  });
  expect(of('outgoing mail')).toMatchObject({
    status: 'fail',
    fix: expect.stringContaining('DELIVERY_ROUTE'),
  });
  const { rows } = await database.pool.query(`select from pg_tables where schemaname = 'public'`);
  expect(rows).toEqual([]);
});

it('looks at a machine before the first start without making anything', async () => {
  await using dns = await dnsServer({});
  await using folder = await scratchFolder();
  const file = path.join(folder.path, 'file');
  await writeFile(file, '');
  const settings = { PORT: '0', DNS_SERVERS: dns.address };
  const fresh = await examine({ ...settings, DATA_DIR: path.join(folder.path, 'data') });
  expect(fresh.of('data folder')?.detail).toContain('will be made at the first start');
  expect(fresh.of('database')?.detail).toContain('will be made at the first start');
  expect(fresh.code).toBe(0);
  const onFile = await examine({ ...settings, DATA_DIR: path.join(file, 'data') });
  expect(onFile.of('data folder')).toMatchObject({ status: 'fail' });
  const wrong = await examine({ PORT: 'x', LOG_LEVEL: 'y' });
  expect(wrong.checks.filter(({ name }) => name === 'configuration')).toHaveLength(2);
  expect(wrong.code).toBe(1);
});
