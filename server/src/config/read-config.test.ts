import { describe, expect, test } from 'vitest';
import { warmUpRoutes } from './delivery-routes.ts';
import { ConfigError, readConfig } from './read-config.ts';
import { configurationTables, SETTINGS } from './settings.ts';

/** Checks how environment variables are parsed, and the errors for invalid ones. */

const SECRET_KEY = 'ab'.repeat(32);

function errorsOf(env: Record<string, string>): readonly string[] {
  try {
    readConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.errors;
    throw error;
  }
  return [];
}

describe('an empty environment', () => {
  test('gives the documented defaults', () => {
    const config = readConfig({});
    expect(config.http).toMatchObject({
      host: '127.0.0.1',
      port: 3000,
      baseUrl: 'http://localhost:3000',
      trustProxy: [],
    });
    expect(config.submission).toEqual({
      port: 2587,
      portIsExplicit: false,
      tlsPort: undefined,
      host: '127.0.0.1',
      tls: undefined,
      allowPlaintext: false,
      trustProxy: [],
      connectionsMax: 1000,
      connectionsPerSource: 100,
    });
    expect(config.storage).toMatchObject({ databaseUrl: undefined, allowUnsafe: false });
    expect(config.storage.dataDir).toBe(`${process.cwd()}/data`);
    expect(config.secretKey).toBeUndefined();
    expect([...config.roles]).toEqual(['api', 'delivery', 'webhooks', 'smtp']);
    expect(config.delivery).toMatchObject({
      routes: [{ kind: 'direct' }],
      mxPort: 25,
      dnsServers: [],
      retryWindowMs: 72 * 3_600_000,
      backoff: { minMs: 60_000, maxMs: 4 * 3_600_000 },
    });
    expect(config.limits).toMatchObject({
      ratePerSecond: 100,
      rateBurst: 200,
      requestBodyMaxBytes: 30 * 1024 ** 2,
      messageMaxBytes: 25 * 1024 ** 2,
      contentMaxBytes: 2 * 1024 ** 2,
      subjectMaxBytes: 998,
      recipientsMax: 50,
      batchMax: 500,
      workspacesMax: 50,
      headersMax: 20,
      headerMaxBytes: 2048,
    });
    expect(config.retention).toEqual({
      contentDays: 30,
      recordDays: 90,
      auditDays: 400,
      webhookDays: 30,
    });
    expect(config.log).toEqual({ level: 'info' });
  });

  test('is the same as one with empty values', () => {
    const blank = Object.fromEntries(Object.keys(SETTINGS).map((name) => [name, ' ']));
    expect(readConfig(blank)).toEqual(readConfig({}));
  });

  test('is deeply frozen', () => {
    const config = readConfig({ DNS_SERVERS: '127.0.0.1:5354' });
    expect(() => Object.assign(config.http, { port: 1 })).toThrow(TypeError);
    expect(() => Object.assign(config.delivery.dnsServers[0] as object, { port: 1 })).toThrow();
  });
});

