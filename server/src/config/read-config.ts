import { hostname } from 'node:os';
import path from 'node:path';
import type { LogLevel } from '../lib/log.ts';
import { usableMemory } from '../lib/memory/usable-memory.ts';
import type { BucketSettings } from '../lib/object-bucket.ts';
import type { CellAddress } from './cell-settings.ts';
import type { RouteConfig } from './delivery-routes.ts';
import type { OutgoingAddresses } from './outgoing-addresses.ts';
import {
  type Environment,
  readSettings,
  type SettingValue,
  type SettingValues,
} from './read-settings.ts';
import { findConflicts } from './setting-conflicts.ts';
import type { PortRange, ServerAddress } from './setting-types.ts';
import type { Role } from './settings.ts';
import type { SmtpAddress } from './submission-settings.ts';

/**
 * Turns the environment into one frozen object of typed values, once, at startup. Each module is
 * given only its own group. All errors are collected before any is reported, and the value of a
 * secret never appears in an error.
 */
export interface Config {
  readonly http: {
    readonly host: string;
    readonly port: number;
    /** If false and the port is taken, a node without the role `api` starts without the listener. */
    readonly portIsExplicit: boolean;
    readonly baseUrl: string;
    readonly trustProxy: readonly string[];
    readonly requestTimeoutMs: number;
    readonly attachmentUrls: boolean;
    readonly shutdownDelayMs: number;
    readonly drainMs: number;
  };
  /** The identity provider of the first workspace, if the settings name one. */
  readonly singleSignOn: SingleSignOnConfig | undefined;
  readonly submission: {
    /** Undefined: the listener is disabled. */
    readonly port: number | undefined;
    /** If false and the port is taken, the server starts without the listener. */
    readonly portIsExplicit: boolean;
    /** Undefined: no listener with implicit TLS. */
    readonly tlsPort: number | undefined;
    readonly host: string;
    /** Undefined: the ports listened on, at the host of the base URL. */
    readonly publicAddress: SmtpAddress | undefined;
    readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined;
    readonly allowPlaintext: boolean;
    readonly trustProxy: readonly string[];
    readonly connectionsMax: number;
    readonly connectionsPerSource: number;
  };
  /** Uses the certificate of the submission listener. */
  readonly returnPath: {
    /** Undefined: the listener is disabled. */
    readonly port: number | undefined;
    readonly portIsExplicit: boolean;
    readonly host: string;
    readonly trustProxy: readonly string[];
    readonly connectionsMax: number;
    readonly connectionsPerSource: number;
    readonly complaintScope: 'stream' | 'everywhere';
  };
  readonly storage: {
    readonly dataDir: string;
    /** Undefined: the embedded PostgreSQL. */
    readonly databaseUrl: string | undefined;
    readonly schema: string | undefined;
    /** A standby for reads that may be a few seconds old. */
    readonly readUrl: string | undefined;
    readonly connectionsMax: number;
    readonly allowUnsafe: boolean;
  };
  /** 32 bytes. Undefined with the embedded database, which stores one in DATA_DIR. */
  readonly secretKey: Buffer | undefined;
  readonly allowOtherSecretKey: boolean;
  readonly printFirstKey: boolean;
  readonly roles: ReadonlySet<Role>;
  readonly delivery: {
    readonly routes: readonly RouteConfig[];
    readonly streamRoutes: Readonly<Record<string, RouteConfig>>;
    readonly mxPort: number;
    readonly mxAllowPrivate: boolean;
    readonly dnsValidates: boolean;
    readonly shapingFile: string | undefined;
    readonly bounceRulesFile: string | undefined;
    readonly outgoing: OutgoingAddresses;
    /** Empty: the system's. */
    readonly dnsServers: readonly ServerAddress[];
    readonly heloName: string;
    readonly retryWindowMs: number;
    readonly backoff: { readonly minMs: number; readonly maxMs: number };
    readonly leaseMs: number;
    readonly concurrency: number;
    readonly thread: 'auto' | 'on' | 'off';
    /** Other installations receive mail at the same address, and may have the same name. */
    readonly behindRouter: boolean;
  };
  readonly domains: {
    readonly bounceHost: string;
    readonly spfMechanism: string;
    readonly trackingTarget: string;
    readonly graceMs: number;
  };
  readonly webhooks: {
    readonly allowPrivate: boolean;
    readonly ports: readonly PortRange[];
    readonly concurrency: number;
    readonly endpointConcurrency: number;
  };
  /** Rates are fractions from 0 to 1. */
  readonly alarms: {
    readonly bounceRate: number;
    readonly complaintRate: number;
    readonly windowMs: number;
    readonly recipientsMin: number;
    readonly queueAgeMs: number;
    readonly webhookFailingMs: number;
    readonly keyExpiryMs: number;
    readonly domainRecords: number;
  };
  readonly brake: {
    readonly slowBounceRate: number;
    readonly pauseBounceRate: number;
    readonly slowComplaintRate: number;
    readonly pauseComplaintRate: number;
    readonly windowMs: number;
    readonly recipientsMin: number;
    readonly slowedMessagesPerHour: number;
    readonly probationMs: number;
    readonly probationMessagesPerHour: number;
  };
  readonly limits: Limits;
  readonly retention: {
    readonly contentDays: number;
    readonly recordDays: number;
    readonly webhookDays: number;
    readonly auditDays: number;
  };
  readonly partitionDays: number;
  /** Where old contents of messages are kept, if not in the database. */
  readonly contentBucket: BucketSettings | undefined;
  readonly router: { readonly cells: readonly CellAddress[]; readonly token: string | undefined };
  /** How long a deleted workspace can be restored. */
  readonly deletionMs: number;
  readonly log: { readonly level: LogLevel };
}

