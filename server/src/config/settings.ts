import { LOG_LEVELS } from '../lib/log.ts';
import { cells } from './cell-settings.ts';
import { namedRoutes, routes } from './delivery-routes.ts';
import { limits } from './limit-settings.ts';
import { outgoingAddresses } from './outgoing-addresses.ts';
import { returnPath } from './return-path-settings.ts';
import {
  boolean,
  integer,
  networks,
  oneOf,
  percent,
  portRanges,
  roleList,
  type Setting,
  secretKey,
  serverAddresses,
  subsetOf,
  text,
  webOrigin,
  webUrl,
} from './setting-types.ts';
import { submission } from './submission-settings.ts';

/** Every environment variable that Postrider reads, in the order of docs/configuration.md. */

export const ROLES = ['api', 'delivery', 'webhooks', 'smtp'] as const;
export type Role = (typeof ROLES)[number];

/** Roles that an identity provider can give: accounts/people/single-sign-on/connection.ts. */
const PROVIDED_ROLES = ['admin', 'developer', 'viewer'] as const;

const HOST_NAME =
  /^(?=.{1,253}$)[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$/;

const http = {
  HOST: text({
    description:
      'Address the API and dashboard listen on. `0.0.0.0` or `::` makes them reachable from the network.',
    format: 'an IP address or host name of this machine',
    default: '127.0.0.1',
    accepts: /^[A-Za-z0-9.:_-]+$/,
  }),
  PORT: integer({
    description:
      'Port of the API and dashboard. Without the role `api` it serves only `/healthz`, `/readyz` and `/metrics`. `0` picks a free port.',
    default: 3000,
    min: 0,
    max: 65_535,
  }),
  BASE_URL: webOrigin({
    description: 'Public URL of this server, used in links, error responses and tracking.',
    defaultText: '`http://localhost:PORT`',
  }),
  TRUST_PROXY: networks({
    description: 'Proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` headers are trusted.',
    defaultText: 'none',
  }),
  REQUEST_TIMEOUT_SECONDS: integer({
    description: 'Time limit for receiving a complete request.',
    default: 60,
    min: 1,
    max: 3600,
  }),
  ATTACHMENT_URLS: boolean({
    description:
      'Fetch attachments that a request to the Resend API names by URL. `WEBHOOK_ALLOW_PRIVATE` and `WEBHOOK_PORTS` apply.',
    default: false,
  }),
  SHUTDOWN_DELAY_SECONDS: integer({
    description:
      'How long the server still serves requests after SIGTERM while `/readyz` is already 503, so that a load balancer stops using it first.',
    default: 0,
    min: 0,
    max: 300,
  }),
  DRAIN_SECONDS: integer({
    description:
      'Time limit for finishing work in progress after SIGTERM and `SHUTDOWN_DELAY_SECONDS`.',
    default: 25,
    min: 0,
    max: 600,
  }),
};

const storage = {
  DATA_DIR: text({
    description: 'Folder of the embedded PostgreSQL and the generated secret key.',
    format: 'a folder that this user can write to',
    default: './data',
  }),
  DATABASE_URL: secret(
    text<string | undefined>({
      description:
        'PostgreSQL 15 or newer to use instead of the embedded one. With several hosts, the primary is used.',
      format:
        'postgres://user:password@host:5432/database, or with several host:port pairs separated by commas',
      default: undefined,
      defaultText: 'embedded',
      accepts: /^postgres(ql)?:\/\/[^\s]+$/,
    }),
  ),
  DATABASE_READ_URL: secret(
    text<string | undefined>({
      description:
        'A standby of the database. Lists, the event feed and exports of API keys, and statistics, are read from it unless it is more than ten seconds behind. See [Read replica](production.md#read-replica).',
      format:
        'postgres://user:password@host:5432/database, or with several host:port pairs separated by commas',
      default: undefined,
      defaultText: 'the primary',
      accepts: /^postgres(ql)?:\/\/[^\s]+$/,
    }),
  ),
  DATABASE_SCHEMA: text<string | undefined>({
    description:
      'PostgreSQL schema of all tables. It is created if it does not exist. Several installations can share a database, each in its own schema. See [Schemas](production.md#schemas).',
    format:
      'lowercase letters, digits and underscores, not starting with pg_; at most 40 characters',
    default: undefined,
    defaultText: 'the first schema of the search path, usually `public`',
    accepts: /^(?!pg_)[a-z_][a-z0-9_]{0,39}$/,
  }),
  DATABASE_CONNECTIONS_MAX: integer({
    description:
      'Maximum database connections of the main pool, and of that to `DATABASE_READ_URL`. Delivery, webhooks and notifications use up to 16 more.',
    default: 20,
    min: 4,
    max: 1000,
  }),
  ALLOW_UNSAFE_DATABASE: boolean({
    description:
      'Accept a database that can lose committed mail in a crash (`fsync`, `full_page_writes` or `synchronous_commit` off).',
    default: false,
  }),
  SECRET_KEY: secretKey({
    description:
      'Encrypts secrets in the database, such as DKIM keys and webhook secrets. Must be the same on every node. If it is lost, so are the secrets.',
    defaultText: 'generated in `DATA_DIR` with the embedded database; required with `DATABASE_URL`',
  }),
  ALLOW_OTHER_SECRET_KEY: boolean({
    description:
      'Start with a different `SECRET_KEY` than before. Secrets encrypted with the previous key are lost.',
    default: false,
  }),
};

const contentArchive = {
  CONTENT_BUCKET_URL: text<string | undefined>({
    description:
      'A bucket of S3-compatible storage, to which contents of messages are moved after four days. See [Content archive](production.md#content-archive).',
    format: 'the URL of a bucket, such as https://s3.example.com/bucket or with a prefix',
    default: undefined,
    defaultText: 'contents stay in the database',
    accepts: /^https?:\/\/[^\s?#@]+$/,
  }),
  CONTENT_BUCKET_REGION: text({
    description: 'Region of the bucket.',
    format: 'a name such as eu-central-1',
    default: 'us-east-1',
    accepts: /^[a-z0-9-]+$/,
  }),
  CONTENT_BUCKET_ACCESS_KEY_ID: text<string | undefined>({
    description: 'Access key of the bucket. It must be able to put, get and delete objects.',
    format: 'an access key ID',
    default: undefined,
    defaultText: 'none',
  }),
  CONTENT_BUCKET_SECRET_ACCESS_KEY: secret(
    text<string | undefined>({
      description: 'Secret of the access key.',
      format: 'a secret access key',
      default: undefined,
      defaultText: 'none',
    }),
  ),
};

const general = {
  PRINT_FIRST_KEY: boolean({
    description:
      'Create a test API key at the first start and print it. Use `false` where the output is kept in a log.',
    default: true,
  }),
  ROLES: subsetOf<Role>({
    description:
      'What this process does: `api` serves HTTP, `smtp` accepts mail over SMTP, `delivery` sends it, `webhooks` delivers events.',
    default: new Set(ROLES),
    defaultText: 'all',
    values: ROLES,
  }),
  LOG_LEVEL: oneOf({
    description: 'Minimum level of log messages.',
    default: 'info',
    values: LOG_LEVELS,
  }),
};

const delivery = {
  DELIVERY_ROUTE: routes({
    description: 'How live mail is delivered: directly, or through an SMTP relay.',
  }),
  STREAM_ROUTES: namedRoutes({
    description:
      'Routes by name that streams can use instead, for example to send newsletters through another relay.',
  }),
  MX_PORT: integer({
    description: "Port of the receivers' mail servers.",
    default: 25,
    min: 1,
    max: 65_535,
  }),
  MX_ALLOW_PRIVATE: boolean({
    description:
      'Deliver to mail servers with private or loopback addresses. Always allowed if `MX_PORT` is not 25.',
    default: false,
  }),
  OUTGOING_ADDRESSES: outgoingAddresses({
    description:
      'Source addresses for outgoing mail. `ipv4` disables IPv6, where reverse DNS is often missing; receivers that only have IPv6 are then unreachable.',
  }),
  HELO_NAME: text<string | undefined>({
    description:
      'Host name sent in EHLO. It should resolve to the outgoing address, and the address back to it.',
    format: 'a host name such as mail.example.com',
    default: undefined,
    defaultText: "the machine's host name",
    accepts: HOST_NAME,
  }),
  DELIVERY_CONCURRENCY: integer({
    description: 'Maximum concurrent deliveries per process.',
    default: 200,
    min: 1,
    max: 10_000,
  }),
  DELIVERY_THREAD: oneOf({
    description:
      'Run delivery in a separate thread, so that one process uses two cores. `auto` does so if the machine has several cores and the process has other roles.',
    default: 'auto',
    values: ['auto', 'on', 'off'],
  }),
  SHAPING_FILE: text<string | undefined>({
    description: 'Additional traffic shaping rules per receiver; they override the built-in ones.',
    format: 'the path of a JSON file in the format of `server/src/delivery/shaping.json`',
    default: undefined,
    defaultText: 'none',
    accepts: /^.+$/,
  }),
  BOUNCE_RULES_FILE: text<string | undefined>({
    description:
      'Additional rules for the meaning of SMTP replies and bounces; they come before the built-in ones. See [Bounce classification](bounces.md#bounce-classification).',
    format:
      'the path of a JSON file with `rules` in the format of `server/src/messages/verdict/bounce-rules.json`',
    default: undefined,
    defaultText: 'none',
    accepts: /^.+$/,
  }),
  LEASE_SECONDS: integer({
    description:
      'How long a lease on a delivery lasts unless it is renewed. Nodes that fail are noticed earlier, by their heartbeats.',
    default: 120,
    min: 10,
    max: 3600,
  }),
};

const retries = {
  RETRY_WINDOW_HOURS: integer({
    description: 'How long a deferred delivery is retried. It is tried one last time at the end.',
    default: 72,
    min: 1,
    max: 720,
  }),
  RETRY_FIRST_SECONDS: integer({
    description: 'Delay before the first retry, ±20%. It doubles with every further retry.',
    default: 60,
    min: 1,
    max: 3600,
  }),
  RETRY_LONGEST_MINUTES: integer({
    description: 'Maximum delay between retries.',
    default: 240,
    min: 1,
    max: 1440,
  }),
};

const domains = {
  DNS_SERVERS: serverAddresses({
    description: 'DNS servers to use.',
    defaultText: "the system's",
    port: 53,
  }),
  DNS_VALIDATES: boolean({
    description:
      'Trust the DNS servers to validate DNSSEC over a secure network, as DANE requires. A DNS server on this machine is always trusted.',
    default: false,
  }),
  BOUNCE_HOST: text<string | undefined>({
    description: 'MX host of all return-path domains; it receives their bounces.',
    format: 'a host name such as mail.example.com',
    default: undefined,
    defaultText: '`HELO_NAME`',
    accepts: HOST_NAME,
  }),
  SPF_MECHANISM: text<string | undefined>({
    description: 'SPF mechanisms that sending domains publish to authorize this server.',
    format:
      'mechanisms such as a:mail.example.com, ip4:192.0.2.1 or include:spf.example.com, separated by spaces',
    default: undefined,
    defaultText: '`a:` and `HELO_NAME`',
    accepts:
      /^(?:a|mx|include|exists|ip4|ip6):[!-~]+(?: +(?:a|mx|include|exists|ip4|ip6):[!-~]+)*$/,
  }),
  DOMAIN_GRACE_HOURS: integer({
    description: 'How long a domain can still send after one of its DNS records disappears.',
    default: 72,
    min: 0,
    max: 720,
  }),
};

const webhooks = {
  WEBHOOK_ALLOW_PRIVATE: boolean({
    description: 'Allow webhooks to private addresses and over plain HTTP.',
    default: false,
  }),
  WEBHOOK_PORTS: portRanges({
    description: 'Allowed ports of webhook endpoints.',
    default: [
      { from: 80, to: 80 },
      { from: 443, to: 443 },
      { from: 1024, to: 65_535 },
    ],
    defaultText: '80,443,1024-65535',
  }),
  WEBHOOK_CONCURRENCY: integer({
    description: 'Maximum concurrent webhook requests per process.',
    default: 100,
    min: 1,
    max: 10_000,
  }),
  WEBHOOK_ENDPOINT_CONCURRENCY: integer({
    description: 'Maximum concurrent webhook requests per endpoint.',
    default: 16,
    min: 1,
    max: 1000,
  }),
};

const alarms = {
  ALARM_BOUNCE_PERCENT: percent({
    description:
      'Bounce rate of a sending domain (live mail) that raises an alarm. `0` disables it.',
    default: 5,
  }),
  ALARM_COMPLAINT_PERCENT: percent({
    description:
      'Complaint rate of a sending domain (live mail) that raises an alarm. `0` disables it.',
    default: 0.3,
  }),
  ALARM_WINDOW_MINUTES: integer({
    description: 'Time window over which bounce and complaint rates are computed.',
    default: 60,
    min: 1,
    max: 1440,
  }),
  ALARM_RECIPIENTS_MIN: integer({
    description: 'Minimum recipients in the time window for these alarms.',
    default: 50,
    min: 1,
    max: 1_000_000,
  }),
  ALARM_QUEUE_MINUTES: integer({
    description: 'Age of the oldest queued mail that raises an alarm. `0` disables it.',
    default: 15,
    min: 0,
    max: 10_080,
  }),
  ALARM_WEBHOOK_MINUTES: integer({
    description: 'How long a webhook endpoint must fail to raise an alarm. `0` disables it.',
    default: 30,
    min: 0,
    max: 10_080,
  }),
  ALARM_KEY_DAYS: integer({
    description:
      'Days before the expiry of an API key at which an alarm is raised. `0` disables it.',
    default: 7,
    min: 0,
    max: 365,
  }),
  ALARM_DOMAIN_RECORDS: integer({
    description:
      'Number of missing DNS records of a verified domain that raises an alarm. `0` disables it.',
    default: 1,
    min: 0,
    max: 100,
  }),
  BRAKE_SLOW_BOUNCE_PERCENT: percent({
    description: 'Bounce rate (live mail) at which a workspace is slowed down. `0` disables it.',
    default: 0,
  }),
  BRAKE_PAUSE_BOUNCE_PERCENT: percent({
    description: 'Bounce rate (live mail) at which a workspace is paused. `0` disables it.',
    default: 0,
  }),
  BRAKE_SLOW_COMPLAINT_PERCENT: percent({
    description: 'Complaint rate (live mail) at which a workspace is slowed down. `0` disables it.',
    default: 0,
  }),
  BRAKE_PAUSE_COMPLAINT_PERCENT: percent({
    description: 'Complaint rate (live mail) at which a workspace is paused. `0` disables it.',
    default: 0,
  }),
  BRAKE_WINDOW_HOURS: integer({
    description: 'Time window over which the rates of the brake are computed.',
    default: 24,
    min: 1,
    max: 720,
  }),
  BRAKE_RECIPIENTS_MIN: integer({
    description: 'Minimum recipients in the time window for the brake.',
    default: 100,
    min: 1,
    max: 1_000_000,
  }),
  BRAKE_SLOW_MESSAGES_PER_HOUR: integer({
    description: 'Live messages per hour of a workspace that is slowed down.',
    default: 100,
    min: 1,
    max: 1_000_000,
  }),
  PROBATION_DAYS: integer({
    description:
      'Days after its creation during which a workspace can send only a few messages. `0` disables it.',
    default: 0,
    min: 0,
    max: 365,
  }),
  PROBATION_MESSAGES_PER_HOUR: integer({
    description: 'Live messages per hour of a workspace on probation.',
    default: 50,
    min: 1,
    max: 1_000_000,
  }),
};

const retention = {
  CONTENT_RETENTION_DAYS: integer({
    description: 'How long message content and the request log are kept.',
    default: 30,
    min: 1,
    max: 3650,
  }),
  MESSAGE_RETENTION_DAYS: integer({
    description: 'How long messages, deliveries, attempts and events are kept.',
    default: 90,
    min: 1,
    max: 3650,
  }),
  AUDIT_RETENTION_DAYS: integer({
    description: 'How long the audit log is kept.',
    default: 400,
    min: 1,
    max: 3650,
  }),
  WEBHOOK_RETENTION_DAYS: integer({
    description: 'How long webhook deliveries and their attempts are kept.',
    default: 30,
    min: 4,
    max: 3650,
  }),
  DELETION_DAYS: integer({
    description:
      'Days until a workspace or an account that its owner deleted is purged. Until then it can be restored.',
    default: 7,
    min: 0,
    max: 365,
  }),
};

const singleSignOn = {
  OIDC_ISSUER: webUrl({
    description:
      'OpenID Connect provider with which the members of the first workspace sign in. See [Sign-in](sign-in.md).',
    defaultText: 'none',
  }),
  OIDC_CLIENT_ID: text<string | undefined>({
    description: 'Client ID of this server at the provider. Required with `OIDC_ISSUER`.',
    format: 'the client ID that the provider shows',
    default: undefined,
    defaultText: 'none',
  }),
  OIDC_CLIENT_SECRET: secret(
    text<string | undefined>({
      description: 'Client secret of this server at the provider. Required with `OIDC_ISSUER`.',
      format: 'the client secret that the provider shows',
      default: undefined,
      defaultText: 'none',
    }),
  ),
  OIDC_NAME: text({
    description: 'Name of the provider on the sign-in page.',
    format: 'at most 50 characters',
    default: 'single sign-on',
    accepts: /^.{1,50}$/,
  }),
  OIDC_GROUPS_CLAIM: text({
    description: 'Claim that contains the groups of a person.',
    format: 'the name of a claim, such as groups',
    default: 'groups',
    accepts: /^[^\s\0]{1,200}$/,
  }),
  OIDC_GROUP_ROLES: roleList({
    description:
      'Roles of groups, such as `mail-admins=admin,engineers=developer`. The first match decides.',
    roles: PROVIDED_ROLES,
  }),
  OIDC_DEFAULT_ROLE: oneOf({
    description: 'Role of people without a listed group. With `none` they have no access.',
    default: 'none',
    values: ['none', ...PROVIDED_ROLES],
  }),
  OIDC_ENFORCED: boolean({
    description:
      'Members of the first workspace must sign in with the provider. Owners can still use their password.',
    default: false,
  }),
};

export const SETTINGS = {
  ...grouped('HTTP server', http),
  ...grouped('Single sign-on', singleSignOn),
  ...grouped('SMTP submission', submission),
  ...grouped('Bounces and complaints', returnPath),
  ...grouped('Database and secrets', storage),
  ...grouped('Process', general),
  ...grouped('Delivery', delivery),
  ...grouped('Retries', retries),
  ...grouped('DNS and sending domains', domains),
  ...grouped('Webhooks', webhooks),
  ...grouped('Alarms', alarms),
  ...grouped('Limits', limits),
  ...grouped('Retention', retention),
  ...grouped('Content archive', contentArchive),
  ...grouped('Cells', cells),
};

export type SettingName = keyof typeof SETTINGS;

/** The tables of docs/configuration.md, one per group. */
export function configurationTables(): string {
  const groups = Map.groupBy(Object.entries<Setting<unknown>>(SETTINGS), ([, { group }]) => group);
  const tables = [...groups].map(([group, settings]) => {
    const rows = settings.map(
      ([name, setting]) => `| \`${name}\` | ${shownDefault(setting)} | ${setting.description} |`,
    );
    const head = ['| Variable | Default | Description |', '|---|---|---|'];
    return [`## ${group}`, '', ...head, ...rows].join('\n');
  });
  return tables.join('\n\n');
}

/** A default that can be set as a value is shown as code; `none` and descriptions are not. */
function shownDefault({ default: value, defaultText, parse }: Setting<unknown>): string {
  const isUnset = value === undefined || (Array.isArray(value) && value.length === 0);
  return isUnset || parse(defaultText) === undefined ? defaultText : `\`${defaultText}\``;
}

function secret<T>(shown: Setting<T>): Setting<T> {
  return { ...shown, secret: true };
}

function grouped<G extends Record<string, Setting<unknown>>>(group: string, settings: G): G {
  return Object.fromEntries(
    Object.entries(settings).map(([name, one]) => [name, { ...one, group }]),
  ) as G;
}