describe('values', () => {
  test('ROLES can be all, as documented', () => {
    expect(readConfig({ ROLES: 'all' }).roles).toEqual(readConfig({}).roles);
  });

  test('are accepted in common notations', () => {
    const config = readConfig({
      BASE_URL: 'https://mail.example.com/',
      TRUST_PROXY: '10.0.0.0/8, ::1',
      ROLES: 'api, webhooks',
      DNS_SERVERS: '192.0.2.53, 127.0.0.1:5354, [::1]:5355, 2001:db8::53',
      REQUEST_BODY_MAX_BYTES: '40MiB',
      ACCEPT_BUFFER_MAX_BYTES: '1GiB',
      HEADER_MAX_BYTES: '4096',
      ALLOW_UNSAFE_DATABASE: 'yes',
      RATE_LIMIT_PER_SECOND: '7',
    });
    expect(config.http.baseUrl).toBe('https://mail.example.com');
    expect(config.http.trustProxy).toEqual(['10.0.0.0/8', '::1']);
    expect([...config.roles]).toEqual(['api', 'webhooks']);
    expect(config.delivery.dnsServers).toEqual([
      { host: '192.0.2.53', port: 53 },
      { host: '127.0.0.1', port: 5354 },
      { host: '::1', port: 5355 },
      { host: '2001:db8::53', port: 53 },
    ]);
    expect(config.limits).toMatchObject({
      requestBodyMaxBytes: 40 * 1024 ** 2,
      acceptBufferMaxBytes: 1024 ** 3,
      headerMaxBytes: 4096,
      rateBurst: 14,
    });
    expect(config.storage.allowUnsafe).toBe(true);
  });

  test('of routes keep their order, port and password', () => {
    const routes = [
      'smtp://jane:p%2C%40ss@relay.example.com:2525?tls=required',
      'smtps://relay.example.net',
      'smtp://[::1]:80',
      'direct',
    ];
    expect(readConfig({ DELIVERY_ROUTE: routes.join(', ') }).delivery.routes).toEqual([
      {
        kind: 'relay',
        host: 'relay.example.com',
        port: 2525,
        tls: 'required',
        auth: { user: 'jane', password: 'p,@ss' },
      },
      { kind: 'relay', host: 'relay.example.net', port: 465, tls: 'implicit', auth: undefined },
      { kind: 'relay', host: '::1', port: 80, tls: 'opportunistic', auth: undefined },
      { kind: 'direct' },
    ]);
    expect(readConfig({}).delivery.streamRoutes).toEqual({});
    const named = { STREAM_ROUTES: 'bulk=smtps://relay.example.net, slow_1=direct' };
    expect(readConfig(named).delivery.streamRoutes).toEqual({
      bulk: {
        kind: 'relay',
        host: 'relay.example.net',
        port: 465,
        tls: 'implicit',
        auth: undefined,
      },
      slow_1: { kind: 'direct' },
    });
    const addressed = {
      STREAM_ROUTES:
        'a=direct?address=203.0.113.8, b=direct?address=203.0.113.9&address=2001:db8::9&helo=mail2.example.com',
    };
    expect(readConfig(addressed).delivery.streamRoutes).toEqual({
      a: {
        kind: 'direct',
        source: { outgoing: { ipv4: '203.0.113.8', ipv6: undefined }, heloName: undefined },
      },
      b: {
        kind: 'direct',
        source: {
          outgoing: { ipv4: '203.0.113.9', ipv6: '2001:db8::9' },
          heloName: 'mail2.example.com',
        },
      },
    });
  });

  test('have a warm-up', () => {
    const { delivery } = readConfig({
      DELIVERY_ROUTE: 'direct?warmup=2026-11-20&overflow=old',
      STREAM_ROUTES:
        'old=smtp://relay.example.com, bulk=direct?address=203.0.113.8&warmup=2026-12-01, own=direct?address=203.0.113.9&address=2001:db8::9&warmup=2026-12-01&overflow=none',
      OUTGOING_ADDRESSES: '203.0.113.5',
    });
    expect(warmUpRoutes(delivery)).toMatchObject([
      { route: null, sender: '203.0.113.5', startsAtMs: Date.UTC(2026, 10, 20), overflow: 'old' },
      // Not the standard route, which has a warm-up itself.
      { route: 'bulk', sender: '203.0.113.8', startsAtMs: Date.UTC(2026, 11, 1), overflow: 'old' },
      { route: 'own', sender: '203.0.113.9 2001:db8::9', overflow: undefined },
    ]);
    const overflowOf = (env: Record<string, string>) =>
      warmUpRoutes(readConfig(env).delivery).map(({ sender, overflow }) => [sender, overflow]);
    const STREAM_ROUTES = 'bulk=direct?address=203.0.113.8&warmup=2026-12-01';
    expect(overflowOf({ STREAM_ROUTES })).toEqual([['203.0.113.8', null]]);
    const DELIVERY_ROUTE = 'direct?warmup=2026-11-20';
    expect(overflowOf({ DELIVERY_ROUTE, HELO_NAME: 'mail.example.com' })).toEqual([
      ['mail.example.com', undefined],
    ]);
    expect(overflowOf({})).toEqual([]);
    const daysOf = (warmUp: string) =>
      warmUpRoutes(
        readConfig({ DELIVERY_ROUTE: `direct?warmup=2026-11-20${warmUp}` }).delivery,
      ).map(({ startDay }) => startDay);
    expect([daysOf(''), daysOf('&day=12'), daysOf('&day=30')]).toEqual([[1], [12], [30]]);
  });

  test.each([
    ['', { ipv4: 'any', ipv6: 'any' }],
    ['ipv4', { ipv4: 'any', ipv6: undefined }],
    ['IPv6', { ipv4: undefined, ipv6: 'any' }],
    ['203.0.113.5', { ipv4: '203.0.113.5', ipv6: undefined }],
    ['2001:db8::5, 203.0.113.5', { ipv4: '203.0.113.5', ipv6: '2001:db8::5' }],
    ['203.0.113.5,ipv6', { ipv4: '203.0.113.5', ipv6: 'any' }],
    ['0.0.0.0, ::', { ipv4: 'any', ipv6: 'any' }],
  ])('of OUTGOING_ADDRESSES: %j', (OUTGOING_ADDRESSES, outgoing) => {
    expect(readConfig({ OUTGOING_ADDRESSES }).delivery.outgoing).toEqual(outgoing);
  });

  test('of SECRET_KEY give the same 32 bytes in hex and base64', () => {
    const bytes = Buffer.from(SECRET_KEY, 'hex');
    const hex = readConfig({ SECRET_KEY }).secretKey;
    const base64 = readConfig({ SECRET_KEY: bytes.toString('base64') }).secretKey;
    const sentence = readConfig({ SECRET_KEY: 'correct horse battery staple correct horse' });
    expect(hex?.equals(bytes)).toBe(true);
    expect(base64?.equals(bytes)).toBe(true);
    expect(sentence.secretKey).toHaveLength(32);
  });
});

