import { LOG_LEVELS } from '../lib/log.ts';
import { alarms } from './alarm-settings.ts';
import { cells } from './cell-settings.ts';
import { namedRoutes, routes } from './delivery-routes.ts';
import { limits } from './limit-settings.ts';
import { outgoingAddresses } from './outgoing-addresses.ts';
import { returnPath } from './return-path-settings.ts';
import {
  boolean,
  HOST_NAME,
  integer,
  networks,
  oneOf,
  portRanges,
  type Setting,
  serverAddresses,
  subsetOf,
  text,
  webOrigin,
} from './setting-types.ts';
import { singleSignOn } from './single-sign-on-settings.ts';
import { contentArchive, storage } from './storage-settings.ts';
import { submission } from './submission-settings.ts';

export const ROLES = ['api', 'delivery', 'webhooks', 'smtp'] as const;
export type Role = (typeof ROLES)[number];

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
    description:
      'Proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` headers are trusted: {format}.',
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

const general = {
  PRINT_FIRST_KEY: boolean({
    description:
      'Create a test API key at the first start and print it. Use `false` where the output is kept in a log.',
    default: true,
  }),
  ROLES: subsetOf<Role>({
    description:
      'What this process does: `all`, or some of these, separated by commas. `api` serves HTTP, `smtp` accepts mail over SMTP, `delivery` sends it, `webhooks` delivers events.',
    default: new Set(ROLES),
    defaultText: 'all',
    values: ROLES,
  }),
  LOG_LEVEL: oneOf({
    description: 'Minimum level of log messages: {format}.',
    default: 'info',
    values: LOG_LEVELS,
  }),
};

const delivery = {
  DELIVERY_ROUTE: routes({
    description: 'How live mail is delivered: {format}.',
  }),
  STREAM_ROUTES: namedRoutes({
    description:
      'Routes that [streams](streams.md#defaults-of-a-stream) can use instead, for example to send newsletters from [another address](production.md#several-sending-addresses) or through another relay: {format}.',
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
      'Source addresses for outgoing mail: {format}. `ipv4` alone disables IPv6, where reverse DNS is often missing; receivers that only have IPv6 are then unreachable.',
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
      'Whether delivery runs in a thread of its own, so that one process uses two cores: `on`, `off`, or `auto`, which turns it on if the machine has several cores and the process has other roles.',
    default: 'auto',
    values: ['auto', 'on', 'off'],
  }),
  SHAPING_FILE: text<string | undefined>({
    description:
      'Additional [traffic shaping](production.md#traffic-shaping) rules per receiver, which come before the built-in ones.',
    format: 'the path of a JSON file in the format of `server/src/delivery/receivers/shaping.json`',
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
    description:
      'Delay before each of the first two retries, ±20%. After that, each delay is about twice the one before.',
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
    description: 'DNS servers to use: {format}.',
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
    description: 'What sending domains publish in SPF to authorize this server: {format}.',
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

const retention = {
  CONTENT_RETENTION_DAYS: integer({
    description:
      'How long the content of messages and inbound messages, and the request log, are kept.',
    default: 30,
    min: 1,
    max: 3650,
  }),
  MESSAGE_RETENTION_DAYS: integer({
    description: 'How long messages, deliveries, attempts, inbound messages and events are kept.',
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
  PARTITION_DAYS: integer({
    description:
      'Days of messages, events and webhook deliveries that share a partition. Retention deletes whole partitions. Change it only for [large databases](production.md#large-databases).',
    default: 7,
    min: 1,
    max: 28,
  }),
  DELETION_DAYS: integer({
    description:
      'Days until a workspace or an account that its owner deleted is purged. Until then it can be restored.',
    default: 7,
    min: 0,
    max: 365,
  }),
};

/** Every environment variable that Postrider reads, in the order of docs/configuration.md. */
export const SETTINGS = {
  ...grouped('HTTP server', http),
  ...grouped('Single sign-on', singleSignOn),
  ...grouped('SMTP submission', submission),
  ...grouped('Bounces, complaints and inbound mail', returnPath),
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
      ([name, setting]) =>
        `| \`${name}\` | ${shownDefault(setting)} | ${shownDescription(setting)} |`,
    );
    const head = ['| Variable | Default | Description |', '|---|---|---|'];
    return [`## ${group}`, '', ...head, ...rows].join('\n');
  });
  return tables.join('\n\n');
}

/** A description shows the format of values where it is not obvious. */
function shownDescription({ description, format }: Setting<unknown>): string {
  return description.replace('{format}', format);
}

/** A default that can be set as a value is shown as code; `none` and descriptions are not. */
function shownDefault({ default: value, defaultText, parse }: Setting<unknown>): string {
  const isUnset = value === undefined || (Array.isArray(value) && value.length === 0);
  return isUnset || parse(defaultText) === undefined ? defaultText : `\`${defaultText}\``;
}

function grouped<G extends Record<string, Setting<unknown>>>(group: string, settings: G): G {
  return Object.fromEntries(
    Object.entries(settings).map(([name, one]) => [name, { ...one, group }]),
  ) as G;
}
