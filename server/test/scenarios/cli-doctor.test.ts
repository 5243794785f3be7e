import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import path from 'node:path';
import { expect, it } from 'vitest';
import { startApp } from '../harness/app.ts';
import { databaseEnv, runPostrider } from '../harness/cli-process.ts';
import { createTestDatabase } from '../harness/database.ts';
import { startDnsServer } from '../harness/dns-server.ts';
import { freePort } from '../harness/free-port.ts';
import { createTempDir } from '../harness/temp-dir.ts';
import { startSmtpReceiver } from '../harness/smtp-receiver.ts';
import { tlsFixtures } from '../harness/tls-fixtures.ts';

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
  const { code, stdout, stderr } = await runPostrider(['doctor', '--json', ...args], { env });
  expect(stderr).toBe('');
  const { checks } = JSON.parse(stdout) as { checks: Check[] };
  return { code, checks, of: (name: string) => checks.find((check) => check.name === name) };
}

it('finds nothing wrong with a server that runs', async () => {
  await using dns = await startDnsServer({ 'mail.example.org': { A: ['127.0.0.1'] } });
  const HELO_NAME = 'mail.example.org';
  const env = { RETURN_PATH_PORT: '0', SUBMISSION_PORT: '0', HELO_NAME };
  await using app = await startApp({ env });
  const submissionPort = String(app.app.submission.port);
  // Both ways lead over one port here: out to a mail server, and in to ourselves.
  const port = String(app.app.returnPath.place?.port);
  const { code, checks, of } = await examine(
    {
      ...databaseEnv(app.database),
      PORT: new URL(app.url).port,
      DNS_SERVERS: dns.address,
      HELO_NAME,
      MX_PORT: port,
      RETURN_PATH_PORT: port,
      SUBMISSION_PORT: submissionPort,
    },
    '--outgoing',
    '127.0.0.1',
    '--incoming',
  );
  expect(code).toBe(0);
  // The database of tests does not wait for its disk, and says so.
  expect(checks.filter(({ status }) => status !== 'ok').map(({ name }) => name)).toEqual([
    'durability',
  ]);
  expect(of('migrations')?.detail).toBe('All are applied.');
  expect(of('port')?.detail).toContain('A Postrider server runs');
  expect(of('outgoing mail')?.detail).toContain('220');
  expect(of('return path')?.detail).toBe(`The door on 127.0.0.1:${port} is open.`);
  expect(of('way back')?.detail).toBe('mail.example.org (BOUNCE_HOST) leads to 127.0.0.1.');
  expect(of('incoming mail')?.detail).toBe(`127.0.0.1:${port} is our own door.`);
  expect(of('submission')?.detail).toBe(
    `The door on 127.0.0.1:${submissionPort} is open, to programs on this machine.`,
  );
  expect(of('clock')?.detail).toMatch(/0\.[0-9] s apart/);
});