describe('errors', () => {
  test('are reported together, with the name, the value and the expected format', () => {
    const errors = errorsOf({
      PORT: '70000',
      BASE_URL: 'mail.example.com',
      ROLES: 'api,deliver',
      LOG_LEVEL: 'loud',
      DNS_SERVERS: 'ns.example.com',
      RECIPIENTS_MAX: '1e3',
      TRUST_PROXY: '10.0.0.0/99',
      ALLOW_UNSAFE_DATABASE: 'maybe',
    });
    expect(errors).toEqual([
      'PORT: "70000" is invalid. Expected a whole number between 0 and 65535.',
      expect.stringContaining('BASE_URL: "mail.example.com" is invalid.'),
      expect.stringContaining('TRUST_PROXY: "10.0.0.0/99"'),
      'ALLOW_UNSAFE_DATABASE: "maybe" is invalid. Expected true or false.',
      'ROLES: "api,deliver" is invalid. Expected all, or one or more of api, delivery, webhooks, smtp, separated by commas.',
      expect.stringContaining('LOG_LEVEL: "loud" is invalid. Expected one of fatal, error,'),
      expect.stringContaining('DNS_SERVERS: "ns.example.com"'),
      expect.stringContaining('RECIPIENTS_MAX: "1e3"'),
    ]);
  });

  test('contain no Markdown links', () => {
    const [error] = errorsOf({ DELIVERY_ROUTE: 'smtp.example.com:587' });
    expect(error).toContain('`direct?warmup=2026-11-20` warms up `OUTGOING_ADDRESSES`');
  });

  test('reject partial IP addresses', () => {
    for (const text of [
      '1.2.3',
      '10',
      '0x7f.1',
      '010.0.0.1',
      '10.0/8',
      '10.0.0.0/',
      '10.0.0.0/8/8',
      '::1/129',
    ]) {
      const names = ['TRUST_PROXY', 'SUBMISSION_TRUST_PROXY', 'RETURN_PATH_TRUST_PROXY'];
      const given = Object.fromEntries([...names, 'DNS_SERVERS'].map((name) => [name, text]));
      expect([text, errorsOf(given).length]).toEqual([text, 4]);
    }
  });

  test('never contain a secret', () => {
    const secrets = {
      DATABASE_URL: 'mysql://root:hunter2@db',
      SECRET_KEY: 'hunter2',
      DELIVERY_ROUTE: 'smtp://jane:hunter2@relay.example.com/path',
    };
    const errors = errorsOf(secrets);
    expect(errors.map((error) => error.split(':')[0])).toEqual(Object.keys(secrets));
    expect(errors.join()).not.toContain('hunter2');
  });

  test('include a standby of the embedded database', () => {
    expect(errorsOf({ DATABASE_READ_URL: 'postgres://standby/postrider' })).toEqual([
      'DATABASE_READ_URL: needs DATABASE_URL, because the embedded database has no standby.',
    ]);
  });

  test('include a schema of the embedded database', () => {
    expect(errorsOf({ DATABASE_SCHEMA: 'east' })).toEqual([
      'DATABASE_SCHEMA: needs DATABASE_URL, because the embedded database has one installation only.',
    ]);
  });

  test.each(['East', 'a-b', 'pg_temp', 'a'.repeat(41)])('include the schema name %j', (name) => {
    const database = { DATABASE_URL: 'postgres://db/postrider', SECRET_KEY };
    expect(errorsOf({ ...database, DATABASE_SCHEMA: name })).toMatchObject([
      expect.stringMatching(/^DATABASE_SCHEMA: /),
    ]);
    expect(errorsOf({ ...database, DATABASE_SCHEMA: 'a'.repeat(40) })).toEqual([]);
  });

  test('include conflicts between settings', () => {
    const errors = errorsOf({
      DATABASE_URL: 'postgres://db/postrider',
      CONTENT_RETENTION_DAYS: '100',
      RATE_LIMIT_BURST: '10',
      REQUEST_BODY_MAX_BYTES: '200MiB',
    });
    expect(errors.map((error) => error.split(':')[0])).toEqual([
      'SECRET_KEY',
      'CONTENT_RETENTION_DAYS',
      'RATE_LIMIT_BURST',
      'ACCEPT_BUFFER_MAX_BYTES',
    ]);
    // An invalid value is not compared with others.
    expect(errorsOf({ RATE_LIMIT_BURST: 'many' })).toHaveLength(1);
    expect(errorsOf({ SUBMISSION_TLS_PORT: '465' })).toEqual([
      expect.stringContaining('SUBMISSION_TLS_PORT: requires a certificate'),
    ]);
    expect(errorsOf({ SUBMISSION_TLS_CERT: '/etc/tls/cert.pem' })).toEqual([
      expect.stringContaining('SUBMISSION_TLS_KEY'),
    ]);
  });

  test.each([
    ['PORT', '-1'],
    ['PORT', '0x50'],
    ['SUBMISSION_PORT', '65536'],
    ['SUBMISSION_PORT', 'no'],
    ['SUBMISSION_URL', 'mail.example.com:587'],
    ['SUBMISSION_URL', 'smtp://mail.example.com:0'],
    ['SUBMISSION_URL', 'smtp://mail.example.com:70000'],
    ['SUBMISSION_URL', 'smtps://user@mail.example.com'],
    ['SUBMISSION_URL', 'smtp://a.example.com, smtps://b.example.com'],
    ['SUBMISSION_URL', 'smtp://a.example.com, smtp://a.example.com:25'],
    ['SUBMISSION_URL', 'smtp://a.example.com, nothing'],
    ['BASE_URL', 'https://example.com/app'],
    ['BASE_URL', 'ftp://example.com'],
    ['DNS_SERVERS', '127.0.0.1:0'],
    ['DNS_SERVERS', '127.0.0.1:99999'],
    ['HELO_NAME', 'mail_example.com'],
    ['HELO_NAME', 'mail.example.com\r\nRCPT'],
    ['OUTGOING_ADDRESSES', 'mail.example.com'],
    ['OUTGOING_ADDRESSES', '203.0.113.5, 203.0.113.6'],
    ['OUTGOING_ADDRESSES', '203.0.113.5, ipv4'],
    ['OUTGOING_ADDRESSES', '203.0.113.0/24'],
    ['OUTGOING_ADDRESSES', '203.0.113.5, ipv6, mail'],
    ['OUTGOING_ADDRESSES', '::ffff:203.0.113.5'],
    ['OUTGOING_ADDRESSES', ','],
    ['DELIVERY_ROUTE', 'smtp://'],
    ['DELIVERY_ROUTE', 'smtp://host?tls=never'],
    ['DELIVERY_ROUTE', 'http://host'],
    ['DELIVERY_ROUTE', 'smtp://host:99999'],
    ['STREAM_ROUTES', 'smtp://host'],
    ['STREAM_ROUTES', 'Bulk=smtp://host'],
    ['STREAM_ROUTES', 'bulk=http://host'],
    ['STREAM_ROUTES', 'bulk=direct,bulk=direct'],
    ['STREAM_ROUTES', 'bulk=direct?'],
    ['STREAM_ROUTES', 'bulk=direct?helo=mail2.example.com'],
    ['STREAM_ROUTES', 'bulk=direct?address=mail2.example.com'],
    ['STREAM_ROUTES', 'bulk=direct?address=203.0.113.8&address=203.0.113.9'],
    ['STREAM_ROUTES', 'bulk=direct?address=203.0.113.8&helo=-'],
    ['STREAM_ROUTES', 'bulk=direct?address=203.0.113.8&port=26'],
    ['STREAM_ROUTES', 'bulk=smtp://host?address=203.0.113.8'],
    ['DELIVERY_ROUTE', 'direct?address=203.0.113.8'],
    ['DELIVERY_ROUTE', 'direct?overflow=bulk'],
    ['STREAM_ROUTES', 'bulk=direct?address=203.0.113.8&warmup=2026-11-20&overflow=old, old=x'],
    ['DELIVERY_ROUTE', 'direct?warmup=2026-11-20&address=203.0.113.8'],
    ['STREAM_ROUTES', 'bulk=direct?warmup=2026-11-20'],
    ['STREAM_ROUTES', 'bulk=direct?address=203.0.113.8&overflow=none'],
    ['STREAM_ROUTES', 'bulk=direct?address=203.0.113.8&warmup=2026-11-20&warmup=2026-11-21'],
    ['STREAM_ROUTES', 'bulk=direct?address=203.0.113.8&warmup=2026-11-20&day=2&day=3'],
    ['STREAM_ROUTES', 'bulk=direct?address=203.0.113.8&day=2'],
    ['OIDC_GROUP_ROLES', 'engineers'],
    ['OIDC_GROUP_ROLES', 'engineers=developer, bosses=owner'],
    ['OIDC_GROUP_ROLES', '=viewer'],
    ['REQUEST_BODY_MAX_BYTES', '30MB'],
    ['DATABASE_URL', 'postgres://'],
  ])('%s rejects %j', (name, value) => {
    const errors = errorsOf({ SECRET_KEY, [name]: value });
    expect(errors).toHaveLength(1);
    expect(errors[0]).toMatch(new RegExp(`^${name}: `));
  });
});

