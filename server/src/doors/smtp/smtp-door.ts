import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { Registry } from 'prom-client';
import type { SMTPServerOptions, SMTPServerSession } from 'smtp-server';
import type { Caller } from '../../accounts/caller.ts';
import { type Clock, pause } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { RefusedError } from '../../base/refused-error.ts';
import { parseMailbox } from '../../mail/address.ts';
import { isStorageGone } from '../../storage/storage-gone.ts';
import { type AcceptParts, acceptData, type Desk } from './accept-data.ts';
import { type AdmissionParts, admitMessage, login, Visit } from './admission.ts';
import { type Certificate, type CertificateFiles, readCertificate } from './certificate.ts';
import { Crowd } from './crowd.ts';
import { DOOR_LIMITS, type SmtpDoorLimits } from './door-limits.ts';
import { MailReader } from './mail-reader.ts';
import { createSmtpMetrics, type SmtpMetrics } from './metrics.ts';
import { disabledCommands, ProtocolServer, protocolOptions } from './protocol-server.ts';
import { type Data, HeldBytes } from './read-data.ts';
import { loginReplyTo, replyTo, SmtpReply } from './reply.ts';
import type { SubmissionSession } from './session.ts';
import { WrongKeys } from './wrong-keys.ts';

/**
 * The door for programs that speak SMTP (RFC 6409). A client shows an API key as its password and
 * hands in mail; each message walks the path of `POST /transactional/send`, and `250` to its final
 * dot means what `202` means there: committed. Protocol and limits are here, meaning is not.
 */

export interface SmtpDoorParts extends AcceptParts, Omit<AdmissionParts, 'wrongKeys'> {
  clock: Clock;
  log: Log;
  registry: Registry;
  /** What the server calls itself. */
  name: string;
  host: string;
  port: number;
  certificate: CertificateFiles | undefined;
  allowPlaintext: boolean;
  connectionsMax: number;
  connectionsPerSource: number;
  messageBytesMax: number;
  recipientsMax: number;
  /** What messages in hand may hold of memory together. */
  heldBytesMax: number;
  limits?: Partial<SmtpDoorLimits>;
}

export class SmtpDoor {
  readonly #parts: SmtpDoorParts;
  readonly #server: ProtocolServer;
  /** Who hands in the message that a session is about. */
  readonly #callers = new WeakMap<SMTPServerSession, Caller>();
  readonly #sessions = new Map<string, SubmissionSession>();
  readonly #crowd: Crowd;
  readonly #desk: Desk;
  readonly #admission: AdmissionParts;
  readonly #metrics: SmtpMetrics;
  #certificate: Certificate | undefined;
  #draining = false;
  #empty: (() => void) | undefined;

  static async open(parts: SmtpDoorParts): Promise<SmtpDoor> {
    const certificate = parts.certificate && (await readCertificate(parts.certificate));
    return new SmtpDoor(parts, certificate);
  }

