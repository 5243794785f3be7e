import type { AddressInfo, Socket } from 'node:net';
import type { SecureContext } from 'node:tls';
import { isConnectionError } from '../db/connections/database-errors.ts';
import type { StorageOutage } from '../db/connections/storage-outage.ts';
import type { Log } from '../lib/log.ts';
import type { IpRanges } from '../lib/net/ip-ranges.ts';
import { RefusedError } from '../lib/refused-error.ts';
import { type Clock, pause } from '../lib/time/clock.ts';
import type { ClientOrigin } from './client-origin.ts';
import { ConnectionLimiter } from './connection-limiter.ts';
import { replyForError, SmtpReplyError } from './error-replies.ts';
import { ClientDisconnected } from './message-data.ts';
import type { SmtpServiceMetrics } from './smtp-metrics.ts';
import type { SessionRules, SmtpSession } from './smtp-session.ts';
import { TcpListener } from './tcp-listener.ts';
import {
  type Certificate,
  type CertificateFiles,
  createTlsContext,
  readCertificate,
} from './tls-certificate.ts';

/**
 * Runs one SMTP service (submission or return path) on one or more ports: connection limits, the
 * TLS certificate and its renewal, the processing of each message with its reply, and a graceful
 * shutdown that completes messages in progress.
 */

export interface SmtpServiceParts {
  clock: Clock;
  log: Log;
  outage: StorageOutage;
  /** For logs and metrics, such as `submission`. */
  label: string;
  connectionsMax: number;
  connectionsPerNetwork: number;
  trustedProxies: IpRanges;
}

export interface ListenAddress {
  host: string;
  port: number;
  /** TLS from the first byte (RFC 8314 section 3.3) instead of STARTTLS. Requires a certificate. */
  implicitTls?: boolean;
}

export interface SmtpServiceProtocol<S extends SmtpSession> {
  /** Time for the PROXY header and for the TLS handshake. */
  handshakeMs: number;
  certificate: Certificate | undefined;
  certificateFiles: CertificateFiles | undefined;
  minTlsVersion: 'TLSv1' | 'TLSv1.2';
  metrics: (connections: () => number) => SmtpServiceMetrics;
  newSession(rules: ServiceRules, socket: Socket, origin: ClientOrigin): S;
}

/** The part of a session's rules that every service sets in the same way. */
export type ServiceRules = Pick<
  SessionRules,
  'clock' | 'secureContext' | 'onReady' | 'onClosed' | 'replyForError' | 'onMessage'
>;

const SHUTTING_DOWN = '4.3.2 The server is shutting down. Try again later.';
/** Time for clients to close their side after 421. */
const DISCONNECT_GRACE_MS = 1_000;

export class SmtpService<S extends SmtpSession> {
  readonly #parts: SmtpServiceParts;
  readonly #protocol: SmtpServiceProtocol<S>;
  readonly #rules: ServiceRules;
  readonly #listeners: TcpListener[] = [];
  /** Every open connection; those that were admitted also count against the limits. */
  readonly #connections = new Set<SmtpSession>();
  readonly #sessions = new Set<SmtpSession>();
  readonly #limiter: ConnectionLimiter;
  readonly #metrics: SmtpServiceMetrics;
  #certificate: Certificate | undefined;
  #tlsContext: SecureContext | undefined;
  #draining = false;
  #onIdle: (() => void) | undefined;

  constructor(parts: SmtpServiceParts, protocol: SmtpServiceProtocol<S>) {
    this.#parts = parts;
    this.#protocol = protocol;
    this.#limiter = new ConnectionLimiter(parts.connectionsMax, parts.connectionsPerNetwork);
    this.#metrics = protocol.metrics(() => this.#limiter.size);
    this.#useCertificate(protocol.certificate);
    this.#rules = {
      clock: parts.clock,
      secureContext: protocol.certificate && (() => this.#tlsContext as SecureContext),
      onReady: (session) => this.#admit(session),
      onClosed: (session) => this.#release(session),
      replyForError: (error, session) => this.replyForError(error, session.id),
      onMessage: (reply) => {
        if (reply) this.#metrics.message(reply.code, reply.elapsedMs);
        if (reply?.code === 250) parts.outage.stored();
        this.#notifyWhenIdle();
      },
    };
  }

