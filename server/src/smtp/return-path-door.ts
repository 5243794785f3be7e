import type { AddressInfo } from 'node:net';
import type { Registry } from 'prom-client';
import type { SMTPServerOptions, SMTPServerSession } from 'smtp-server';
import type { ReportAddress, ReportOutcome, Reports } from '../bounces/reports.ts';
import { type Certificate, type CertificateFiles, readCertificate } from './certificate.ts';
import { createPortMetrics, createReportMetrics, type ReportMetrics } from './metrics.ts';
import { disabledCommands, protocolOptions } from './protocol-server.ts';
import { type Data, HeldBytes, refuseSmuggling, withData } from './read-data.ts';
import { SmtpReply } from './reply.ts';
import { DoorSession, type SessionTimes } from './session.ts';
import { type SmtpPlace, SmtpPort, type SmtpPortParts } from './smtp-port.ts';

/**
 * The door for what comes back: servers of the world bring bounces and complaints (RFC 5321, as an
 * MX). Nobody logs in and nothing is passed on: a recipient is a return path that we wrote, or the
 * address for complaints, and anybody else is refused by name. `250` to the final dot means that what
 * the report says is committed; when it cannot be, the sender is asked to come again.
 */

export interface ReturnPathDoorParts extends Omit<SmtpPortParts, 'title'> {
  registry: Registry;
  reports: Pick<Reports, 'find' | 'take'>;
  /** What the server calls itself. */
  name: string;
  /** Where people find whoever runs it. */
  baseUrl: string;
  certificate: CertificateFiles | undefined;
  /** The largest mail we send: some servers return all of it. */
  sentBytesMax: number;
  limits?: Partial<ReturnPathLimits>;
}

export interface ReturnPathLimits extends SessionTimes {
  /** From the connection to the greeting, where something comes before it. */
  arrivalMs: number;
  /** Without a word from the client, between commands (RFC 5321 4.5.3.2.7). */
  idleMs: number;
  /** Of a report only its beginning is kept: codes and header come before what is returned. */
  beginningBytesMax: number;
  /** What reports in hand may hold of memory together. */
  heldBytesMax: number;
}

export const RETURN_PATH_LIMITS: ReturnPathLimits = {
  arrivalMs: 20_000,
  dataMs: 300_000,
  lifeMs: 900_000,
  idleMs: 120_000,
  beginningBytesMax: 256 * 1024,
  heldBytesMax: 64 * 1024 * 1024,
};

/** What a report adds to the mail that it returns. */
const REPORT_BYTES_MAX = 1024 * 1024;
/** RFC 5321 4.5.3.1.8. */
const RECIPIENTS_MAX = 100;
/** Whoever tries more addresses than this looks for mailboxes. */
const REFUSALS_MAX = 10;

export class ReturnPathDoor {
  readonly #parts: ReturnPathDoorParts;
  readonly #limits: ReturnPathLimits;
  readonly #port: SmtpPort<DoorSession>;
  readonly #held: HeldBytes;
  readonly #metrics: ReportMetrics;
  /** The addresses of the mail that a session is about, by how they were written. */
  readonly #found = new WeakMap<SMTPServerSession, Map<string, ReportAddress>>();
  readonly #refusals = new WeakMap<SMTPServerSession, number>();

  static async open(parts: ReturnPathDoorParts): Promise<ReturnPathDoor> {
    const certificate = parts.certificate && (await readCertificate(parts.certificate));
    return new ReturnPathDoor(parts, certificate);
  }