test.each([
  [
    { DELIVERY_ROUTE: 'direct?warmup=tomorrow' },
    'DELIVERY_ROUTE: the warm-up starts on "tomorrow". Expected a date such as 2026-11-20.',
  ],
  [
    { STREAM_ROUTES: 'bulk=direct?address=203.0.113.8&warmup=2026-02-30' },
    'STREAM_ROUTES: the warm-up of bulk starts on "2026-02-30". Expected a date such as 2026-11-20.',
  ],
  [
    { DELIVERY_ROUTE: 'direct?warmup=2026-11-20&day=31' },
    'DELIVERY_ROUTE: the warm-up begins on an unknown day. Expected day=1 to day=30.',
  ],
  [
    { STREAM_ROUTES: 'bulk=direct?address=203.0.113.8&warmup=2026-11-20&day=half' },
    'STREAM_ROUTES: the warm-up of bulk begins on an unknown day. Expected day=1 to day=30.',
  ],
  [
    { DELIVERY_ROUTE: 'direct?warmup=2026-11-20&overflow=old' },
    'DELIVERY_ROUTE: the warm-up has the overflow "old". Expected a route in STREAM_ROUTES, or none.',
  ],
  [
    { STREAM_ROUTES: 'bulk=direct?address=203.0.113.8&warmup=2026-11-20&overflow=bulk' },
    'STREAM_ROUTES: the warm-up of bulk has the overflow "bulk", which has a warm-up itself.',
  ],
  [
    { DELIVERY_ROUTE: 'direct?warmup=2026-11-20, smtp://relay.example.com' },
    'DELIVERY_ROUTE: a route with a warm-up cannot have fallbacks. Name the other route in STREAM_ROUTES, and use it as overflow.',
  ],
])('the warm-up of %j is an error', (env, error) => {
  expect(errorsOf(env)).toEqual([error]);
});

