import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import path from 'node:path';
import pg from 'pg';
import { expect, it } from 'vitest';
import { systemClock } from '../../../src/lib/time/clock.ts';
import { ManualClock } from '../../../src/lib/time/manual-clock.ts';
import { startApp, validMessage } from '../../harness/app.ts';
import { databaseEnv, runPostrider } from '../../harness/cli-process.ts';
import { createTestDatabase, type TestDatabase } from '../../harness/database/database.ts';
import { freePort } from '../../harness/free-port.ts';
import { S3_CREDENTIALS, startS3 } from '../../harness/http/s3-server.ts';
import { startDnsServer } from '../../harness/smtp/dns-server.ts';
import { startSmtpReceiver } from '../../harness/smtp/smtp-receiver.ts';
import { tlsFixtures } from '../../harness/smtp/tls-fixtures.ts';
import { createTempDir } from '../../harness/temp-dir.ts';
import { until } from '../../harness/until.ts';

/**
 * The doctor command reports what works, what does not and how to fix it, and changes nothing. Real
 * processes run against a real database, DNS server, mail server and ports on loopback.
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

it('finds no problems with a healthy server', async () => {
  await using dns = await startDnsServer({ 'mail.example.org': { A: ['127.0.0.1'] } });
  const HELO_NAME = 'mail.example.org';
  const env = { RETURN_PATH_PORT: '0', SUBMISSION_PORT: '0', HELO_NAME };
  await using app = await startApp({ env });
  const submissionPort = String(app.app.submission.port);
  // Here one port serves both directions: outbound to a mail server, and inbound to this server.
  const port = String(app.app.returnPath.address?.port);
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
  // The test database runs without fsync, which the doctor reports; how much disk space is left
  // depends on the machine.
  const problems = checks.filter(({ name, status }) => status !== 'ok' && name !== 'disk');
  expect(problems).toEqual([expect.objectContaining({ name: 'durability', status: 'warn' })]);
  expect(code).toBe(0);
  expect(of('migrations')?.detail).toBe('All migrations are applied.');
  expect(of('port')?.detail).toContain('A Postrider server is running');
  expect(of('outgoing mail')?.detail).toContain('220');
  expect(of('return path')?.detail).toBe(`Listening on 127.0.0.1:${port}.`);
  expect(of('bounce host')?.detail).toBe('mail.example.org (BOUNCE_HOST) resolves to 127.0.0.1.');
  expect(of('incoming mail')?.detail).toBe(`127.0.0.1:${port} is this server.`);
  expect(of('submission')?.detail).toBe(
    `Listening on 127.0.0.1:${submissionPort} for clients on this host.`,
  );
  expect(of('clock')?.detail).toMatch(/differ by 0\.[0-9] s/);
});

it('finds unresponsive name servers, a port in use, blocked outbound SMTP, and a database without fsync and with asynchronous replication', async () => {
  await using dns = await startDnsServer({ 'example.com': 'silence' });
  const otherServer = createServer((socket) => socket.end('HTTP/1.1 404 Not Found\r\n\r\n'));
  otherServer.listen(0, '127.0.0.1');
  await once(otherServer, 'listening');
  await using database = await createTestDatabase({ empty: true });
  await using _standby = await startStandby(database);
  const port = String((otherServer.address() as AddressInfo).port);
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
  otherServer.close();
  expect(code).toBe(1);
  expect(of('database')?.status).toBe('ok');
  expect(of('durability')).toMatchObject({ status: 'fail', fix: expect.stringContaining('fsync') });
  expect(of('replication')).toMatchObject({
    status: 'warn',
    detail: expect.stringContaining('asynchronous'),
    fix: expect.stringContaining('synchronous_standby_names'),
  });
  expect(of('migrations')).toMatchObject({ status: 'warn' });
  expect(of('port')?.detail).toContain('Another program is listening');
  expect(of('helo')?.status).toBe('warn');
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

it('compares the HELO name with the outbound addresses and their PTR records', async () => {
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
  expect(of('helo')?.status).toBe('ok');
  const reverse = checks.filter(({ name }) => name === 'reverse DNS');
  expect(reverse.map(({ status, detail }) => `${status} ${detail}`)).toEqual([
    'ok 1.1.1.1 is mail.example.org.',
    'warn The PTR record of 1.1.1.2 is host-2.provider.example, not mail.example.org.',
    'warn 1.1.1.3 has no PTR record; Google, Microsoft and others reject its mail.',
    'warn mail.example.org resolves to 10.0.0.1, which is not a public address.',
  ]);
  const foreign = await examine({ ...wellNamed, OUTGOING_ADDRESSES: '1.1.1.9' });
  expect(foreign.of('outgoing address')).toMatchObject({ status: 'fail' });
  expect(foreign.of('helo')?.detail).toContain('but mail is sent from 1.1.1.9');
  const unknown = await examine({ ...env, HELO_NAME: 'nowhere.example.org' });
  expect(unknown.of('helo')).toMatchObject({
    status: 'warn',
    detail: expect.stringContaining('has no address record'),
  });
  const relayed = await examine({ ...wellNamed, DELIVERY_ROUTE: 'smtp://relay.example.net' });
  expect(relayed.of('helo')?.detail).toBe('HELO name for the relay: mail.example.org.');
  expect(relayed.of('reverse DNS')).toBeUndefined();
});

it('checks the addresses and names of routes that send from their own', async () => {
  await using dns = await startDnsServer({
    'mail.example.org': { A: ['1.1.1.1'] },
    'bulk.example.org': { A: ['1.1.1.2'] },
    '1.1.1.1.in-addr.arpa': { PTR: ['mail.example.org'] },
    '2.1.1.1.in-addr.arpa': { PTR: ['bulk.example.org'] },
  });
  await using database = await createTestDatabase();
  const env = {
    ...databaseEnv(database),
    PORT: '0',
    DNS_SERVERS: dns.address,
    HELO_NAME: 'mail.example.org',
    OUTGOING_ADDRESSES: 'ipv4',
  };
  const lines = async (routes: string, more: Record<string, string> = {}) => {
    const { checks } = await examine({ ...env, STREAM_ROUTES: routes, ...more });
    return checks
      .filter(({ name }) => ['outgoing address', 'helo', 'reverse DNS', 'SPF'].includes(name))
      .map(({ status, detail, fix }) => `${status} ${detail}${fix ? ` ${fix}` : ''}`);
  };
  const named = 'bulk=direct?address=1.1.1.2&helo=bulk.example.org';
  const notHere = 'fail 1.1.1.2 is not an address of this host. Set STREAM_ROUTES.';
  const ofStandard = [
    'ok HELO name: mail.example.org (1.1.1.1).',
    'ok 1.1.1.1 is mail.example.org.',
  ];
  const ofBulk = ['ok HELO name: bulk.example.org (1.1.1.2).', 'ok 1.1.1.2 is bulk.example.org.'];
  expect(await lines(named)).toEqual([
    notHere,
    ...ofStandard,
    ...ofBulk,
    expect.stringMatching(
      /^warn The SPF records of domains contain a:mail.example.org, which does/,
    ),
  ]);
  const covered = { SPF_MECHANISM: 'include:spf.example.org' };
  expect(await lines(named, covered)).toEqual([notHere, ...ofStandard, ...ofBulk]);
  const relayed = { ...covered, DELIVERY_ROUTE: 'smtp://relay.example.net' };
  expect(await lines(named, relayed)).toEqual([
    notHere,
    'ok HELO name for the relay: mail.example.org.',
    ...ofBulk,
  ]);
  // Without a name of its own, the route is part of the standard one.
  expect((await lines('bulk=direct?address=1.1.1.2'))[1]).toBe(
    'warn HELO name: mail.example.org (1.1.1.1), but mail is sent from 1.1.1.2. Add that address to the name.',
  );
});

it('finds a return path host that does not resolve or points elsewhere', async () => {
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
  const inUse = await examine(env, '--incoming');
  expect(inUse.of('return path')).toMatchObject({ status: 'warn', fix: expect.any(String) });
  expect(inUse.of('return path')?.detail).toContain('Another program is listening');
  expect(inUse.of('incoming mail')).toMatchObject({ status: 'warn' });
  expect(inUse.of('incoming mail')?.detail).toContain('is another server');
  const lost = await examine({ ...env, RETURN_PATH_PORT: 'off', BOUNCE_HOST: 'gone.example.org' });
  expect(lost.of('return path')?.detail).toContain('is off');
  expect(lost.of('bounce host')).toMatchObject({
    status: 'warn',
    detail: expect.stringContaining('gone.example.org (BOUNCE_HOST) has no address record'),
  });
});

it('checks the submission ports and their certificate as a client would', async () => {
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
  // As behind a proxy on this machine; the doctor connects without the proxy header and reports that.
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
    NODE_EXTRA_CA_CERTS: path.join(import.meta.dirname, '../../fixtures/tls/ca.crt'),
    SUBMISSION_PORT: String(app.app.submission.port),
    SUBMISSION_TLS_PORT: String(app.app.submission.tlsPort),
    RETURN_PATH_PORT: String(app.app.returnPath.address?.port),
  };
  const well = await examine(env);
  expect(well.of('submission')).toMatchObject({
    status: 'ok',
    detail: expect.stringMatching(/^Listening on \S+ with STARTTLS\.$/),
  });
  expect(well.of('submission with TLS')).toMatchObject({
    status: 'ok',
    detail: expect.stringMatching(/^Listening on \S+ with implicit TLS\.$/),
  });
  expect(well.of('certificate')).toMatchObject({
    status: 'ok',
    detail: expect.stringContaining('for mx.example.test is valid until 2125-01-01'),
  });
  expect(well.of('return path')?.detail).toMatch(/^Listening on /);

  const unknown = await examine({
    ...env,
    BASE_URL: 'https://other.test',
    NODE_EXTRA_CA_CERTS: '',
  });
  const certificateChecks = unknown.checks.filter(({ name }) => name === 'certificate');
  expect(certificateChecks.map(({ status, detail }) => [status, detail])).toEqual([
    ['warn', expect.stringContaining('not for other.test,')],
    ['warn', expect.stringContaining('does not trust the certificate')],
  ]);

  const urls = { BASE_URL: 'https://other.test', SUBMISSION_URL: 'smtps://mx.example.test' };
  expect((await examine({ ...env, ...urls })).of('certificate')?.status).toBe('ok');

  // The certificate in use counts, not the one on disk.
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

it('checks the certificate on disk before a server uses it, and ports in use by other programs', async () => {
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
  expect(expired.of('submission')?.detail).toContain('no server is running');
  expect(expired.of('certificate')).toMatchObject({
    status: 'fail',
    detail: expect.stringContaining('expired on'),
  });
  expect(expired.code).toBe(1);
  await writeFile(SUBMISSION_TLS_KEY, tlsFixtures.good.key);
  const broken = await examine({ ...settings, SUBMISSION_TLS_CERT, SUBMISSION_TLS_KEY });
  expect(broken.of('certificate')?.detail).toContain('not a matching certificate and key');
  const inUse = await examine({ ...env, SUBMISSION_PORT: String(other.port) });
  expect(inUse.of('submission')).toMatchObject({
    status: 'warn',
    detail: expect.stringContaining('Another program is listening'),
  });
  const off = await examine({ ...env, SUBMISSION_PORT: 'off' });
  expect(off.of('submission')).toMatchObject({ status: 'ok' });
});

it('accepts a proxy that terminates TLS, and warns if there is none in front of the port', async () => {
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
  expect(bare).toMatchObject({
    status: 'warn',
    detail: expect.stringContaining('cannot authenticate'),
  });
  const behind = { SUBMISSION_URL: 'smtps://mail.example.com' };
  expect((await examine({ ...env, ...behind })).of('submission')).toMatchObject({
    status: 'ok',
    detail: expect.stringContaining('TLS-terminating proxy'),
  });
  // A proxy cannot terminate STARTTLS.
  const plain = { SUBMISSION_URL: 'smtp://mail.example.com' };
  expect((await examine({ ...env, ...plain })).of('submission')?.status).toBe('warn');
});

it('checks a machine before the first start without creating anything', async () => {
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
  expect(fresh.of('data directory')?.detail).toContain('will be created on first start');
  expect(fresh.of('database')?.detail).toContain('will be created on first start');
  expect(fresh.code).toBe(0);
  const onFile = await examine({ ...settings, DATA_DIR: path.join(file, 'data') });
  expect(onFile.of('data directory')).toMatchObject({ status: 'fail' });
  const wrong = await examine({ PORT: 'x', LOG_LEVEL: 'y' });
  expect(wrong.checks.filter(({ name }) => name === 'configuration')).toHaveLength(2);
  expect(wrong.code).toBe(1);
});

it('finds what a start refuses: another secret key, and settings files with errors', async () => {
  await using app = await startApp();
  await using folder = await createTempDir();
  const shaping = path.join(folder.path, 'shaping.json');
  await writeFile(shaping, '{"receivers":[{"name":"A"}]}');
  const env = { ...databaseEnv(app.database), PORT: '0', SHAPING_FILE: shaping };
  const { code, checks, of } = await examine({
    ...env,
    BOUNCE_RULES_FILE: path.join(folder.path, 'absent.json'),
    SECRET_KEY: 'another secret key, which is long enough as well',
  });
  expect(code).toBe(1);
  expect(of('secret key')).toMatchObject({
    status: 'fail',
    fix: expect.stringContaining('Set SECRET_KEY to that key'),
  });
  const failed = checks.filter(({ name, status }) => name === 'configuration' && status === 'fail');
  expect(failed.map(({ detail }) => detail)).toEqual([
    expect.stringContaining('receivers[0].mx'),
    expect.stringContaining('BOUNCE_RULES_FILE'),
  ]);
  expect((await examine(env)).of('secret key')?.status).toBe('ok');
});

it('names the transaction that holds back events, and a limit of connections that is too low', async () => {
  const clock = new ManualClock(systemClock.now() - 60_000);
  await using database = await createTestDatabase({ nowMs: clock.now() });
  await using app = await startApp({ clock, database });
  const client = new pg.Client({ connectionString: database.url, application_name: 'a report' });
  await client.connect();
  try {
    await client.query('begin');
    const { rows } = await client.query('select pg_backend_pid() as pid, pg_current_xact_id()');
    await app.call('POST', '/transactional/send', { body: validMessage() });
    const env = { ...databaseEnv(database), PORT: '0', DATABASE_CONNECTIONS_MAX: '900' };
    const { of } = await examine(env);
    expect(of('event log')).toMatchObject({
      status: 'fail',
      detail: expect.stringContaining('a report'),
      fix: expect.stringContaining(`pg_terminate_backend(${rows[0].pid})`),
    });
    expect(of('connections')).toMatchObject({
      status: 'warn',
      detail: expect.stringContaining('a node opens up to 916'),
    });
  } finally {
    await client.end();
  }
});

it('signs in at the relays, and uses the content bucket with its key', async () => {
  await using relay = await startSmtpReceiver({
    keywords: ['AUTH PLAIN'],
    onAuth: (_user, password) => (password === 'right' ? '235 2.7.0 ok' : '535 5.7.8 wrong'),
  });
  await using s3 = await startS3();
  const examineWith = (password: string, secret: string) =>
    examine({
      PORT: '0',
      DATA_DIR: '/nonexistent',
      DELIVERY_ROUTE: `smtp://user:${password}@127.0.0.1:${relay.port}`,
      CONTENT_BUCKET_URL: s3.url,
      CONTENT_BUCKET_ACCESS_KEY_ID: S3_CREDENTIALS.accessKeyId,
      CONTENT_BUCKET_SECRET_ACCESS_KEY: secret,
    });
  const right = await examineWith('right', S3_CREDENTIALS.secretAccessKey);
  expect(right.of('relay')?.detail).toBe(`127.0.0.1:${relay.port} accepts the credentials.`);
  expect(right.of('content archive')?.status).toBe('ok');
  expect(s3.objects.size).toBe(0);
  const wrong = await examineWith('wrong', 'wrong');
  expect(wrong.of('relay')).toMatchObject({
    status: 'warn',
    detail: expect.stringContaining('wrong'),
    fix: expect.stringContaining('DELIVERY_ROUTE'),
  });
  expect(wrong.of('content archive')).toMatchObject({
    status: 'fail',
    detail: expect.stringContaining('403'),
  });
});

/** Receives the write-ahead log as a standby does, until it is disposed of. */
async function startStandby({ url, pool }: TestDatabase): Promise<AsyncDisposable> {
  const config: pg.ClientConfig & { replication: string } = {
    connectionString: url,
    replication: 'true',
  };
  const standby = new pg.Client(config);
  standby.on('error', () => {});
  await standby.connect();
  const { rows } = await pool.query<{ lsn: string }>('select pg_current_wal_flush_lsn() as lsn');
  // It streams until the connection ends.
  standby.query(`START_REPLICATION PHYSICAL ${rows[0]?.lsn}`).catch(() => {});
  await until(async () => {
    const { rowCount } = await pool.query(
      `select from pg_stat_replication where state in ('catchup', 'streaming')`,
    );
    return rowCount === 1;
  });
  return { [Symbol.asyncDispose]: () => standby.end() };
}
