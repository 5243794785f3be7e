import type { AddressInfo } from 'node:net';
import type { Registry } from 'prom-client';
import type { SMTPServerOptions, SMTPServerSession } from 'smtp-server';
import type { Caller } from '../../accounts/caller.ts';
import { MemoryBudget } from '../../lib/memory-budget.ts';
import { isLoopback } from '../../lib/net/client-network.ts';
import { RefusedError } from '../../lib/refused-error.ts';
import { parseMailbox } from '../../mail/address.ts';
import { MailParser } from '../../mail/mime/mail-parser.ts';
import { authReplyForError, SmtpReplyError } from '../error-replies.ts';
import { disabledCommands, protocolOptions } from '../protocol-server.ts';
import type { DataStream } from '../receive-data.ts';
import { type AuthMetrics, createAuthMetrics, createSmtpServiceMetrics } from '../smtp-metrics.ts';
import { type ListenAddress, SmtpService, type SmtpServiceParts } from '../smtp-service.ts';
import type { SessionTimeouts } from '../smtp-session.ts';
import { type Certificate, type CertificateFiles, readCertificate } from '../tls-certificate.ts';
import {
  type AcceptSubmissionParts,
  acceptSubmission,
  type SubmissionResources,
} from './accept-submission.ts';
import { AuthThrottle } from './auth-throttle.ts';
import {
  AuthenticatedClient,
  authenticateClient,
  authorizeMessage,
  type SubmissionAuthParts,
} from './submission-auth.ts';
import { SubmissionSession } from './submission-session.ts';

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
  /** Time for the PROXY header and for the TLS handshake. */
  handshakeMs: number;
  /** Time until AUTH succeeds. */
  authMs: number;
  /** Time without a command from the client (RFC 5321 section 4.5.3.2.7). */
  idleMs: number;
  /** Delay of the reply to a network's first failed AUTH. */
  authFailureDelayMs: number;
  /** Whether a client address is on this machine; tests override it. */
  isLocal: (ip: string) => boolean;
}

export const SUBMISSION_LIMITS: SubmissionLimits = {
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
  /** The caller that each session's current message was authorized for. */
  readonly #callers = new WeakMap<SMTPServerSession, Caller>();
  readonly #resources: SubmissionResources;
  readonly #auth: SubmissionAuthParts;
  readonly #authMetrics: AuthMetrics;

  static async open(parts: SubmissionListenerParts): Promise<SubmissionListener> {
    const certificate = parts.certificate && (await readCertificate(parts.certificate));
    return new SubmissionListener(parts, certificate);
  }

  private constructor(parts: SubmissionListenerParts, certificate: Certificate | undefined) {
    this.#parts = parts;
    const limits = { ...SUBMISSION_LIMITS, ...parts.limits };
    this.#resources = {
      memory: new MemoryBudget(parts.memoryBytesMax),
      parser: new MailParser(parts.clock),
    };
    this.#auth = {
      ...parts,
      authThrottle: new AuthThrottle(parts.clock, limits.authFailureDelayMs),
    };
    this.#authMetrics = createAuthMetrics(parts.registry);
    const disabled = disabledCommands(certificate);
    this.#service = new SmtpService(
      { ...parts, label: 'submission' },
      {
        options: {
          ...protocolOptions({ ...parts, ...limits }, certificate),
          // RFC 8314 section 4.1 and RFC 8996: credentials require at least TLS 1.2.
          minVersion: 'TLSv1.2',
          ...AUTH,
          disabledCommands: disabled,
          ...this.#handlers(),
        },
        handshakeMs: limits.handshakeMs,
        certificate,
        certificateFiles: parts.certificate,
        metrics: (connections) =>
          createSmtpServiceMetrics(parts.registry, 'smtp', 'submission', connections),
        newSession: (rules, server, socket, origin) =>
          new SubmissionSession(
            server,
            socket,
            {
              ...rules,
              timeouts: limits,
              authMs: limits.authMs,
              disabledCommands: disabled,
              plaintextAllowed: ({ hops: way }) =>
                parts.allowPlaintext || way.every(limits.isLocal),
            },
            origin,
          ),
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

  async drain(limitMs: number): Promise<void> {
    await this.#service.drain(limitMs);
    await this.#resources.parser.stop();
  }

  #handlers(): Pick<SMTPServerOptions, 'onAuth' | 'onMailFrom' | 'onRcptTo' | 'onData'> {
    return {
      onAuth: (auth, session, callback) => {
        this.#authenticate(auth.password ?? '', session).then(
          (client) => callback(null, { user: client }),
          (error) => {
            callback(authReplyForError(error));
            this.#service.session(session.id)?.authFailed();
          },
        );
      },
      onMailFrom: (_address, session, callback) => {
        this.#authorizeMessage(session).then(
          () => callback(),
          (error) => callback(this.#service.replyForError(error, session.id)),
        );
      },
      onRcptTo: ({ address }, _session, callback) => {
        const parsed = parseMailbox(address);
        callback(parsed.ok ? null : new SmtpReplyError(553, '5.1.3', parsed.detail));
      },
      onData: (stream, session, callback) => {
        this.#service
          .processMessage(session.id, callback, (received) =>
            this.#acceptMessage(stream, session, received),
          )
          .catch((error) => this.#service.logError(error, session.id));
      },
    };
  }

  async #authenticate(
    key: string,
    { remoteAddress: ip }: SMTPServerSession,
  ): Promise<AuthenticatedClient> {
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

  async #authorizeMessage(session: SMTPServerSession): Promise<void> {
    const client: unknown = session.user;
    if (!(client instanceof AuthenticatedClient))
      throw new SmtpReplyError(530, '5.7.0', 'Authentication required.');
    this.#callers.set(session, await authorizeMessage(this.#auth, client));
  }

  async #acceptMessage(
    stream: DataStream,
    session: SMTPServerSession,
    onReceived: () => void,
  ): Promise<string> {
    const caller = this.#callers.get(session);
    if (!caller) throw new SmtpReplyError(530, '5.7.0', 'Authentication required.');
    const recipients = session.envelope.rcptTo.map(({ address }) => address);
    const id = await acceptSubmission(
      this.#parts,
      this.#resources,
      stream,
      caller,
      recipients,
      onReceived,
    );
    return `2.0.0 Accepted as ${id}`;
  }
}

const AUTH: SMTPServerOptions = {
  authMethods: ['PLAIN', 'LOGIN'],
  authRequiredMessage:
    '5.7.0 Authentication required: any user name, with an API key as the password.',
  // SubmissionSession decides where credentials are allowed.
  allowInsecureAuth: true,
};