it('finds silent name servers, a taken port, a closed way out and a database that forgets', async () => {
  await using dns = await startDnsServer({ 'example.com': 'silence' });
  const stranger = createServer((socket) => socket.end('HTTP/1.1 404 Not Found\r\n\r\n'));
  stranger.listen(0, '127.0.0.1');
  await once(stranger, 'listening');
  await using database = await createTestDatabase({ empty: true });
  const port = String((stranger.address() as AddressInfo).port);
  const { code, of } = await examine(
    {
      ...databaseEnv(database),
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

it('holds the name we greet with against our addresses and their reverse records', async () => {
  await using dns = await startDnsServer({
    'mail.example.org': { A: ['1.1.1.1', '1.1.1.2', '1.1.1.3', '10.0.0.1'], AAAA: ['2606::5'] },
    '1.1.1.1.in-addr.arpa': { PTR: ['Mail.example.org'] },
    '2.1.1.1.in-addr.arpa': { PTR: ['host-2.provider.example'] },
    'nowhere.example.org': { TXT: ['nothing'] },
  });
  await using database = await createTestDatabase();
  const env = { ...databaseEnv(database), PORT: '0', DNS_SERVERS: dns.address };
  const wellNamed = { ...env, HELO_NAME: 'mail.example.org', OUTGOING_ADDRESSES: 'ipv4' };
  const { checks, of } = await examine(wellNamed);
  expect(of('greeting')?.status).toBe('ok');
  const reverse = checks.filter(({ name }) => name === 'reverse record');
  expect(reverse.map(({ status, detail }) => `${status} ${detail}`)).toEqual([
    'ok 1.1.1.1 is mail.example.org.',
    'warn That of 1.1.1.2 says host-2.provider.example, and not mail.example.org.',
    'warn 1.1.1.3 has none: Google, Microsoft and others refuse mail from it.',
    'warn mail.example.org is 10.0.0.1, an address that receivers cannot see.',
  ]);
  const foreign = await examine({ ...wellNamed, OUTGOING_ADDRESSES: '1.1.1.9' });
  expect(foreign.of('outgoing address')).toMatchObject({ status: 'fail' });
  expect(foreign.of('greeting')?.detail).toContain('and come from 1.1.1.9');
  const unknown = await examine({ ...env, HELO_NAME: 'nowhere.example.org' });
  expect(unknown.of('greeting')).toMatchObject({
    status: 'warn',
    detail: expect.stringContaining('has no address record'),
  });
  const relayed = await examine({ ...wellNamed, DELIVERY_ROUTE: 'smtp://relay.example.net' });
  expect(relayed.of('greeting')?.detail).toBe('We greet the relay as mail.example.org.');
  expect(relayed.of('reverse record')).toBeUndefined();
});

it('finds a way back that leads nowhere, or to another', async () => {
  await using other = await startSmtpReceiver();
  await using dns = await startDnsServer({ 'mail.example.org': { A: ['127.0.0.1'] } });
  await using database = await createTestDatabase();
  const env = {
    ...databaseEnv(database),
    PORT: '0',
    DNS_SERVERS: dns.address,
    HELO_NAME: 'mail.example.org',
    MX_PORT: String(other.port),
    RETURN_PATH_PORT: String(other.port),
  };
  const taken = await examine(env, '--incoming');
  expect(taken.of('return path')).toMatchObject({ status: 'warn', fix: expect.any(String) });
  expect(taken.of('return path')?.detail).toContain('Another program listens');
  expect(taken.of('incoming mail')).toMatchObject({ status: 'warn' });
  expect(taken.of('incoming mail')?.detail).toContain('is not us');
  const lost = await examine({ ...env, RETURN_PATH_PORT: 'off', BOUNCE_HOST: 'gone.example.org' });
  expect(lost.of('return path')?.detail).toContain('is off');
  expect(lost.of('way back')).toMatchObject({
    status: 'warn',
    detail: expect.stringContaining('gone.example.org (BOUNCE_HOST) has no address record'),
  });
});

it('looks at the doors for programs as they would, and at what their certificate is worth', {
  timeout: 60_000,
}, async () => {
  await using folder = await createTempDir();
  await using dns = await startDnsServer({});
  const files = {
    SUBMISSION_TLS_CERT: path.join(folder.path, 'cert.pem'),
    SUBMISSION_TLS_KEY: path.join(folder.path, 'key.pem'),
  };
  const write = async ({ cert, key }: { cert: string; key: string }) => {
    await writeFile(files.SUBMISSION_TLS_CERT, cert);
    await writeFile(files.SUBMISSION_TLS_KEY, key);
  };
  await write(tlsFixtures.good);
  // As behind a proxy on this machine: the doctor itself is none, and says so.
  const proxies = { SUBMISSION_TRUST_PROXY: '127.0.0.1', RETURN_PATH_TRUST_PROXY: '127.0.0.1' };
  const zero = { SUBMISSION_PORT: '0', SUBMISSION_TLS_PORT: '0', RETURN_PATH_PORT: '0' };
  await using app = await startApp({
    env: { ...files, ...proxies, ...zero, HELO_NAME: 'vm.test' },
  });
  const env = {
    ...databaseEnv(app.database),
    ...files,
    ...proxies,
    PORT: '0',
    BASE_URL: 'https://mx.example.test',
    DNS_SERVERS: dns.address,
    HELO_NAME: 'vm.test',
    NODE_EXTRA_CA_CERTS: path.join(import.meta.dirname, '../fixtures/tls/ca.crt'),
    SUBMISSION_PORT: String(app.app.submission.port),
    SUBMISSION_TLS_PORT: String(app.app.submission.tlsPort),
    RETURN_PATH_PORT: String(app.app.returnPath.place?.port),
  };
  const well = await examine(env);
  expect(well.of('submission')).toMatchObject({
    status: 'ok',
    detail: expect.stringMatching(/ is open, and offers STARTTLS\.$/),
  });
  expect(well.of('submission with TLS')).toMatchObject({
    status: 'ok',
    detail: expect.stringMatching(/ is open, with TLS from the first byte\.$/),
  });
  expect(well.of('certificate')).toMatchObject({
    status: 'ok',
    detail: expect.stringContaining('for mx.example.test, and good until 2125-01-01'),
  });
  expect(well.of('return path')?.detail).toMatch(/ is open\.$/);

  const unknown = await examine({
    ...env,
    BASE_URL: 'https://other.test',
    NODE_EXTRA_CA_CERTS: '',
  });
  const words = unknown.checks.filter(({ name }) => name === 'certificate');
  expect(words.map(({ status, detail }) => [status, detail])).toEqual([
    ['warn', expect.stringContaining('not for other.test,')],
    ['warn', expect.stringContaining('does not trust the certificate')],
  ]);

  const told = { BASE_URL: 'https://other.test', SUBMISSION_URL: 'smtps://mx.example.test' };
  expect((await examine({ ...env, ...told })).of('certificate')?.status).toBe('ok');

  // What a server shows counts, and not what lies in the file meanwhile.
  await write(tlsFixtures.selfSigned);
  expect((await examine(env)).of('certificate')?.status).toBe('ok');
  await app.app.submission.renewCertificate();
  expect((await examine(env)).of('certificate')).toMatchObject({
    status: 'warn',
    detail: expect.stringContaining('self-signed'),
  });

  const bare = { SUBMISSION_PORT: 'off', SUBMISSION_TLS_PORT: env.SUBMISSION_PORT };
  const wrong = await examine({ ...env, ...bare });
  expect(wrong.of('submission with TLS')).toMatchObject({
    status: 'warn',
    detail: expect.stringContaining('without TLS'),
  });
});

it('looks at the certificate before a server shows it, and at doors that are another’s', async () => {
  await using other = await startSmtpReceiver();
  await using folder = await createTempDir();
  await using dns = await startDnsServer({});
  await using database = await createTestDatabase();
  const SUBMISSION_TLS_CERT = path.join(folder.path, 'cert.pem');
  const SUBMISSION_TLS_KEY = path.join(folder.path, 'key.pem');
  await writeFile(SUBMISSION_TLS_CERT, tlsFixtures.expired.cert);
  await writeFile(SUBMISSION_TLS_KEY, tlsFixtures.expired.key);
  const env = { ...databaseEnv(database), PORT: '0', DNS_SERVERS: dns.address };
  const settings = {
    ...env,
    SUBMISSION_PORT: String(await freePort()),
    BASE_URL: 'http://localhost',
  };
  const expired = await examine({ ...settings, SUBMISSION_TLS_CERT, SUBMISSION_TLS_KEY });
  expect(expired.of('submission')?.detail).toContain('no server runs there');
  expect(expired.of('certificate')).toMatchObject({
    status: 'fail',
    detail: expect.stringContaining('ran out on'),
  });
  expect(expired.code).toBe(1);
  await writeFile(SUBMISSION_TLS_KEY, tlsFixtures.good.key);
  const broken = await examine({ ...settings, SUBMISSION_TLS_CERT, SUBMISSION_TLS_KEY });
  expect(broken.of('certificate')?.detail).toContain('no certificate with its key');
  const taken = await examine({ ...env, SUBMISSION_PORT: String(other.port) });
  expect(taken.of('submission')).toMatchObject({
    status: 'warn',
    detail: expect.stringContaining('Another program listens'),
  });
  const off = await examine({ ...env, SUBMISSION_PORT: 'off' });
  expect(off.of('submission')).toMatchObject({ status: 'ok' });
});

it('knows of a proxy that takes TLS off, and warns of a door that none stands before', async () => {
  await using dns = await startDnsServer({});
  const open = { SUBMISSION_HOST: '0.0.0.0', SUBMISSION_TRUST_PROXY: '127.0.0.1' };
  await using app = await startApp({
    env: { ...open, SUBMISSION_PORT: '0', HELO_NAME: 'vm.test' },
  });
  const env = {
    ...databaseEnv(app.database),
    ...open,
    PORT: '0',
    DNS_SERVERS: dns.address,
    HELO_NAME: 'vm.test',
    SUBMISSION_PORT: String(app.app.submission.port),
  };
  const bare = (await examine(env)).of('submission');
  expect(bare).toMatchObject({ status: 'warn', detail: expect.stringContaining('cannot log in') });
  const behind = { SUBMISSION_URL: 'smtps://mail.example.com' };
  expect((await examine({ ...env, ...behind })).of('submission')).toMatchObject({
    status: 'ok',
    detail: expect.stringContaining('proxies that take TLS off'),
  });
  // STARTTLS is nothing that a proxy could take off.
  const plain = { SUBMISSION_URL: 'smtp://mail.example.com' };
  expect((await examine({ ...env, ...plain })).of('submission')?.status).toBe('warn');
});

it('looks at a machine before the first start without making anything', async () => {
  await using dns = await startDnsServer({});
  await using folder = await createTempDir();
  const file = path.join(folder.path, 'file');
  await writeFile(file, '');
  const settings = { PORT: '0', DNS_SERVERS: dns.address, LOGLEVEL: 'debug' };
  const fresh = await examine({ ...settings, DATA_DIR: path.join(folder.path, 'data') });
  expect(fresh.of('configuration')).toMatchObject({
    status: 'warn',
    detail: 'Unknown setting LOGLEVEL. Did you mean LOG_LEVEL?',
  });
  expect(fresh.of('data folder')?.detail).toContain('will be made at the first start');
  expect(fresh.of('database')?.detail).toContain('will be made at the first start');
  expect(fresh.code).toBe(0);
  const onFile = await examine({ ...settings, DATA_DIR: path.join(file, 'data') });
  expect(onFile.of('data folder')).toMatchObject({ status: 'fail' });
  const wrong = await examine({ PORT: 'x', LOG_LEVEL: 'y' });
  expect(wrong.checks.filter(({ name }) => name === 'configuration')).toHaveLength(2);
  expect(wrong.code).toBe(1);
});
