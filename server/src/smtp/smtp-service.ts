import type { AddressInfo } from 'node:net';
import type { SMTPServerOptions } from 'smtp-server';
import { isConnectionError } from '../db/database-errors.ts';
import { type Clock, pause } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import type { IpRanges } from '../lib/net/ip-ranges.ts';
import { RefusedError } from '../lib/refused-error.ts';
import { ConnectionLimiter } from './connection-limiter.ts';
import { replyForError, SmtpReplyError } from './error-replies.ts';
import { type NewSession, ProtocolServer } from './protocol-server.ts';
import type { SmtpServiceMetrics } from './smtp-metrics.ts';
import type { SessionRules, SmtpSession } from './smtp-session.ts';
import { TcpListener } from './tcp-listener.ts';
import { type Certificate, type CertificateFiles, readCertificate } from './tls-certificate.ts';

/**
 * Runs one SMTP service (submission or return path) on one or more ports: connection limits, the
 * TLS certificate and its renewal, the processing of each message with its reply, and a graceful
 * shutdown that completes messages in progress.
 */

export interface SmtpServiceParts {
  clock: Clock;
  log: Log;
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
  options: SMTPServerOptions;
  /** Time for the PROXY header and for the TLS handshake. */
  handshakeMs: number;
  certificate: Certificate | undefined;
  certificateFiles: CertificateFiles | undefined;
  metrics: (connections: () => number) => SmtpServiceMetrics;
  newSession(
    rules: Pick<SessionRules, 'clock' | 'onReady' | 'onClosed' | 'offersTls'>,
    ...made: Parameters<NewSession>
  ): S;
}

type DataCallback = (error?: Error | null, message?: string) => void;

const SHUTTING_DOWN = '4.3.2 The server is shutting down. Try again later.';
/** Time for clients to close their side after 421. */
const DISCONNECT_GRACE_MS = 1_000;

export class SmtpService<S extends SmtpSession> {
  readonly #parts: SmtpServiceParts;
  readonly #server: ProtocolServer;
  readonly #listeners: TcpListener[] = [];
  readonly #handshakeMs: number;
  readonly #files: CertificateFiles | undefined;
  readonly #sessions = new Map<string, S>();
  readonly #limiter: ConnectionLimiter;
  readonly #metrics: SmtpServiceMetrics;
  #certificate: Certificate | undefined;
  #draining = false;
  #onIdle: (() => void) | undefined;

