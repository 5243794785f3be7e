import type { AddressInfo } from 'node:net';
import type { Registry } from 'prom-client';
import type { Authenticator } from '../accounts/authenticate.ts';
import type { RateLimiter } from '../accounts/rate-limit.ts';
import type { Config } from '../config/read-config.ts';
import { StorageStartError } from '../db/connections/database-errors.ts';
import type { StorageOutage } from '../db/connections/storage-outage.ts';
import type { SmtpSettings } from '../http/routes/service/get-smtp.ts';
import type { Log } from '../lib/log.ts';
import { IpRanges } from '../lib/net/ip-ranges.ts';
import type { Clock } from '../lib/time/clock.ts';
import { explainListenError, isHostError } from '../smtp/smtp-service.ts';
import type { SubmissionAcceptor } from '../smtp/submission/accept-submission.ts';
import {
  type SubmissionLimits,
  SubmissionListener,
} from '../smtp/submission/submission-listener.ts';

/** The SMTP submission listener, if it is enabled in this process. */
export interface Submission {
  /** Opens the ports. If the default port is taken, the server runs without it. */
  listen(): Promise<void>;
  /** The open ports; undefined while they are closed. */
  readonly port: number | undefined;
  readonly tlsPort: number | undefined;
  /** The settings that the API shows to clients. */
  settings(): SmtpSettings;
  renewCertificate(): Promise<void>;
  drain(limitMs: number): Promise<void>;
}

export interface SubmissionOptions {
  config: Config;
  clock: Clock;
  log: Log;
  registry: Registry;
  outage: StorageOutage;
  mailAcceptor: SubmissionAcceptor;
  authenticator: Pick<Authenticator, 'authenticate'>;
  rateLimiter: RateLimiter | undefined;
  /** The addresses are added when the ports are open. */
  localListeners: AddressInfo[];
  limits?: Partial<SubmissionLimits> | undefined;
}

const DISABLED = 'The operator has disabled it.';
const NO_ROLE =
  'This process does not accept mail over SMTP (ROLES). If another one does, set SUBMISSION_URL.';

export async function buildSubmission(options: SubmissionOptions): Promise<Submission> {
  const { config, log, localListeners } = options;
  const { submission } = config;
  const hasRole = config.roles.has('smtp');
  const isEnabled = submission.port !== undefined || submission.tlsPort !== undefined;
  const listener = isEnabled && hasRole ? await createListener(options) : undefined;
  let port: number | undefined;
  let tlsPort: number | undefined;
  let closedBecause = hasRole ? DISABLED : NO_ROLE;

  async function open(
    setting: 'SUBMISSION_PORT' | 'SUBMISSION_TLS_PORT',
    wanted: { port: number; implicitTls?: boolean },
  ): Promise<number | undefined> {
    const target = { host: submission.host, ...wanted };
    try {
      const address = await listener?.listen(target);
      if (address) localListeners.push(address);
      return address?.port;
    } catch (error) {
      const host = submission.host === config.http.host ? 'HOST' : 'SUBMISSION_HOST';
      const names = { host, port: setting };
      const reason = explainListenError(error, target, names);
      if (reason === undefined) throw error;
      const isExplicit = setting === 'SUBMISSION_TLS_PORT' || submission.portIsExplicit;
      // A default port may be taken by chance; an invalid address is always a configuration error.
      if (isExplicit || isHostError(error)) throw new StorageStartError(reason);
      closedBecause = reason;
      log.warn({ port: wanted.port, reason }, 'mail cannot be accepted over SMTP');
      return undefined;
    }
  }

  return {
    async listen() {
      if (submission.port !== undefined) {
        port = await open('SUBMISSION_PORT', { port: submission.port });
      }
      if (submission.tlsPort !== undefined) {
        tlsPort = await open('SUBMISSION_TLS_PORT', {
          port: submission.tlsPort,
          implicitTls: true,
        });
      }
    },
    get port() {
      return port;
    },
    get tlsPort() {
      return tlsPort;
    },
    settings() {
      const { publicAddress } = submission;
      const isOpen = port !== undefined || tlsPort !== undefined;
      const available = isOpen || (!hasRole && publicAddress !== undefined);
      return clientSettings(config, publicAddress ?? { port, tlsPort }, available, closedBecause);
    },
    renewCertificate: async () => listener?.renewCertificate(),
    drain: async (limitMs) => listener?.drain(limitMs),
  };
}

function clientSettings(
  { http, submission }: Config,
  address: { host?: string; port: number | undefined; tlsPort: number | undefined },
  open: boolean,
  closedBecause: string,
): SmtpSettings {
  const port = (open && address.port) || null;
  return {
    open,
    closed_because: open ? null : closedBecause,
    host: address.host ?? new URL(http.baseUrl).hostname,
    port,
    tls_port: (open && address.tlsPort) || null,
    user: 'postrider',
    starttls: port !== null && submission.tls !== undefined,
    plaintext: submission.allowPlaintext ? 'anywhere' : 'this_machine',
  };
}

function createListener(options: SubmissionOptions): Promise<SubmissionListener> {
  const { config, clock, log, registry, mailAcceptor, authenticator, rateLimiter } = options;
  const { submission, limits } = config;
  return SubmissionListener.open({
    clock,
    log,
    registry,
    outage: options.outage,
    mailAcceptor,
    authenticator,
    rateLimiter,
    hostname: config.delivery.heloName,
    certificate: submission.tls,
    allowPlaintext: submission.allowPlaintext,
    trustedProxies: new IpRanges(submission.trustProxy),
    connectionsMax: submission.connectionsMax,
    connectionsPerNetwork: submission.connectionsPerSource,
    messageBytesMax: limits.messageMaxBytes,
    recipientsMax: limits.recipientsMax,
    memoryBytesMax: limits.acceptBufferMaxBytes,
    ...(options.limits ? { limits: options.limits } : {}),
  });
}