describe('the identity provider', () => {
  const provider = {
    OIDC_ISSUER: 'https://login.example.com/realms/staff',
    OIDC_CLIENT_ID: 'postrider',
    OIDC_CLIENT_SECRET: 'hunter2',
  };

  test('is read with the roles of groups in their order', () => {
    const env = { ...provider, OIDC_GROUP_ROLES: 'cn=a=admin, engineers=developer' };
    expect(readConfig(env).singleSignOn).toEqual({
      name: 'single sign-on',
      issuer: 'https://login.example.com/realms/staff',
      clientId: 'postrider',
      clientSecret: 'hunter2',
      groupsClaim: 'groups',
      groupRoles: [
        { group: 'cn=a', role: 'admin' },
        { group: 'engineers', role: 'developer' },
      ],
      defaultRole: null,
      isEnforced: false,
    });
    expect(readConfig({}).singleSignOn).toBeUndefined();
  });

  test('needs an issuer, a client ID and a client secret', () => {
    const { OIDC_ISSUER } = provider;
    expect(errorsOf({ OIDC_ISSUER })).toEqual([
      'OIDC_CLIENT_ID and OIDC_CLIENT_SECRET: required with the other OIDC_ settings.',
    ]);
    const wrong = errorsOf({ ...provider, OIDC_ISSUER: 'login.example.com' });
    expect(wrong).toHaveLength(1);
    expect(wrong.join()).not.toContain('hunter2');
  });
});