export interface SingleSignOnConfig {
  readonly name: string;
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly groupsClaim: string;
  readonly groupRoles: SettingValue<'OIDC_GROUP_ROLES'>;
  readonly defaultRole: Exclude<SettingValue<'OIDC_DEFAULT_ROLE'>, 'none'> | null;
  readonly isEnforced: boolean;
}

export interface Limits {
  readonly ratePerSecond: number;
  readonly rateBurst: number;
  readonly requestBodyMaxBytes: number;
  readonly requestBufferMaxBytes: number;
  readonly messageMaxBytes: number;
  readonly contentMaxBytes: number;
  readonly subjectMaxBytes: number;
  readonly recipientsMax: number;
  readonly batchMax: number;
  /** Workspaces with the same origin. */
  readonly workspacesMax: number;
  readonly headersMax: number;
  readonly headerMaxBytes: number;
  readonly scheduleMaxMs: number;
  readonly acceptBufferMaxMessages: number;
  readonly acceptBufferMaxBytes: number;
}

/** The message lists every error, one per line. */
export class ConfigError extends Error {
  readonly errors: readonly string[];
  constructor(errors: readonly string[]) {
    super(`Invalid configuration:\n${errors.map((error) => `  - ${error}`).join('\n')}`);
    this.name = 'ConfigError';
    this.errors = errors;
  }
}

export function readConfig(env: Environment): Config {
  const values = readSettings(env);
  const errors = [...values.errors, ...findConflicts(values)];
  if (errors.length > 0) throw new ConfigError(errors);
  return deepFreeze(buildConfig(values));
}

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