  /** Rejects with the socket's error when the port is not available. */
  async listen({ implicitTls = false, ...hostAndPort }: ListenAddress): Promise<AddressInfo> {
    const listener = new TcpListener({
      ...this.#parts,
      ...hostAndPort,
      handshakeMs: this.#protocol.handshakeMs,
      secureContext: implicitTls ? this.#rules.secureContext : undefined,
      onConnection: (socket, origin) => {
        const session = this.#protocol.newSession(this.#rules, socket, origin);
        this.#connections.add(session);
        session.start();
      },
    });
    const address = await listener.listen();
    this.#listeners.push(listener);
    return address;
  }

  /** Loads a renewed certificate. If it is not usable, the current one stays in use. */
  async renewCertificate(): Promise<void> {
    const { certificateFiles } = this.#protocol;
    if (!certificateFiles || !this.#certificate) return;
    const fresh = await readCertificate(certificateFiles);
    if (fresh.cert === this.#certificate.cert && fresh.key === this.#certificate.key) return;
    this.#useCertificate(fresh);
    this.#parts.log.info({ listener: this.#parts.label }, 'TLS certificate reloaded');
  }

  /** Refuses new connections, completes the messages in progress, then closes the ports. */
  async drain(limitMs: number): Promise<void> {
    this.#draining = true;
    const { clock } = this.#parts;
    const busy = [...this.#sessions].some((session) => session.isProcessing);
    for (const session of this.#sessions) session.disconnect(SHUTTING_DOWN);
    if (busy) {
      const finished = new AbortController();
      this.#onIdle = () => finished.abort();
      await pause(clock, limitMs, finished.signal);
    }
    const closedSignal = new AbortController();
    const closed = this.#listeners.map((listener) => listener.close());
    void Promise.all(closed).then(() => closedSignal.abort());
    await pause(clock, DISCONNECT_GRACE_MS, closedSignal.signal);
    for (const session of this.#connections) session.destroySocket();
  }

  replyForError(error: unknown, sessionId: string): SmtpReplyError {
    this.logError(error, sessionId);
    return replyForError(error);
  }

  /** Logs unexpected errors in full, and an unavailable database once, like the HTTP API does. */
  logError(error: unknown, session?: string): void {
    const { log, label, outage } = this.#parts;
    const isReply = error instanceof RefusedError || error instanceof SmtpReplyError;
    if (isReply || error instanceof ClientDisconnected) return;
    const fields = { listener: label, session };
    if (isConnectionError(error)) outage.refused(error, fields);
    else log.error({ ...fields, err: error }, 'SMTP message failed');
  }

  #useCertificate(certificate: Certificate | undefined): void {
    this.#certificate = certificate;
    this.#tlsContext = certificate && createTlsContext(certificate, this.#protocol.minTlsVersion);
  }

  #admit(session: SmtpSession): string | undefined {
    const refusal = this.#draining ? SHUTTING_DOWN : this.#limiter.acquire(session.remoteAddress);
    if (refusal === undefined) this.#sessions.add(session);
    else this.#metrics.connectionRefused();
    return refusal;
  }

  #release(session: SmtpSession): void {
    this.#connections.delete(session);
    if (!this.#sessions.delete(session)) return;
    this.#limiter.release(session.remoteAddress);
    this.#notifyWhenIdle();
  }

  #notifyWhenIdle(): void {
    if ([...this.#sessions].every((one) => !one.isProcessing)) this.#onIdle?.();
  }
}

/**
 * Whether listening failed because the address is not one of this machine's, rather than because of
 * the port.
 */
export function isHostError(error: unknown): boolean {
  const { code = '' } = error as NodeJS.ErrnoException;
  return ['EADDRNOTAVAIL', 'ENOTFOUND', 'EAI_AGAIN'].includes(code);
}

/** Explains a listen error that the operator can fix; undefined for any other error. */
export function explainListenError(
  error: unknown,
  { host, port }: { host: string; port: number | undefined },
  variables: { host: string; port: string },
): string | undefined {
  switch ((error as NodeJS.ErrnoException).code) {
    case 'EADDRINUSE':
      return `Port ${port} on ${host} is already in use. Stop the other program, change ${variables.port}, or set it to off.`;
    case 'EACCES':
      return `Permission denied to listen on ${host}:${port}. Set ${variables.port} to a port above 1023.`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `${variables.host} ${host} is not an address of this machine.`;
    default:
      return undefined;
  }
}