test('the configuration tables have a row with a default for every setting', () => {
  const rows = configurationTables()
    .split('\n')
    .filter((line) => line.startsWith('| `'));
  expect(rows).toHaveLength(Object.keys(SETTINGS).length);
  for (const row of rows) expect(row).toMatch(/^\| `[A-Z_]+` \| [^|{]+ \| [^|{]+\. \|$/);
  expect(rows.find((row) => row.includes('`STREAM_ROUTES`'))).toContain('`name=route`');
});

describe('cells behind a router', () => {
  test('are names and origins', () => {
    const { router } = readConfig({
      ROUTER_CELLS: 'east=http://10.0.1.5:3000, west-2=https://west.internal/',
      ROUTER_TOKEN: 'x'.repeat(32),
    });
    expect(router.cells).toEqual([
      { name: 'east', url: 'http://10.0.1.5:3000' },
      { name: 'west-2', url: 'https://west.internal' },
    ]);
    expect(readConfig({}).router).toEqual({ cells: [], token: undefined });
  });

  test.each([
    'http://10.0.1.5:3000',
    'east=10.0.1.5:3000',
    'east=http://10.0.1.5/path',
    'east=http://user:secret@10.0.1.5',
    'East=http://10.0.1.5',
    'east=http://a,east=http://b',
    'east=http://a,west',
  ])('%s is refused', (value) => {
    const [error = ''] = errorsOf({ ROUTER_CELLS: value });
    expect(error).toMatch(/^ROUTER_CELLS: .* is invalid/);
  });

  test('the token is long, and not shown when it is not', () => {
    const [error = ''] = errorsOf({ ROUTER_TOKEN: 'short-secret' });
    expect(error).toMatch(/^ROUTER_TOKEN: the value is invalid/);
  });
});