function buildConfig({ of, wasGiven }: SettingValues): Config {
  const host = of('HOST');
  const port = of('PORT');
  const baseUrl = of('BASE_URL') ?? `http://localhost:${port}`;
  const heloName = of('HELO_NAME') ?? hostname();
  return {
    http: {
      host,
      port,
      portIsExplicit: wasGiven('PORT'),
      baseUrl,
      trustProxy: of('TRUST_PROXY'),
      requestTimeoutMs: of('REQUEST_TIMEOUT_SECONDS') * 1000,
      attachmentUrls: of('ATTACHMENT_URLS'),
      shutdownDelayMs: of('SHUTDOWN_DELAY_SECONDS') * 1000,
      drainMs: of('DRAIN_SECONDS') * 1000,
    },
    singleSignOn: buildSingleSignOn(of),
    submission: buildSubmission(of, wasGiven('SUBMISSION_PORT')),
    returnPath: buildReturnPath(of, wasGiven('RETURN_PATH_PORT')),
    storage: {
      dataDir: path.resolve(of('DATA_DIR')),
      databaseUrl: of('DATABASE_URL'),
      schema: of('DATABASE_SCHEMA'),
      readUrl: of('DATABASE_READ_URL'),
      connectionsMax: of('DATABASE_CONNECTIONS_MAX'),
      allowUnsafe: of('ALLOW_UNSAFE_DATABASE'),
    },
    secretKey: of('SECRET_KEY'),
    allowOtherSecretKey: of('ALLOW_OTHER_SECRET_KEY'),
    printFirstKey: of('PRINT_FIRST_KEY'),
    roles: of('ROLES'),
    delivery: {
      routes: of('DELIVERY_ROUTE'),
      streamRoutes: of('STREAM_ROUTES'),
      mxPort: of('MX_PORT'),
      // Public mail servers only listen on port 25, so another port means a test environment.
      mxAllowPrivate: of('MX_ALLOW_PRIVATE') || of('MX_PORT') !== 25,
      dnsValidates: of('DNS_VALIDATES'),
      shapingFile: of('SHAPING_FILE'),
      bounceRulesFile: of('BOUNCE_RULES_FILE'),
      outgoing: of('OUTGOING_ADDRESSES'),
      dnsServers: of('DNS_SERVERS'),
      heloName,
      retryWindowMs: of('RETRY_WINDOW_HOURS') * HOUR_MS,
      backoff: {
        minMs: of('RETRY_FIRST_SECONDS') * 1000,
        maxMs: of('RETRY_LONGEST_MINUTES') * MINUTE_MS,
      },
      leaseMs: of('LEASE_SECONDS') * 1000,
      concurrency: of('DELIVERY_CONCURRENCY'),
      thread: of('DELIVERY_THREAD'),
      behindRouter: of('ROUTER_TOKEN') !== undefined,
    },
    domains: {
      bounceHost: (of('BOUNCE_HOST') ?? heloName).toLowerCase(),
      spfMechanism: of('SPF_MECHANISM') ?? `a:${heloName.toLowerCase()}`,
      trackingTarget: new URL(baseUrl).hostname,
      graceMs: of('DOMAIN_GRACE_HOURS') * HOUR_MS,
    },
    webhooks: {
      allowPrivate: of('WEBHOOK_ALLOW_PRIVATE'),
      ports: of('WEBHOOK_PORTS'),
      concurrency: of('WEBHOOK_CONCURRENCY'),
      endpointConcurrency: of('WEBHOOK_ENDPOINT_CONCURRENCY'),
    },
    alarms: {
      bounceRate: of('ALARM_BOUNCE_PERCENT') / 100,
      complaintRate: of('ALARM_COMPLAINT_PERCENT') / 100,
      windowMs: of('ALARM_WINDOW_MINUTES') * MINUTE_MS,
      recipientsMin: of('ALARM_RECIPIENTS_MIN'),
      queueAgeMs: of('ALARM_QUEUE_MINUTES') * MINUTE_MS,
      webhookFailingMs: of('ALARM_WEBHOOK_MINUTES') * MINUTE_MS,
      keyExpiryMs: of('ALARM_KEY_DAYS') * DAY_MS,
      domainRecords: of('ALARM_DOMAIN_RECORDS'),
    },
    brake: {
      slowBounceRate: of('BRAKE_SLOW_BOUNCE_PERCENT') / 100,
      pauseBounceRate: of('BRAKE_PAUSE_BOUNCE_PERCENT') / 100,
      slowComplaintRate: of('BRAKE_SLOW_COMPLAINT_PERCENT') / 100,
      pauseComplaintRate: of('BRAKE_PAUSE_COMPLAINT_PERCENT') / 100,
      windowMs: of('BRAKE_WINDOW_HOURS') * HOUR_MS,
      recipientsMin: of('BRAKE_RECIPIENTS_MIN'),
      slowedMessagesPerHour: of('BRAKE_SLOW_MESSAGES_PER_HOUR'),
      probationMs: of('PROBATION_DAYS') * DAY_MS,
      probationMessagesPerHour: of('PROBATION_MESSAGES_PER_HOUR'),
    },
    limits: buildLimits(of),
    retention: {
      contentDays: of('CONTENT_RETENTION_DAYS'),
      recordDays: of('MESSAGE_RETENTION_DAYS'),
      webhookDays: of('WEBHOOK_RETENTION_DAYS'),
      auditDays: of('AUDIT_RETENTION_DAYS'),
    },
    partitionDays: of('PARTITION_DAYS'),
    contentBucket: buildContentBucket(of),
    router: { cells: of('ROUTER_CELLS'), token: of('ROUTER_TOKEN') },
    deletionMs: of('DELETION_DAYS') * DAY_MS,
    log: { level: of('LOG_LEVEL') },
  };
}

/** Undefined if none is configured; what is missing is reported as a conflict. */
function buildContentBucket(of: SettingValues['of']): BucketSettings | undefined {
  const url = of('CONTENT_BUCKET_URL');
  const accessKeyId = of('CONTENT_BUCKET_ACCESS_KEY_ID');
  const secretAccessKey = of('CONTENT_BUCKET_SECRET_ACCESS_KEY');
  if (!url || !accessKeyId || !secretAccessKey) return undefined;
  return { url, region: of('CONTENT_BUCKET_REGION'), accessKeyId, secretAccessKey };
}

