import { LOG_LEVELS } from '../lib/log.ts';
import {
  integer,
  key,
  networks,
  oneOf,
  percent,
  ports,
  servers,
  someOf,
  text,
  type Variable,
  webAddress,
  yesNo,
} from './kinds.ts';
import { limits } from './limits.ts';
import { outgoingAddresses } from './outgoing.ts';
import { returnPath } from './return-path.ts';
import { routes } from './routes.ts';
import { submission } from './submission.ts';

/** Every variable that Postrider reads, in the order the README lists them. */

export const ROLES = ['api', 'delivery', 'webhooks', 'smtp'] as const;
export type Role = (typeof ROLES)[number];

const HOST_NAME =
  /^(?=.{1,253}$)[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$/;

const http = {
  HOST: text({
    says: 'Address the API and the dashboard listen on. `0.0.0.0` or `::` opens them to the network.',
    takes: 'an address or a host name of this machine',
    standard: '127.0.0.1',
    accepts: /^[A-Za-z0-9.:_-]+$/,
  }),
  PORT: integer({
    says: 'Port of the API and the dashboard; without the role `api`, of `/healthz`, `/readyz` and `/metrics` alone. 0 takes any free one.',
    standard: 3000,
    min: 0,
    max: 65_535,
  }),
  BASE_URL: webAddress({
    says: 'Where people reach this server: used in links, error answers and tracking.',
    standardText: '`http://localhost:PORT`',
  }),
  TRUST_PROXY: networks({
    says: 'Proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` are believed.',
    standardText: 'nobody',
  }),
  REQUEST_TIMEOUT_SECONDS: integer({
    says: 'Time a client has to send a whole request.',
    standard: 60,
    min: 1,
    max: 3600,
  }),
  DRAIN_SECONDS: integer({
    says: 'On SIGTERM, time for work in hand to finish.',
    standard: 25,
    min: 0,
    max: 600,
  }),
};

const storage = {
  DATA_DIR: text({
    says: 'Folder of the embedded PostgreSQL and of the generated secret key.',
    takes: 'a folder that this user may write',
    standard: './data',
  }),
  DATABASE_URL: hidden(
    text<string | undefined>({
      says: 'A PostgreSQL of your own, 15 or newer, instead of the embedded one. Several hosts may be named: the primary among them is used.',
      takes:
        'postgres://user:password@host:5432/database, or with several host:port separated by commas',
      standard: undefined,
      standardText: 'embedded',
      accepts: /^postgres(ql)?:\/\/[^\s]+$/,
    }),
  ),
  DATABASE_CONNECTIONS_MAX: integer({
    says: 'Connections to the database for what is asked of this process. Deliveries, webhooks and notices have up to 14 of their own.',
    standard: 20,
    min: 4,
    max: 1000,
  }),
  ALLOW_UNSAFE_DATABASE: yesNo({
    says: 'Accept a database that may lose committed mail (`fsync`, `full_page_writes` or `synchronous_commit` off).',
    standard: false,
  }),
  SECRET_KEY: key({
    says: 'Encrypts what is secret in the database (DKIM keys, webhook secrets). The same on every node; without it that data is lost.',
    standardText:
      'generated in `DATA_DIR` with the embedded database; required with `DATABASE_URL`',
  }),
  ALLOW_OTHER_SECRET_KEY: yesNo({
    says: 'Start with another `SECRET_KEY` than the one before, which is refused otherwise. What that one encrypted is lost.',
    standard: false,
  }),
  ROLES: someOf<Role>({
    says: 'What this process does: `api` answers HTTP, `smtp` takes mail by SMTP, `delivery` sends, `webhooks` tells.',
    standard: new Set(ROLES),
    standardText: 'all',
    values: ROLES,
  }),
};

const delivery = {
  DELIVERY_ROUTE: routes({ says: 'How live mail leaves.' }),
  MX_PORT: integer({
    says: "Port of the receivers' mail servers.",
    standard: 25,
    min: 1,
    max: 65_535,
  }),
  MX_ALLOW_PRIVATE: yesNo({
    says: 'Allow receivers whose mail servers have private or loopback addresses. Always allowed when `MX_PORT` is not 25.',
    standard: false,
  }),
  OUTGOING_ADDRESSES: outgoingAddresses({
    says: 'What mail leaves from, where the machine has several addresses. `ipv4` alone keeps it off IPv6, where reverse records are often missing: receivers that have no other address are then not reached.',
  }),
  DNS_SERVERS: servers({
    says: 'Name servers to ask.',
    standardText: "the system's",
    port: 53,
  }),
  DNS_VALIDATES: yesNo({
    says: 'The name servers validate DNSSEC and the way to them is safe, so that DANE can be relied on. A name server on this machine is always believed.',
    standard: false,
  }),
  HELO_NAME: text<string | undefined>({
    says: 'Name we greet other mail servers with. It should have an address record, and the address a reverse record back to it.',
    takes: 'a host name such as mail.example.com',
    standard: undefined,
    standardText: "the machine's host name",
    accepts: HOST_NAME,
  }),
  BOUNCE_HOST: text<string | undefined>({
    says: 'Host that takes the bounces of every sending domain: what their return paths point to by MX.',
    takes: 'a host name such as mail.example.com',
    standard: undefined,
    standardText: '`HELO_NAME`',
    accepts: HOST_NAME,
  }),
  SPF_MECHANISM: text<string | undefined>({
    says: 'What sending domains put into their SPF record, so that receivers know the servers our mail comes from.',
    takes:
      'mechanisms such as a:mail.example.com, ip4:192.0.2.1 or include:spf.example.com, separated by spaces',
    standard: undefined,
    standardText: '`a:` and `HELO_NAME`',
    accepts:
      /^(?:a|mx|include|exists|ip4|ip6):[!-~]+(?: +(?:a|mx|include|exists|ip4|ip6):[!-~]+)*$/,
  }),
  DOMAIN_GRACE_HOURS: integer({
    says: 'How long a domain goes on sending after one of its DNS records vanished.',
    standard: 72,
    min: 0,
    max: 720,
  }),
  DELIVERY_CONCURRENCY: integer({
    says: 'Deliveries this process works on at the same time.',
    standard: 200,
    min: 1,
    max: 10_000,
  }),
  DELIVERY_THREAD: oneOf({
    says: 'Whether deliveries have a thread of their own: one process then uses two cores for mail. `auto` gives them one where the machine has more than one core and the process does more than deliver.',
    standard: 'auto',
    values: ['auto', 'on', 'off'],
  }),
  RETRY_WINDOW_HOURS: integer({
    says: 'How long a deferred delivery is tried again. At the end of it comes a last try.',
    standard: 72,
    min: 1,
    max: 720,
  }),
  RETRY_FIRST_SECONDS: integer({
    says: 'How long a deferred delivery waits for its second try, give or take a fifth; then about twice as long each time.',
    standard: 60,
    min: 1,
    max: 3600,
  }),
  RETRY_LONGEST_MINUTES: integer({
    says: 'The longest wait between two tries.',
    standard: 240,
    min: 1,
    max: 1440,
  }),
  SHAPING_FILE: text<string | undefined>({
    says: 'Your own rules for how much mail a receiver gets at a time, in front of the shipped ones.',
    takes: 'the path of a JSON file in the form of `server/src/delivery/shaping.json`',
    standard: undefined,
    standardText: 'none',
    accepts: /^.+$/,
  }),
  LEASE_SECONDS: integer({
    says: 'After this long without a sign from its node, a delivery is taken over by another.',
    standard: 120,
    min: 10,
    max: 3600,
  }),
};

const webhooks = {
  WEBHOOK_ALLOW_PRIVATE: yesNo({
    says: 'Allow webhooks to private addresses and over plain http.',
    standard: false,
  }),
  WEBHOOK_PORTS: ports({
    says: 'Ports that webhooks may go to.',
    standard: [
      { from: 80, to: 80 },
      { from: 443, to: 443 },
      { from: 1024, to: 65_535 },
    ],
    standardText: '80,443,1024-65535',
  }),
  WEBHOOK_CONCURRENCY: integer({
    says: 'Webhooks this process sends at the same time.',
    standard: 100,
    min: 1,
    max: 10_000,
  }),
  WEBHOOK_ENDPOINT_CONCURRENCY: integer({
    says: 'Of these, to one endpoint.',
    standard: 16,
    min: 1,
    max: 1000,
  }),
};

const alarms = {
  ALARM_BOUNCE_PERCENT: percent({
    says: 'Bounces of live mail of a sending domain that raise an alarm. 0: never.',
    standard: 5,
  }),
  ALARM_COMPLAINT_PERCENT: percent({
    says: 'Complaints about live mail of a sending domain that raise an alarm. 0: never.',
    standard: 0.3,
  }),
  ALARM_WINDOW_MINUTES: integer({
    says: 'The time over which these rates are taken.',
    standard: 60,
    min: 1,
    max: 1440,
  }),
  ALARM_RECIPIENTS_MIN: integer({
    says: 'Fewer recipients in that time raise no alarm.',
    standard: 50,
    min: 1,
    max: 1_000_000,
  }),
  ALARM_QUEUE_MINUTES: integer({
    says: 'Mail that waits to leave for longer than this raises an alarm. 0: never.',
    standard: 15,
    min: 0,
    max: 10_080,
  }),
  ALARM_WEBHOOK_MINUTES: integer({
    says: 'An endpoint with nothing but failures for this long raises an alarm. 0: never.',
    standard: 30,
    min: 0,
    max: 10_080,
  }),
  ALARM_KEY_DAYS: integer({
    says: 'An API key that runs out within this time raises an alarm. 0: never.',
    standard: 7,
    min: 0,
    max: 365,
  }),
  ALARM_DOMAIN_RECORDS: integer({
    says: 'A verified domain that has lost this many DNS records raises an alarm. 0: never.',
    standard: 1,
    min: 0,
    max: 100,
  }),
};

const retention = {
  CONTENT_RETENTION_DAYS: integer({
    says: 'How long the content of messages is kept.',
    standard: 30,
    min: 1,
    max: 3650,
  }),
  MESSAGE_RETENTION_DAYS: integer({
    says: 'How long messages, deliveries, attempts and events are kept.',
    standard: 90,
    min: 1,
    max: 3650,
  }),
  WEBHOOK_RETENTION_DAYS: integer({
    says: 'How long deliveries to webhooks and their tries are kept.',
    standard: 30,
    min: 4,
    max: 3650,
  }),
};

const logging = {
  LOG_LEVEL: oneOf({
    says: 'How much is logged.',
    standard: 'info',
    values: LOG_LEVELS,
  }),
};

export const VARIABLES = {
  ...grouped('Web', http),
  ...grouped('Mail by SMTP', submission),
  ...grouped('Bounces and complaints', returnPath),
  ...grouped('Storage and roles', storage),
  ...grouped('Delivery', delivery),
  ...grouped('Webhooks', webhooks),
  ...grouped('Alarms', alarms),
  ...grouped('Limits', limits),
  ...grouped('Retention', retention),
  ...grouped('Log', logging),
};

export type VariableName = keyof typeof VARIABLES;

/** The README's tables, one for each group. */
export function configurationTables(): string {
  const groups = Map.groupBy(
    Object.entries<Variable<unknown>>(VARIABLES),
    ([, { group }]) => group,
  );
  const tables = [...groups].map(([group, variables]) => {
    const rows = variables.map(([name, { says, standardText }]) => {
      const standard = /[` ]/.test(standardText) ? standardText : `\`${standardText}\``;
      return `| \`${name}\` | ${standard} | ${says} |`;
    });
    const head = ['| Variable | Default | What it does |', '|---|---|---|'];
    return [`### ${group}`, '', ...head, ...rows].join('\n');
  });
  return tables.join('\n\n');
}

function hidden<T>(shown: Variable<T>): Variable<T> {
  return { ...shown, secret: true };
}

function grouped<G extends Record<string, Variable<unknown>>>(group: string, variables: G): G {
  return Object.fromEntries(
    Object.entries(variables).map(([name, made]) => [name, { ...made, group }]),
  ) as G;
}
