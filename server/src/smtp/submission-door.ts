import type { AddressInfo } from 'node:net';
import type { Registry } from 'prom-client';
import type { SMTPServerOptions, SMTPServerSession } from 'smtp-server';
import type { Caller } from '../accounts/caller.ts';
import { RefusedError } from '../lib/refused-error.ts';
import { parseMailbox } from '../mail/address.ts';
import { type AcceptParts, acceptData, type Desk } from './accept-data.ts';
import { type AdmissionParts, admitMessage, login, Visit } from './admission.ts';
import { type Certificate, type CertificateFiles, readCertificate } from './certificate.ts';
import { DOOR_LIMITS, type SmtpDoorLimits } from './door-limits.ts';
import { MailReader } from './mail-reader.ts';
import { createLoginMetrics, createPortMetrics, type LoginMetrics } from './metrics.ts';
import { disabledCommands, protocolOptions } from './protocol-server.ts';
import { type Data, HeldBytes } from './read-data.ts';
import { loginReplyTo, SmtpReply } from './reply.ts';
import { type SmtpPlace, SmtpPort, type SmtpPortParts } from './smtp-port.ts';
import { SubmissionSession } from './submission-session.ts';
import { WrongKeys } from './wrong-keys.ts';

/**
 * The door for programs that speak SMTP (RFC 6409). A client shows an API key as its password and
 * hands in mail; each message walks the path of `POST /transactional/send`, and `250` to its final
 * dot means what `202` means there: committed. Protocol and limits are here, meaning is not.
 */

export interface SubmissionDoorParts
  extends AcceptParts,
    Omit<AdmissionParts, 'wrongKeys'>,
    Omit<SmtpPortParts, 'title'> {
  registry: Registry;
  /** What the server calls itself. */
  name: string;
  certificate: CertificateFiles | undefined;
  allowPlaintext: boolean;
  messageBytesMax: number;
  recipientsMax: number;
  /** What messages in hand may hold of memory together. */
  heldBytesMax: number;
  limits?: Partial<SmtpDoorLimits>;
}

export class SubmissionDoor {
  readonly #parts: SubmissionDoorParts;
  readonly #port: SmtpPort<SubmissionSession>;
  /** Who hands in the message that a session is about. */
  readonly #callers = new WeakMap<SMTPServerSession, Caller>();
  readonly #desk: Desk;
  readonly #admission: AdmissionParts;
  readonly #logins: LoginMetrics;

  static async open(parts: SubmissionDoorParts): Promise<SubmissionDoor> {
    const certificate = parts.certificate && (await readCertificate(parts.certificate));
    return new SubmissionDoor(parts, certificate);
  }

  private constructor(parts: SubmissionDoorParts, certificate: Certificate | undefined) {
    this.#parts = parts;
    const limits = { ...DOOR_LIMITS, ...parts.limits };
    this.#desk = {
      held: new HeldBytes(parts.heldBytesMax),
      reader: new MailReader(parts.clock),
    };
    this.#admission = { ...parts, wrongKeys: new WrongKeys(parts.clock, limits.wrongKeyMs) };
    this.#logins = createLoginMetrics(parts.registry);
    const disabled = disabledCommands(certificate);
    this.#port = new SmtpPort(
      { ...parts, title: 'the submission port' },
      {
        options: {
          ...protocolOptions({ ...parts, ...limits }, certificate),
          // RFC 8314 4.1, RFC 8996: nothing older carries a key.
          minVersion: 'TLSv1.2',
          ...AUTH,
          disabledCommands: disabled,
          ...this.#handlers(),
        },
        arrivalMs: limits.arrivalMs,
        certificate,
        certificateFiles: parts.certificate,
        metrics: (connections) =>
          createPortMetrics(parts.registry, 'smtp', 'the submission port', connections),
        newSession: (rules, server, socket, origin) =>
          new SubmissionSession(
            server,
            socket,
            {
              ...rules,
              times: limits,
              loginMs: limits.loginMs,
              disabledCommands: disabled,
              plaintextAllowed: ({ way }) => parts.allowPlaintext || way.every(limits.isLocal),
            },
            origin,
          ),
      },
    );
  }

  /** Throws what the socket says when the port cannot be had. */
  listen(place: SmtpPlace): Promise<AddressInfo> {
    return this.#port.listen(place);
  }

  renewCertificate(): Promise<void> {
    return this.#port.renewCertificate();
  }

  async drain(limitMs: number): Promise<void> {
    await this.#port.drain(limitMs);
    await this.#desk.reader.stop();
  }

  #handlers(): Pick<SMTPServerOptions, 'onAuth' | 'onMailFrom' | 'onRcptTo' | 'onData'> {
    return {
      onAuth: (auth, session, callback) => {
        this.#login(auth.password ?? '', session).then(
          (visit) => callback(null, { user: visit }),
          (error) => {
            callback(loginReplyTo(error));
            this.#port.session(session.id)?.loginFailed();
          },
        );
      },
      onMailFrom: (_address, session, callback) => {
        this.#admit(session).then(
          () => callback(),
          (error) => callback(this.#port.reply(error, session.id)),
        );
      },
      onRcptTo: ({ address }, _session, callback) => {
        const parsed = parseMailbox(address);
        callback(parsed.ok ? null : new SmtpReply(553, '5.1.3', parsed.detail));
      },
      onData: (stream, session, callback) => {
        this.#port
          .take(session.id, callback, (received) => this.#accept(stream, session, received))
          .catch((error) => this.#port.tell(error, session.id));
      },
    };
  }

  async #login(key: string, { remoteAddress: ip }: SMTPServerSession): Promise<Visit> {
    try {
      const visit = await login(this.#admission, key, ip);
      this.#logins.login('accepted');
      return visit;
    } catch (error) {
      const { log } = this.#parts;
      const refused = error instanceof RefusedError;
      this.#logins.login(refused ? 'refused' : 'failed');
      if (refused) log.info({ ip, code: error.code }, 'a key was refused at the submission port');
      else this.#port.tell(error);
      throw error;
    }
  }

  async #admit(session: SMTPServerSession): Promise<void> {
    const visit: unknown = session.user;
    if (!(visit instanceof Visit)) throw new SmtpReply(530, '5.7.0', 'Authenticate first.');
    this.#callers.set(session, await admitMessage(this.#admission, visit));
  }

  async #accept(stream: Data, session: SMTPServerSession, received: () => void): Promise<string> {
    const caller = this.#callers.get(session);
    if (!caller) throw new SmtpReply(530, '5.7.0', 'Authenticate first.');
    const recipients = session.envelope.rcptTo.map(({ address }) => address);
    const id = await acceptData(this.#parts, this.#desk, stream, caller, recipients, received);
    return `2.0.0 Accepted as ${id}`;
  }
}

const AUTH: SMTPServerOptions = {
  authMethods: ['PLAIN', 'LOGIN'],
  authRequiredMessage: '5.7.0 Authenticate first: any user name, and an API key as the password.',
  // The session decides itself where a key may pass.
  allowInsecureAuth: true,
};