  constructor(parts: SmtpServiceParts, protocol: SmtpServiceProtocol<S>) {
    this.#parts = parts;
    this.#certificate = protocol.certificate;
    this.#files = protocol.certificateFiles;
    this.#handshakeMs = protocol.handshakeMs;
    this.#limiter = new ConnectionLimiter(parts.connectionsMax, parts.connectionsPerNetwork);
    this.#metrics = protocol.metrics(() => this.#limiter.size);
    const rules = {
      clock: parts.clock,
      offersTls: protocol.certificate !== undefined,
      onReady: (session: SmtpSession) => this.#admit(session as S),
      onClosed: (session: SmtpSession) => this.#release(session),
    };
    this.#server = new ProtocolServer(protocol.options, (...made) =>
      protocol.newSession(rules, ...made),
    );
    // Errors of client sockets are expected; errors of the listening socket are reported by
    // listen().
    this.#server.on('error', (error) =>
      parts.log.debug({ err: error }, 'SMTP client connection failed'),
    );
  }

  /** Rejects with the socket's error when the port is not available. */
  async listen({ implicitTls = false, ...hostAndPort }: ListenAddress): Promise<AddressInfo> {
    const listener = new TcpListener({
      ...this.#parts,
      ...hostAndPort,
      handshakeMs: this.#handshakeMs,
      secureContext: implicitTls ? () => this.#server.context : undefined,
      onConnection: (socket, origin) => this.#server.handleSocket(socket, origin),
    });
    const address = await listener.listen();
    this.#listeners.push(listener);
    return address;
  }

  session(id: string): S | undefined {
    return this.#sessions.get(id);
  }

  /** Loads a renewed certificate. If it is not usable, the current one stays in use. */
  async renewCertificate(): Promise<void> {
    if (!this.#files || !this.#certificate) return;
    const fresh = await readCertificate(this.#files);
    if (fresh.cert === this.#certificate.cert && fresh.key === this.#certificate.key) return;
    this.#certificate = fresh;
    this.#server.updateSecureContext(fresh);
    this.#parts.log.info({ listener: this.#parts.label }, 'TLS certificate reloaded');
  }

  /** Refuses new connections, completes the messages in progress, then closes the ports. */
  async drain(limitMs: number): Promise<void> {
    this.#draining = true;
    const { clock } = this.#parts;
    const busy = [...this.#sessions.values()].some((session) => session.isProcessing);
    for (const session of this.#sessions.values()) session.disconnect(SHUTTING_DOWN);
    if (busy) {
      const finished = new AbortController();
      this.#onIdle = () => finished.abort();
      await pause(clock, limitMs, finished.signal);
    }
    const closedSignal = new AbortController();
    const closed = this.#listeners.map((listener) => listener.close());
    void Promise.all(closed).then(() => closedSignal.abort());
    await pause(clock, DISCONNECT_GRACE_MS, closedSignal.signal);
    for (const session of this.#server.connections) (session as S).destroySocket();
  }

  /**
   * Handles one message. `process` calls back when the last byte has arrived and resolves with the
   * text that follows 250.
   */
  async processMessage(
    sessionId: string,
    callback: DataCallback,
    process: (received: () => void) => Promise<string>,
  ): Promise<void> {
    const session = this.#sessions.get(sessionId);
    const { clock } = this.#parts;
    let beganAtMs = clock.now();
    session?.messageStarted();
    let text: string | undefined;
    let refusal: SmtpReplyError | undefined;
    try {
      text = await process(() => {
        beganAtMs = clock.now();
        session?.messageReceived();
      });
    } catch (error) {
      refusal = this.replyForError(error, sessionId);
    }
    if (refusal) callback(refusal);
    else callback(null, text);
    this.#metrics.message(refusal?.responseCode ?? 250, clock.now() - beganAtMs);
    session?.messageFinished();
    this.#notifyWhenIdle();
  }

  replyForError(error: unknown, sessionId: string): SmtpReplyError {
    this.logError(error, sessionId);
    return replyForError(error);
  }

  /**
   * Logs unexpected errors in full and an unavailable database as a warning, like the HTTP API
   * does.
   */
  logError(error: unknown, session?: string): void {
    const { log, label } = this.#parts;
    const isReply = error instanceof RefusedError || error instanceof SmtpReplyError;
    if (isReply || isClientDisconnect(error)) return;
    const fields = { err: error, listener: label, session };
    if (isConnectionError(error)) log.warn(fields, 'database unavailable');
    else log.error(fields, 'SMTP message failed');
  }

  #admit(session: S): string | undefined {
    const refusal = this.#draining ? SHUTTING_DOWN : this.#limiter.acquire(session.remoteAddress);
    if (refusal === undefined) this.#sessions.set(session.id, session);
    else this.#metrics.connectionRefused();
    return refusal;
  }

  #release(session: SmtpSession): void {
    this.#limiter.release(session.remoteAddress);
    this.#sessions.delete(session.id);
    this.#notifyWhenIdle();
  }

  #notifyWhenIdle(): void {
    if ([...this.#sessions.values()].every((one) => !one.isProcessing)) this.#onIdle?.();
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

/** Whether the client disconnected in the middle of its message. */
function isClientDisconnect(error: unknown): boolean {
  const code = (error as { code?: unknown } | undefined)?.code;
  return code === 'ECONNECTION' || code === 'ERR_STREAM_PREMATURE_CLOSE';
}