  private constructor(parts: ReturnPathDoorParts, certificate: Certificate | undefined) {
    this.#parts = parts;
    const limits = { ...RETURN_PATH_LIMITS, ...parts.limits };
    this.#limits = limits;
    this.#held = new HeldBytes(limits.heldBytesMax);
    this.#metrics = createReportMetrics(parts.registry);
    const disabled = disabledCommands(certificate, ['AUTH']);
    const settings = {
      name: parts.name,
      messageBytesMax: parts.sentBytesMax + REPORT_BYTES_MAX,
      recipientsMax: RECIPIENTS_MAX,
      idleMs: limits.idleMs,
    };
    this.#port = new SmtpPort(
      { ...parts, title: 'the port of the return path' },
      {
        options: {
          ...protocolOptions(settings, certificate),
          authOptional: true,
          disabledCommands: disabled,
          ...this.#handlers(),
        },
        arrivalMs: limits.arrivalMs,
        certificate,
        certificateFiles: parts.certificate,
        metrics: (connections) =>
          createPortMetrics(
            parts.registry,
            'return_path',
            'the port of the return path',
            connections,
          ),
        newSession: (rules, server, socket, origin) =>
          new DoorSession(
            server,
            socket,
            { ...rules, times: limits, disabledCommands: disabled },
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

  drain(limitMs: number): Promise<void> {
    return this.#port.drain(limitMs);
  }

  #handlers(): Pick<SMTPServerOptions, 'onMailFrom' | 'onRcptTo' | 'onData'> {
    return {
      onMailFrom: (_address, session, callback) => {
        this.#found.set(session, new Map());
        callback();
      },
      onRcptTo: ({ address }, session, callback) => {
        this.#recognise(address, session).then(
          () => callback(),
          (error) => {
            callback(this.#port.reply(error, session.id));
            this.#countRefusal(error, session);
          },
        );
      },
      onData: (stream, session, callback) => {
        this.#port
          .take(session.id, callback, (received) => this.#take(stream, session, received))
          .catch((error) => this.#port.tell(error, session.id));
      },
    };
  }

  async #recognise(address: string, session: SMTPServerSession): Promise<void> {
    const found = await this.#parts.reports.find(address);
    if (found) {
      this.#found.get(session)?.set(address.toLowerCase(), found);
      return;
    }
    this.#metrics.recipientRefused();
    // RFC 5321 4.5.1 wants mail to these read by a person, and no person reads mail here.
    const forPeople = /^(postmaster|abuse)(@|$)/i.test(address);
    throw new SmtpReply(
      550,
      '5.1.1',
      forPeople
        ? `Nobody reads mail here: write to whoever runs ${this.#parts.baseUrl}`
        : 'There is no such mailbox. This server takes reports about its own mail, and nothing else.',
    );
  }

  /** A mailbox that is not there, and not a database that is away. */
  #countRefusal(error: unknown, session: SMTPServerSession): void {
    if (!(error instanceof SmtpReply)) return;
    const refusals = (this.#refusals.get(session) ?? 0) + 1;
    this.#refusals.set(session, refusals);
    if (refusals < REFUSALS_MAX) return;
    this.#port.session(session.id)?.leave('4.7.0 Too many addresses that are none of ours.');
  }

  #take(stream: Data, session: SMTPServerSession, received: () => void): Promise<string> {
    const { mailFrom } = session.envelope;
    const from = mailFrom ? mailFrom.address : '';
    const to = [...(this.#found.get(session)?.values() ?? [])];
    return withData(
      stream,
      this.#held.hold('reports'),
      async (data) => {
        received();
        refuseSmuggling(data);
        const outcomes = await this.#parts.reports.take(data, { from, to });
        for (const outcome of outcomes) this.#metrics.report(outcome);
        return wordsFor(outcomes);
      },
      this.#limits.beginningBytesMax,
    );
  }
}

/** Where several recipients fare differently, the one that needs the sender decides. */
function wordsFor(outcomes: readonly ReportOutcome[]): string {
  if (outcomes.includes('not_yet')) {
    throw new SmtpReply(
      451,
      '4.3.0',
      'The delivery that this is about has not ended yet. Send it again later.',
    );
  }
  if (outcomes.includes('not_a_report')) {
    throw new SmtpReply(
      550,
      '5.7.1',
      'Only reports are taken here. Nobody would read your mail: write to the address in From or Reply-To.',
    );
  }
  return '2.0.0 Taken';
}
