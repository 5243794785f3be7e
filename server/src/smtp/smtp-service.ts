import type { AddressInfo } from 'node:net';
import type { SMTPServerOptions } from 'smtp-server';
import { isStorageGone } from '../db/storage-gone.ts';
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
 * A port on which SMTP is spoken, whatever for, and perhaps a second one for TLS: who is connected
 * and how many, the certificate and its renewal, one message after the other with its reply, and a
 * close that finishes what is in hand.
 */

export interface SmtpServiceParts {
  clock: Clock;
  log: Log;
  /** For the log: `the submission port`. */
  label: string;
  connectionsMax: number;
  connectionsPerNetwork: number;
  trustedProxies: IpRanges;
}

export interface ListenAddress {
  host: string;
  port: number;
  /** Encrypted from the first byte (RFC 8314 3.3), instead of by STARTTLS. Needs a certificate. */
  implicitTls?: boolean;
}

export interface SmtpServiceProtocol<S extends SmtpSession> {
  options: SMTPServerOptions;
  /** From the connection to the greeting. */
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

const SHUTTING_DOWN = '4.3.2 The server is closing. Try again in a moment.';
/** For clients to close their side after 421. */
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
    // A client that breaks its connection is no fault of ours, and one of the server's is told by listen.
    this.#server.on('error', (error) => parts.log.debug({ err: error }, 'an SMTP client is gone'));
  }

  /** Throws what the socket says when the port cannot be had. */
  async listen({ implicitTls = false, ...place }: ListenAddress): Promise<AddressInfo> {
    const listener = new TcpListener({
      ...this.#parts,
      ...place,
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

  /** Takes up a certificate that was renewed; one that cannot be used leaves the old one in place. */
  async renewCertificate(): Promise<void> {
    if (!this.#files || !this.#certificate) return;
    const fresh = await readCertificate(this.#files);
    if (fresh.cert === this.#certificate.cert && fresh.key === this.#certificate.key) return;
    this.#certificate = fresh;
    this.#server.updateSecureContext(fresh);
    this.#parts.log.info(`${this.#parts.label} has a new certificate`);
  }

  /** Newcomers are sent away, messages in hand are finished, then the ports are closed. */
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

  /** One message: `work` says when its last byte is there, and resolves with the words after 250. */
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

  /** As the HTTP door does: our own faults with all we know, a missing database in a line. */
  logError(error: unknown, session?: string): void {
    const { log, label: title } = this.#parts;
    if (
      error instanceof RefusedError ||
      error instanceof SmtpReplyError ||
      isClientDisconnect(error)
    )
      return;
    if (isStorageGone(error)) log.warn({ err: error, session }, 'the database did not answer');
    else log.error({ err: error, session }, `a message failed at ${title}`);
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

/** Not the port is taken: there is no such address here. */
export function isHostError(error: unknown): boolean {
  const { code = '' } = error as NodeJS.ErrnoException;
  return ['EADDRNOTAVAIL', 'ENOTFOUND', 'EAI_AGAIN'].includes(code);
}

/** Faults of a port that the operator can mend; undefined for any other. */
export function explainListenError(
  error: unknown,
  { host, port }: { host: string; port: number | undefined },
  variables: { host: string; port: string },
): string | undefined {
  switch ((error as NodeJS.ErrnoException).code) {
    case 'EADDRINUSE':
      return `Another program listens on ${host}:${port}. Stop it, set ${variables.port}, or set it to off.`;
    case 'EACCES':
      return `This user may not listen on ${host}:${port}. Set ${variables.port} to one above 1023.`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `${variables.host} ${host} is not an address of this machine.`;
    default:
      return undefined;
  }
}

/** The client went away inside its message. */
function isClientDisconnect(error: unknown): boolean {
  const code = (error as { code?: unknown } | undefined)?.code;
  return code === 'ECONNECTION' || code === 'ERR_STREAM_PREMATURE_CLOSE';
}
