import type { AddressInfo } from 'node:net';
import type { SMTPServerOptions } from 'smtp-server';
import type { Networks } from '../accounts/networks.ts';
import { isStorageGone } from '../db/storage-gone.ts';
import { type Clock, pause } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import { RefusedError } from '../lib/refused-error.ts';
import { type Certificate, type CertificateFiles, readCertificate } from './certificate.ts';
import { Crowd } from './crowd.ts';
import { Listener } from './listener.ts';
import type { PortMetrics } from './metrics.ts';
import { type NewSession, ProtocolServer } from './protocol-server.ts';
import { replyTo, SmtpReply } from './reply.ts';
import type { DoorSession, SessionRules } from './session.ts';

/**
 * A port on which SMTP is spoken, whatever for, and perhaps a second one for TLS: who is connected
 * and how many, the certificate and its renewal, one message after the other with its reply, and a
 * close that finishes what is in hand.
 */

export interface SmtpPortParts {
  clock: Clock;
  log: Log;
  /** For the log: `the submission port`. */
  title: string;
  connectionsMax: number;
  connectionsPerSource: number;
  trustedProxies: Networks;
}

export interface SmtpPlace {
  host: string;
  port: number;
  /** Encrypted from the first byte (RFC 8314 3.3), instead of by STARTTLS. Needs a certificate. */
  implicitTls?: boolean;
}

export interface SmtpPortProtocol<S extends DoorSession> {
  options: SMTPServerOptions;
  /** From the connection to the greeting. */
  arrivalMs: number;
  certificate: Certificate | undefined;
  certificateFiles: CertificateFiles | undefined;
  metrics: (connections: () => number) => PortMetrics;
  newSession(
    rules: Pick<SessionRules, 'clock' | 'enter' | 'left' | 'offersTls'>,
    ...made: Parameters<NewSession>
  ): S;
}

type DataCallback = (error?: Error | null, message?: string) => void;

const CLOSING = '4.3.2 The server is closing. Try again in a moment.';
/** For clients to close their side after 421. */
const GOODBYE_MS = 1_000;

export class SmtpPort<S extends DoorSession> {
  readonly #parts: SmtpPortParts;
  readonly #server: ProtocolServer;
  readonly #listeners: Listener[] = [];
  readonly #arrivalMs: number;
  readonly #files: CertificateFiles | undefined;
  readonly #sessions = new Map<string, S>();
  readonly #crowd: Crowd;
  readonly #metrics: PortMetrics;
  #certificate: Certificate | undefined;
  #draining = false;
  #empty: (() => void) | undefined;

  constructor(parts: SmtpPortParts, protocol: SmtpPortProtocol<S>) {
    this.#parts = parts;
    this.#certificate = protocol.certificate;
    this.#files = protocol.certificateFiles;
    this.#arrivalMs = protocol.arrivalMs;
    this.#crowd = new Crowd(parts.connectionsMax, parts.connectionsPerSource);
    this.#metrics = protocol.metrics(() => this.#crowd.size);
    const rules = {
      clock: parts.clock,
      offersTls: protocol.certificate !== undefined,
      enter: (session: DoorSession) => this.#enter(session as S),
      left: (session: DoorSession) => this.#left(session),
    };
    this.#server = new ProtocolServer(protocol.options, (...made) =>
      protocol.newSession(rules, ...made),
    );
    // A client that breaks its connection is no fault of ours, and one of the server's is told by listen.
    this.#server.on('error', (error) => parts.log.debug({ err: error }, 'an SMTP client is gone'));
  }

  /** Throws what the socket says when the port cannot be had. */
  async listen({ implicitTls = false, ...place }: SmtpPlace): Promise<AddressInfo> {
    const listener = new Listener({
      ...this.#parts,
      ...place,
      arrivalMs: this.#arrivalMs,
      secureContext: implicitTls ? () => this.#server.context : undefined,
      arrived: (socket, origin) => this.#server.receive(socket, origin),
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
    this.#parts.log.info(`${this.#parts.title} has a new certificate`);
  }

  /** Newcomers are sent away, messages in hand are finished, then the ports are closed. */
  async drain(limitMs: number): Promise<void> {
    this.#draining = true;
    const { clock } = this.#parts;
    const working = [...this.#sessions.values()].some((session) => session.isWorking);
    for (const session of this.#sessions.values()) session.leave(CLOSING);
    if (working) {
      const finished = new AbortController();
      this.#empty = () => finished.abort();
      await pause(clock, limitMs, finished.signal);
    }
    const goodbye = new AbortController();
    const closed = this.#listeners.map((listener) => listener.close());
    void Promise.all(closed).then(() => goodbye.abort());
    await pause(clock, GOODBYE_MS, goodbye.signal);
    for (const session of this.#server.connections) (session as S).cutOff();
  }

  /** One message: `work` says when its last byte is there, and resolves with the words after 250. */
  async take(
    sessionId: string,
    callback: DataCallback,
    work: (received: () => void) => Promise<string>,
  ): Promise<void> {
    const session = this.#sessions.get(sessionId);
    const { clock } = this.#parts;
    let beganAtMs = clock.now();
    session?.workBegins();
    let words: string | undefined;
    let refusal: SmtpReply | undefined;
    try {
      words = await work(() => {
        beganAtMs = clock.now();
        session?.dataEnded();
      });
    } catch (error) {
      refusal = this.reply(error, sessionId);
    }
    if (refusal) callback(refusal);
    else callback(null, words);
    this.#metrics.message(refusal?.responseCode ?? 250, clock.now() - beganAtMs);
    session?.workEnded();
    this.#tellWhenIdle();
  }

  reply(error: unknown, sessionId: string): SmtpReply {
    this.tell(error, sessionId);
    return replyTo(error);
  }

  /** As the HTTP door does: our own faults with all we know, a missing database in a line. */
  tell(error: unknown, session?: string): void {
    const { log, title } = this.#parts;
    if (error instanceof RefusedError || error instanceof SmtpReply || isGone(error)) return;
    if (isStorageGone(error)) log.warn({ err: error, session }, 'the database did not answer');
    else log.error({ err: error, session }, `a message failed at ${title}`);
  }

  #enter(session: S): string | undefined {
    const refusal = this.#draining ? CLOSING : this.#crowd.enter(session.remoteAddress);
    if (refusal === undefined) this.#sessions.set(session.id, session);
    else this.#metrics.connectionRefused();
    return refusal;
  }

  #left(session: DoorSession): void {
    this.#crowd.leave(session.remoteAddress);
    this.#sessions.delete(session.id);
    this.#tellWhenIdle();
  }

  #tellWhenIdle(): void {
    if ([...this.#sessions.values()].every((one) => !one.isWorking)) this.#empty?.();
  }
}

/** Not the port is taken: there is no such address here. */
export function isHostFault(error: unknown): boolean {
  const { code = '' } = error as NodeJS.ErrnoException;
  return ['EADDRNOTAVAIL', 'ENOTFOUND', 'EAI_AGAIN'].includes(code);
}

/** Faults of a port that the operator can mend; undefined for any other. */
export function portFault(
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
function isGone(error: unknown): boolean {
  const code = (error as { code?: unknown } | undefined)?.code;
  return code === 'ECONNECTION' || code === 'ERR_STREAM_PREMATURE_CLOSE';
}