function buildSingleSignOn(of: SettingValues['of']): SingleSignOnConfig | undefined {
  const issuer = of('OIDC_ISSUER');
  const clientId = of('OIDC_CLIENT_ID');
  const clientSecret = of('OIDC_CLIENT_SECRET');
  if (issuer === undefined || clientId === undefined || clientSecret === undefined) {
    return undefined;
  }
  const defaultRole = of('OIDC_DEFAULT_ROLE');
  return {
    name: of('OIDC_NAME'),
    issuer,
    clientId,
    clientSecret,
    groupsClaim: of('OIDC_GROUPS_CLAIM'),
    groupRoles: of('OIDC_GROUP_ROLES'),
    defaultRole: defaultRole === 'none' ? null : defaultRole,
    isEnforced: of('OIDC_ENFORCED'),
  };
}

function buildSubmission(of: SettingValues['of'], portIsExplicit: boolean): Config['submission'] {
  const port = of('SUBMISSION_PORT');
  const tlsPort = of('SUBMISSION_TLS_PORT');
  const certFile = of('SUBMISSION_TLS_CERT');
  const keyFile = of('SUBMISSION_TLS_KEY');
  return {
    port: port === 'off' ? undefined : port,
    portIsExplicit,
    tlsPort: tlsPort === 'off' ? undefined : tlsPort,
    host: of('SUBMISSION_HOST') ?? of('HOST'),
    publicAddress: of('SUBMISSION_URL'),
    tls: certFile !== undefined && keyFile !== undefined ? { certFile, keyFile } : undefined,
    allowPlaintext: of('SUBMISSION_ALLOW_PLAINTEXT'),
    trustProxy: of('SUBMISSION_TRUST_PROXY'),
    connectionsMax: of('SUBMISSION_CONNECTIONS_MAX'),
    connectionsPerSource: of('SUBMISSION_CONNECTIONS_PER_SOURCE'),
  };
}

function buildReturnPath(of: SettingValues['of'], portIsExplicit: boolean): Config['returnPath'] {
  const port = of('RETURN_PATH_PORT');
  return {
    port: port === 'off' ? undefined : port,
    portIsExplicit,
    host: of('RETURN_PATH_HOST') ?? of('HOST'),
    trustProxy: of('RETURN_PATH_TRUST_PROXY'),
    connectionsMax: of('RETURN_PATH_CONNECTIONS_MAX'),
    connectionsPerSource: of('RETURN_PATH_CONNECTIONS_PER_SOURCE'),
    complaintScope: of('COMPLAINT_SCOPE'),
  };
}

function buildLimits(of: SettingValues['of']): Limits {
  return {
    ratePerSecond: of('RATE_LIMIT_PER_SECOND'),
    rateBurst: of('RATE_LIMIT_BURST') || 2 * of('RATE_LIMIT_PER_SECOND'),
    requestBodyMaxBytes: of('REQUEST_BODY_MAX_BYTES'),
    requestBufferMaxBytes:
      of('REQUEST_BUFFER_MAX_BYTES') ||
      Math.max(defaultRequestBuffer(), 2 * of('REQUEST_BODY_MAX_BYTES')),
    messageMaxBytes: of('MESSAGE_MAX_BYTES'),
    contentMaxBytes: of('CONTENT_MAX_BYTES'),
    subjectMaxBytes: of('SUBJECT_MAX_BYTES'),
    recipientsMax: of('RECIPIENTS_MAX'),
    batchMax: of('BATCH_MAX'),
    workspacesMax: of('WORKSPACES_MAX'),
    headersMax: of('HEADERS_MAX'),
    headerMaxBytes: of('HEADER_MAX_BYTES'),
    scheduleMaxMs: of('SCHEDULE_MAX_DAYS') * 24 * HOUR_MS,
    acceptBufferMaxMessages: of('ACCEPT_BUFFER_MAX_MESSAGES'),
    acceptBufferMaxBytes: of('ACCEPT_BUFFER_MAX_BYTES'),
  };
}

const MIB = 1024 ** 2;

/** The allocator keeps what bodies took at their peak, so a large machine does not get a larger share. */
function defaultRequestBuffer(): number {
  return Math.min(256 * MIB, Math.max(64 * MIB, Math.floor(usableMemory() / 8)));
}

function deepFreeze<T>(value: T): T {
  if (value !== null && typeof value === 'object' && !ArrayBuffer.isView(value)) {
    for (const inner of Object.values(value)) deepFreeze(inner);
    Object.freeze(value);
  }
  return value;
}
