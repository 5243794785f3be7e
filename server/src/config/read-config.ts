import { hostname } from 'node:os';
import path from 'node:path';
import type { LogLevel } from '../lib/log.ts';
import type { PortRange, ServerPlace, Variable } from './kinds.ts';
import type { OutgoingAddresses } from './outgoing.ts';
import type { RouteConfig } from './routes.ts';
import type { SmtpAddress } from './submission.ts';
import { type Role, VARIABLES, type VariableName } from './variables.ts';

/**
 * The environment comes in as text, one frozen object of typed values goes out, once, at the start.
 * Each part of the house is given its own group and no more. Every mistake is found before any is
 * reported, so that an operator needs one round, and the value of a secret is never repeated.
 */
export interface Config {
  readonly http: {
    readonly host: string;
    readonly port: number;
    /** Nobody asked for the default: a node that answers no API runs without it when it is taken. */
    readonly portIsWished: boolean;
    readonly baseUrl: string;
    readonly trustProxy: readonly string[];
    readonly requestTimeoutMs: number;
    readonly drainMs: number;
  };
  readonly submission: {
    /** Undefined: the door stays closed. */
    readonly port: number | undefined;
    /** Nobody asked for the default: when it is taken, the server runs without the door. */
    readonly portIsWished: boolean;
    /** Undefined: nothing is encrypted from its first byte. */
    readonly tlsPort: number | undefined;
    readonly host: string;
    /** Undefined: where they listen, at the host of the base URL. */
    readonly reachedAt: SmtpAddress | undefined;
    readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined;
    readonly allowPlaintext: boolean;
    readonly trustProxy: readonly string[];
    readonly connectionsMax: number;
    readonly connectionsPerSource: number;
  };
  /** Its certificate is the submission port's. */
  readonly returnPath: {
    /** Undefined: the door stays closed. */
    readonly port: number | undefined;
    readonly portIsWished: boolean;
    readonly host: string;
    readonly trustProxy: readonly string[];
    readonly connectionsMax: number;
    readonly connectionsPerSource: number;
  };
  readonly storage: {
    readonly dataDir: string;
    /** Undefined: the embedded PostgreSQL. */
    readonly databaseUrl: string | undefined;
    readonly connectionsMax: number;
    readonly allowUnsafe: boolean;
  };
  /** 32 bytes. Undefined with the embedded database: storage keeps one in DATA_DIR. */
  readonly secretKey: Buffer | undefined;
  readonly allowOtherSecretKey: boolean;
  readonly roles: ReadonlySet<Role>;
  readonly delivery: {
    readonly routes: readonly RouteConfig[];
    readonly mxPort: number;
    readonly mxAllowPrivate: boolean;
    readonly dnsValidates: boolean;
    readonly shapingFile: string | undefined;
    readonly outgoing: OutgoingAddresses;
    /** Empty: the system's. */
    readonly dnsServers: readonly ServerPlace[];
    readonly heloName: string;
    readonly retryWindowMs: number;
    readonly backoff: { readonly minMs: number; readonly maxMs: number };
    readonly leaseMs: number;
    readonly concurrency: number;
    readonly thread: 'auto' | 'on' | 'off';
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
  /** Rates are shares from 0 to 1. */
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
  readonly limits: Limits;
  readonly retention: {
    readonly contentDays: number;
    readonly recordDays: number;
    readonly webhookDays: number;
  };
  readonly log: { readonly level: LogLevel };
}

export interface Limits {
  readonly ratePerSecond: number;
  readonly rateBurst: number;
  readonly requestBodyMaxBytes: number;
  readonly messageMaxBytes: number;
  readonly contentMaxBytes: number;
  readonly subjectMaxBytes: number;
  readonly recipientsMax: number;
  readonly batchMax: number;
  /** Of one owner. */
  readonly workspacesMax: number;
  readonly headersMax: number;
  readonly headerMaxBytes: number;
  readonly scheduleMaxMs: number;
  readonly acceptBufferMaxMessages: number;
  readonly acceptBufferMaxBytes: number;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** Its message lists every mistake, one a line. */
export class ConfigError extends Error {
  readonly mistakes: readonly string[];
  constructor(mistakes: readonly string[]) {
    super(
      `The configuration has ${mistakes.length === 1 ? 'a mistake' : 'mistakes'}:\n${mistakes.map((mistake) => `  - ${mistake}`).join('\n')}`,
    );
    this.name = 'ConfigError';
    this.mistakes = mistakes;
  }
}

export function readConfig(env: Environment): Config {
  const values = readVariables(env);
  const mistakes = [...values.mistakes, ...contradictions(values)];
  if (mistakes.length > 0) throw new ConfigError(mistakes);
  return freezeDeep(arrange(values));
}

interface Values {
  of<N extends VariableName>(name: N): Standard<N>;
  wasGiven(name: VariableName): boolean;
  mistakes: string[];
}

type Standard<N extends VariableName> = (typeof VARIABLES)[N]['standard'];

function readVariables(env: Environment): Values {
  const values = new Map<string, unknown>();
  const given = new Set<string>();
  const mistakes: string[] = [];
  for (const [name, variable] of Object.entries<Variable<unknown>>(VARIABLES)) {
    const text = env[name]?.trim() ?? '';
    // Compose files and shells pass on unset variables as empty ones.
    const value = text === '' ? variable.standard : variable.parse(text);
    if (text !== '') given.add(name);
    if (text !== '' && value === undefined) {
      const shown = variable.secret ? 'what was given' : JSON.stringify(text);
      mistakes.push(`${name}: ${shown} is not valid. It takes ${variable.takes}.`);
    }
    values.set(name, value ?? variable.standard);
  }
  return {
    of: <N extends VariableName>(name: N) => values.get(name) as Standard<N>,
    wasGiven: (name) => given.has(name),
    mistakes,
  };
}

/** Mistakes that lie between variables that are each valid. */
function contradictions({ of, wasGiven }: Values): string[] {
  const found: string[] = [];
  if (wasGiven('DATABASE_URL') && !wasGiven('SECRET_KEY')) {
    found.push(
      `SECRET_KEY: is needed with DATABASE_URL, the same on every node. It takes ${VARIABLES.SECRET_KEY.takes}.`,
    );
  }
  if (of('CONTENT_RETENTION_DAYS') > of('MESSAGE_RETENTION_DAYS')) {
    found.push(
      `CONTENT_RETENTION_DAYS: ${of('CONTENT_RETENTION_DAYS')} is more than MESSAGE_RETENTION_DAYS (${of('MESSAGE_RETENTION_DAYS')}). Content cannot outlive its message.`,
    );
  }
  // 0 is the standard: one that was not given, or was not understood and is told above.
  if (of('RATE_LIMIT_BURST') !== 0 && of('RATE_LIMIT_BURST') < of('RATE_LIMIT_PER_SECOND')) {
    found.push(
      `RATE_LIMIT_BURST: ${of('RATE_LIMIT_BURST')} is less than RATE_LIMIT_PER_SECOND (${of('RATE_LIMIT_PER_SECOND')}).`,
    );
  }
  if (of('ACCEPT_BUFFER_MAX_BYTES') < of('REQUEST_BODY_MAX_BYTES')) {
    found.push(
      `ACCEPT_BUFFER_MAX_BYTES: is less than REQUEST_BODY_MAX_BYTES, so the largest request could never be accepted.`,
    );
  }
  if (wasGiven('SUBMISSION_TLS_CERT') !== wasGiven('SUBMISSION_TLS_KEY')) {
    found.push(
      'SUBMISSION_TLS_CERT and SUBMISSION_TLS_KEY: one is of no use without the other. Give both, or neither.',
    );
  }
  if (of('SUBMISSION_TLS_PORT') !== 'off' && !wasGiven('SUBMISSION_TLS_CERT')) {
    found.push(
      'SUBMISSION_TLS_PORT: needs a certificate. Give SUBMISSION_TLS_CERT and SUBMISSION_TLS_KEY, or set it to off.',
    );
  }
  return found;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

function arrange({ of, wasGiven }: Values): Config {
  const host = of('HOST');
  const port = of('PORT');
  const baseUrl = of('BASE_URL') ?? `http://localhost:${port}`;
  const heloName = of('HELO_NAME') ?? hostname();
  return {
    http: {
      host,
      port,
      portIsWished: wasGiven('PORT'),
      baseUrl,
      trustProxy: of('TRUST_PROXY'),
      requestTimeoutMs: of('REQUEST_TIMEOUT_SECONDS') * 1000,
      drainMs: of('DRAIN_SECONDS') * 1000,
    },
    submission: arrangeSubmission(of, wasGiven('SUBMISSION_PORT')),
    returnPath: arrangeReturnPath(of, wasGiven('RETURN_PATH_PORT')),
    storage: {
      dataDir: path.resolve(of('DATA_DIR')),
      databaseUrl: of('DATABASE_URL'),
      connectionsMax: of('DATABASE_CONNECTIONS_MAX'),
      allowUnsafe: of('ALLOW_UNSAFE_DATABASE'),
    },
    secretKey: of('SECRET_KEY'),
    allowOtherSecretKey: of('ALLOW_OTHER_SECRET_KEY'),
    roles: of('ROLES'),
    delivery: {
      routes: of('DELIVERY_ROUTE'),
      mxPort: of('MX_PORT'),
      // Nobody's receivers listen on another port than 25: this is a laboratory.
      mxAllowPrivate: of('MX_ALLOW_PRIVATE') || of('MX_PORT') !== 25,
      dnsValidates: of('DNS_VALIDATES'),
      shapingFile: of('SHAPING_FILE'),
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
    limits: arrangeLimits(of),
    retention: {
      contentDays: of('CONTENT_RETENTION_DAYS'),
      recordDays: of('MESSAGE_RETENTION_DAYS'),
      webhookDays: of('WEBHOOK_RETENTION_DAYS'),
    },
    log: { level: of('LOG_LEVEL') },
  };
}

function arrangeSubmission(of: Values['of'], portIsWished: boolean): Config['submission'] {
  const port = of('SUBMISSION_PORT');
  const tlsPort = of('SUBMISSION_TLS_PORT');
  const certFile = of('SUBMISSION_TLS_CERT');
  const keyFile = of('SUBMISSION_TLS_KEY');
  return {
    port: port === 'off' ? undefined : port,
    portIsWished,
    tlsPort: tlsPort === 'off' ? undefined : tlsPort,
    host: of('SUBMISSION_HOST') ?? of('HOST'),
    reachedAt: of('SUBMISSION_URL'),
    tls: certFile !== undefined && keyFile !== undefined ? { certFile, keyFile } : undefined,
    allowPlaintext: of('SUBMISSION_ALLOW_PLAINTEXT'),
    trustProxy: of('SUBMISSION_TRUST_PROXY'),
    connectionsMax: of('SUBMISSION_CONNECTIONS_MAX'),
    connectionsPerSource: of('SUBMISSION_CONNECTIONS_PER_SOURCE'),
  };
}

function arrangeReturnPath(of: Values['of'], portIsWished: boolean): Config['returnPath'] {
  const port = of('RETURN_PATH_PORT');
  return {
    port: port === 'off' ? undefined : port,
    portIsWished,
    host: of('RETURN_PATH_HOST') ?? of('HOST'),
    trustProxy: of('RETURN_PATH_TRUST_PROXY'),
    connectionsMax: of('RETURN_PATH_CONNECTIONS_MAX'),
    connectionsPerSource: of('RETURN_PATH_CONNECTIONS_PER_SOURCE'),
  };
}

function arrangeLimits(of: Values['of']): Limits {
  return {
    ratePerSecond: of('RATE_LIMIT_PER_SECOND'),
    rateBurst: of('RATE_LIMIT_BURST') || 2 * of('RATE_LIMIT_PER_SECOND'),
    requestBodyMaxBytes: of('REQUEST_BODY_MAX_BYTES'),
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

function freezeDeep<T>(value: T): T {
  if (value !== null && typeof value === 'object' && !ArrayBuffer.isView(value)) {
    for (const inner of Object.values(value)) freezeDeep(inner);
    Object.freeze(value);
  }
  return value;
}