  private constructor(parts: SmtpDoorParts, certificate: Certificate | undefined) {
    this.#parts = parts;
    this.#certificate = certificate;
    const limits = { ...DOOR_LIMITS, ...parts.limits };
    this.#crowd = new Crowd(parts.connectionsMax, parts.connectionsPerSource);
    this.#desk = {
      held: new HeldBytes(parts.heldBytesMax),
      reader: new MailReader(parts.clock),
    };
    this.#admission = { ...parts, wrongKeys: new WrongKeys(parts.clock, limits.wrongKeyMs) };
    this.#metrics = createSmtpMetrics(parts.registry, () => this.#crowd.size);
    const options = protocolOptions({ ...parts, ...limits }, certificate);
    this.#server = new ProtocolServer(
      { ...options, ...this.#handlers() },
      {
        clock: parts.clock,
        times: limits,
        disabledCommands: disabledCommands(certificate),
        offersTls: certificate !== undefined,
        plaintextAllowed: (ip) => parts.allowPlaintext || limits.isLocal(ip),
        enter: (session) => this.#enter(session),
        left: (session) => this.#left(session),
      },
    );
    // A client that breaks its connection is no fault of ours, and one of the server's is told by listen.
    this.#server.on('error', (error) => parts.log.debug({ err: error }, 'an SMTP client is gone'));
  }

  /** Throws what the socket says when the port cannot be had. */
  async listen(): Promise<number> {
    const { host, port } = this.#parts;
    await once(this.#server.listen({ host, port }), 'listening');
    return (this.#server.server.address() as AddressInfo).port;
  }

  get offersTls(): boolean {
    return this.#certificate !== undefined;
  }

  /** Takes up a certificate that was renewed; one that cannot be used leaves the old one in place. */
  async renewCertificate(): Promise<void> {
    const { certificate: files } = this.#parts;
    if (!files || !this.#certificate) return;
    const fresh = await readCertificate(files);
    if (fresh.cert === this.#certificate.cert && fresh.key === this.#certificate.key) return;
    this.#certificate = fresh;
    this.#server.updateSecureContext(fresh);
    this.#parts.log.info('the submission port has a new certificate');
  }

  /** Newcomers are sent away, messages in hand are finished, then the port is closed. */
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
    await new Promise<void>((resolve) => this.#server.close(resolve));
    await this.#desk.reader.stop();
  }

  #handlers(): Pick<SMTPServerOptions, 'onAuth' | 'onMailFrom' | 'onRcptTo' | 'onData'> {
    return {
      onAuth: (auth, session, callback) => {
        this.#login(auth.password ?? '', session).then(
          (visit) => callback(null, { user: visit }),
          (error) => {
            callback(loginReplyTo(error));
            this.#sessions.get(session.id)?.loginFailed();
          },
        );
      },
      onMailFrom: (_address, session, callback) => {
        this.#admit(session).then(
          () => callback(),
          (error) => callback(this.#reply(error, session)),
        );
      },
      onRcptTo: ({ address }, _session, callback) => {
        const parsed = parseMailbox(address);
        callback(parsed.ok ? null : new SmtpReply(553, '5.1.3', parsed.detail));
      },
      onData: (stream, session, callback) => {
        this.#take(stream, session, callback).catch((error) => this.#tell(error, session.id));
      },
    };
  }

  #enter(session: SubmissionSession): string | undefined {
    const refusal = this.#draining ? CLOSING : this.#crowd.enter(session.remoteAddress);
    if (refusal === undefined) this.#sessions.set(session.id, session);
    else this.#metrics.connectionRefused();
    return refusal;
  }

  #left(session: SubmissionSession): void {
    this.#crowd.leave(session.remoteAddress);
    this.#sessions.delete(session.id);
    this.#tellWhenIdle();
  }

  #tellWhenIdle(): void {
    if ([...this.#sessions.values()].every((one) => !one.isWorking)) this.#empty?.();
  }

  async #login(key: string, { remoteAddress: ip }: SMTPServerSession): Promise<Visit> {
    try {
      const visit = await login(this.#admission, key, ip);
      this.#metrics.login('accepted');
      return visit;
    } catch (error) {
      const { log } = this.#parts;
      const refused = error instanceof RefusedError;
      this.#metrics.login(refused ? 'refused' : 'failed');
      if (refused) log.info({ ip, code: error.code }, 'a key was refused at the submission port');
      else this.#tell(error);
      throw error;
    }
  }

  async #admit(session: SMTPServerSession): Promise<void> {
    const visit: unknown = session.user;
    if (!(visit instanceof Visit)) throw new SmtpReply(530, '5.7.0', 'Authenticate first.');
    this.#callers.set(session, await admitMessage(this.#admission, visit));
  }

  async #take(
    stream: Data,
    session: SMTPServerSession,
    callback: (error?: Error | null, message?: string) => void,
  ): Promise<void> {
    const connection = this.#sessions.get(session.id);
    const caller = this.#callers.get(session);
    const { clock } = this.#parts;
    let beganAtMs = clock.now();
    const received = (): void => {
      beganAtMs = clock.now();
      connection?.dataEnded();
    };
    connection?.workBegins();
    let id: string | undefined;
    let refusal: SmtpReply | undefined;
    try {
      if (!caller) throw new SmtpReply(530, '5.7.0', 'Authenticate first.');
      const recipients = session.envelope.rcptTo.map(({ address }) => address);
      id = await acceptData(this.#parts, this.#desk, stream, caller, recipients, received);
    } catch (error) {
      refusal = this.#reply(error, session);
    }
    if (refusal) callback(refusal);
    else callback(null, `2.0.0 Accepted as ${id}`);
    this.#metrics.message(refusal?.responseCode ?? 250, clock.now() - beganAtMs);
    connection?.workEnded();
    this.#tellWhenIdle();
  }

  #reply(error: unknown, { id }: SMTPServerSession): SmtpReply {
    this.#tell(error, id);
    return replyTo(error);
  }

  /** As the HTTP door does: our own faults with all we know, a missing database in a line. */
  #tell(error: unknown, session?: string): void {
    const { log } = this.#parts;
    if (error instanceof RefusedError || error instanceof SmtpReply || isGone(error)) return;
    if (isStorageGone(error)) log.warn({ err: error, session }, 'the database did not answer');
    else log.error({ err: error, session }, 'a submission failed');
  }
}

const CLOSING = '4.3.2 The server is closing. Try again in a moment.';

/** The client went away inside its message. */
function isGone(error: unknown): boolean {
  const code = (error as { code?: unknown } | undefined)?.code;
  return code === 'ECONNECTION' || code === 'ERR_STREAM_PREMATURE_CLOSE';
}
