import type { AddressInfo } from 'node:net';
import type { Registry } from 'prom-client';
import { MemoryBudget } from '../../lib/memory/memory-budget.ts';
import { isLoopback } from '../../lib/net/client-network.ts';
import { RefusedError } from '../../lib/refused-error.ts';
import { parseMailbox } from '../../mail/address.ts';
import type { ClientOrigin } from '../client-origin.ts';
import { SmtpReplyError } from '../error-replies.ts';
import { type AuthMetrics, createAuthMetrics, createSmtpServiceMetrics } from '../smtp-metrics.ts';
import { type ListenAddress, SmtpService, type SmtpServiceParts } from '../smtp-service.ts';
import type { SessionTimeouts } from '../smtp-session.ts';
import { type Certificate, type CertificateFiles, readCertificate } from '../tls-certificate.ts';
import { type AcceptSubmissionParts, acceptSubmission } from './accept-submission.ts';
import { AuthThrottle } from './auth-throttle.ts';
import {
  type AuthenticatedClient,
  authenticateClient,
  authorizeMessage,
  type SubmissionAuthParts,
} from './submission-auth.ts';
import { type SubmissionHandlers, SubmissionSession } from './submission-session.ts';

/**
 * The message submission listener (RFC 6409). Clients authenticate with an API key as the password;
 * each message takes the same path as `POST /transactional/send`, and `250` to its final dot means
 * the same as `202` there: committed. This file handles protocol and limits only.
 */

export interface SubmissionListenerParts
  extends AcceptSubmissionParts,
    Omit<SubmissionAuthParts, 'authThrottle'>,
    Omit<SmtpServiceParts, 'label'> {
  registry: Registry;
  /** The host name in the greeting. */
  hostname: string;
  certificate: CertificateFiles | undefined;
  allowPlaintext: boolean;
  messageBytesMax: number;
  recipientsMax: number;
  /** Memory limit for all messages that are being received. */
  memoryBytesMax: number;
  limits?: Partial<SubmissionLimits>;
}

/** Time limits of a submission session, and which clients count as local. */
export interface SubmissionLimits extends SessionTimeouts {
  /** Time until AUTH succeeds. */
  authMs: number;
  /** Delay of the reply to a network's first failed AUTH. */
  authFailureDelayMs: number;
  /** Whether a client address is on this machine; tests override it. */
  isLocal: (ip: string) => boolean;
}

const SUBMISSION_LIMITS: SubmissionLimits = {
  handshakeMs: 20_000,
  authMs: 60_000,
  dataMs: 600_000,
  sessionMs: 3_600_000,
  idleMs: 300_000,
  authFailureDelayMs: 500,
  isLocal: isLoopback,
};

export class SubmissionListener {
  readonly #parts: SubmissionListenerParts;
  readonly #service: SmtpService<SubmissionSession>;
  /** Shared by all messages that are being received. */
  readonly #memory: MemoryBudget;
  readonly #auth: SubmissionAuthParts;
  readonly #authMetrics: AuthMetrics;

  static async open(parts: SubmissionListenerParts): Promise<SubmissionListener> {
    const certificate = parts.certificate && (await readCertificate(parts.certificate));
    return new SubmissionListener(parts, certificate);
  }

  private constructor(parts: SubmissionListenerParts, certificate: Certificate | undefined) {
    this.#parts = parts;
    const limits = { ...SUBMISSION_LIMITS, ...parts.limits };
    this.#memory = new MemoryBudget(parts.memoryBytesMax);
    this.#auth = {
      ...parts,
      authThrottle: new AuthThrottle(parts.clock, limits.authFailureDelayMs),
    };
    this.#authMetrics = createAuthMetrics(parts.registry);
    const settings = {
      timeouts: limits,
      authMs: limits.authMs,
      hostname: parts.hostname,
      messageBytesMax: parts.messageBytesMax,
      recipientsMax: parts.recipientsMax,
      plaintextAllowed: ({ hops }: ClientOrigin) =>
        parts.allowPlaintext || hops.every(limits.isLocal),
      handlers: this.#handlers(),
    };
    this.#service = new SmtpService(
      { ...parts, label: 'submission' },
      {
        handshakeMs: limits.handshakeMs,
        certificate,
        certificateFiles: parts.certificate,
        // RFC 8314 section 4.1 and RFC 8996: credentials require at least TLS 1.2.
        minTlsVersion: 'TLSv1.2',
        metrics: (connections) =>
          createSmtpServiceMetrics(parts.registry, 'smtp', 'submission', connections),
        newSession: (rules, socket, origin) =>
          new SubmissionSession(socket, { ...rules, ...settings }, origin),
      },
    );
  }

  /** Rejects with the socket's error when the port is not available. */
  listen(address: ListenAddress): Promise<AddressInfo> {
    return this.#service.listen(address);
  }

  renewCertificate(): Promise<void> {
    return this.#service.renewCertificate();
  }

  drain(limitMs: number): Promise<void> {
    return this.#service.drain(limitMs);
  }

  #handlers(): SubmissionHandlers {
    return {
      authenticate: (key, ip) => this.#authenticate(key, ip),
      authorize: (client) => authorizeMessage(this.#auth, client),
      checkRecipient: (address) => {
        const parsed = parseMailbox(address);
        if (!parsed.ok) throw new SmtpReplyError(553, '5.1.3', parsed.detail);
      },
      accept: async (data, caller, recipients) => {
        const id = await acceptSubmission(this.#parts, this.#memory, data, caller, recipients);
        return `2.0.0 Accepted as ${id}`;
      },
    };
  }

  async #authenticate(key: string, ip: string): Promise<AuthenticatedClient> {
    try {
      const client = await authenticateClient(this.#auth, key, ip);
      this.#authMetrics.attempt('accepted');
      return client;
    } catch (error) {
      const { log } = this.#parts;
      const refused = error instanceof RefusedError;
      this.#authMetrics.attempt(refused ? 'refused' : 'failed');
      if (refused) log.info({ ip, code: error.code }, 'SMTP authentication failed');
      else this.#service.logError(error);
      throw error;
    }
  }
}
