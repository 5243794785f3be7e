import type { AddressInfo } from 'node:net';
import type { Registry } from 'prom-client';
import type { SMTPServerOptions, SMTPServerSession } from 'smtp-server';
import type { ReportAddress, ReportOutcome, InboundReports } from '../bounces/inbound-reports.ts';
import { SmtpReplyError } from './error-replies.ts';
import { disabledCommands, protocolOptions } from './protocol-server.ts';
import {
  type DataStream,
  MemoryBudget,
  rejectSmuggling,
  withReceivedData,
} from './receive-data.ts';
import {
  createReturnPathMetrics,
  createSmtpServiceMetrics,
  type ReturnPathMetrics,
} from './smtp-metrics.ts';
import { type ListenAddress, SmtpService, type SmtpServiceParts } from './smtp-service.ts';
import { type SessionTimeouts, SmtpSession } from './smtp-session.ts';
import { type Certificate, type CertificateFiles, readCertificate } from './tls-certificate.ts';

/**
 * The door for what comes back: servers of the world bring bounces and complaints (RFC 5321, as an
 * MX). Nobody logs in and nothing is passed on: a recipient is a return path that we wrote, or the
 * address for complaints, and anybody else is refused by name. `250` to the final dot means that what
 * the report says is committed; when it cannot be, the sender is asked to come again.
 */

export interface ReturnPathListenerParts extends Omit<SmtpServiceParts, 'label'> {
  registry: Registry;
  reports: Pick<InboundReports, 'resolveAddress' | 'process'>;
  /** What the server calls itself. */
  hostname: string;
  /** Where people find whoever runs it. */
  baseUrl: string;
  certificate: CertificateFiles | undefined;
  /** The largest mail we send: some servers return all of it. */
  sentBytesMax: number;
  limits?: Partial<ReturnPathLimits>;
}

export interface ReturnPathLimits extends SessionTimeouts {
  /** From the connection to the greeting, where something comes before it. */
  handshakeMs: number;
  /** Without a word from the client, between commands (RFC 5321 4.5.3.2.7). */
  idleMs: number;
  /** Of a report only its beginning is kept: codes and header come before what is returned. */
  reportBytesKept: number;
  /** What reports in hand may hold of memory together. */
  memoryBytesMax: number;
}

export const RETURN_PATH_LIMITS: ReturnPathLimits = {
  handshakeMs: 20_000,
  dataMs: 300_000,
  sessionMs: 900_000,
  idleMs: 120_000,
  reportBytesKept: 256 * 1024,
  memoryBytesMax: 64 * 1024 * 1024,
};

/** What a report adds to the mail that it returns. */
const REPORT_OVERHEAD_BYTES = 1024 * 1024;
/** RFC 5321 4.5.3.1.8. */
const RECIPIENTS_MAX = 100;
/** Whoever tries more addresses than this looks for mailboxes. */
const UNKNOWN_RECIPIENTS_MAX = 10;

export class ReturnPathListener {
  readonly #parts: ReturnPathListenerParts;
  readonly #limits: ReturnPathLimits;
  readonly #service: SmtpService<SmtpSession>;
  readonly #memory: MemoryBudget;
  readonly #metrics: ReturnPathMetrics;
  /** The addresses of the mail that a session is about, by how they were written. */
  readonly #reportAddresses = new WeakMap<SMTPServerSession, Map<string, ReportAddress>>();
  readonly #unknownRecipients = new WeakMap<SMTPServerSession, number>();

  static async open(parts: ReturnPathListenerParts): Promise<ReturnPathListener> {
    const certificate = parts.certificate && (await readCertificate(parts.certificate));
    return new ReturnPathListener(parts, certificate);
  }

  private constructor(parts: ReturnPathListenerParts, certificate: Certificate | undefined) {
    this.#parts = parts;
    const limits = { ...RETURN_PATH_LIMITS, ...parts.limits };
    this.#limits = limits;
    this.#memory = new MemoryBudget(limits.memoryBytesMax);
    this.#metrics = createReturnPathMetrics(parts.registry);
    const disabled = disabledCommands(certificate, ['AUTH']);
    const settings = {
      hostname: parts.hostname,
      messageBytesMax: parts.sentBytesMax + REPORT_OVERHEAD_BYTES,
      recipientsMax: RECIPIENTS_MAX,
      idleMs: limits.idleMs,
    };
    this.#service = new SmtpService(
      { ...parts, label: 'the port of the return path' },
      {
        options: {
          ...protocolOptions(settings, certificate),
          authOptional: true,
          disabledCommands: disabled,
          ...this.#handlers(),
        },
        handshakeMs: limits.handshakeMs,
        certificate,
        certificateFiles: parts.certificate,
        metrics: (connections) =>
          createSmtpServiceMetrics(
            parts.registry,
            'return_path',
            'the port of the return path',
            connections,
          ),
        newSession: (rules, server, socket, origin) =>
          new SmtpSession(
            server,
            socket,
            { ...rules, timeouts: limits, disabledCommands: disabled },
            origin,
          ),
      },
    );
  }

  /** Throws what the socket says when the port cannot be had. */
  listen(place: ListenAddress): Promise<AddressInfo> {
    return this.#service.listen(place);
  }

  renewCertificate(): Promise<void> {
    return this.#service.renewCertificate();
  }

  drain(limitMs: number): Promise<void> {
    return this.#service.drain(limitMs);
  }

  #handlers(): Pick<SMTPServerOptions, 'onMailFrom' | 'onRcptTo' | 'onData'> {
    return {
      onMailFrom: (_address, session, callback) => {
        this.#reportAddresses.set(session, new Map());
        callback();
      },
      onRcptTo: ({ address }, session, callback) => {
        this.#resolveRecipient(address, session).then(
          () => callback(),
          (error) => {
            callback(this.#service.replyForError(error, session.id));
            this.#countUnknownRecipient(error, session);
          },
        );
      },
      onData: (stream, session, callback) => {
        this.#service
          .processMessage(session.id, callback, (received) =>
            this.#acceptReport(stream, session, received),
          )
          .catch((error) => this.#service.logError(error, session.id));
      },
    };
  }

  async #resolveRecipient(address: string, session: SMTPServerSession): Promise<void> {
    const found = await this.#parts.reports.resolveAddress(address);
    if (found) {
      this.#reportAddresses.get(session)?.set(address.toLowerCase(), found);
      return;
    }
    this.#metrics.recipientRefused();
    // RFC 5321 4.5.1 wants mail to these read by a person, and no person reads mail here.
    const forPeople = /^(postmaster|abuse)(@|$)/i.test(address);
    throw new SmtpReplyError(
      550,
      '5.1.1',
      forPeople
        ? `Nobody reads mail here: write to whoever runs ${this.#parts.baseUrl}`
        : 'There is no such mailbox. This server takes reports about its own mail, and nothing else.',
    );
  }

  /** A mailbox that is not there, and not a database that is away. */
  #countUnknownRecipient(error: unknown, session: SMTPServerSession): void {
    if (!(error instanceof SmtpReplyError)) return;
    const refusals = (this.#unknownRecipients.get(session) ?? 0) + 1;
    this.#unknownRecipients.set(session, refusals);
    if (refusals < UNKNOWN_RECIPIENTS_MAX) return;
    this.#service
      .session(session.id)
      ?.disconnect('4.7.0 Too many addresses that are none of ours.');
  }

  #acceptReport(
    stream: DataStream,
    session: SMTPServerSession,
    onReceived: () => void,
  ): Promise<string> {
    const { mailFrom } = session.envelope;
    const from = mailFrom ? mailFrom.address : '';
    const to = [...(this.#reportAddresses.get(session)?.values() ?? [])];
    return withReceivedData(
      stream,
      this.#memory.reserve('reports'),
      async (data) => {
        onReceived();
        rejectSmuggling(data);
        const outcomes = await this.#parts.reports.process(data, { from, to });
        for (const outcome of outcomes) this.#metrics.report(outcome);
        return replyForOutcomes(outcomes);
      },
      this.#limits.reportBytesKept,
    );
  }
}

/** Where several recipients fare differently, the one that needs the sender decides. */
function replyForOutcomes(outcomes: readonly ReportOutcome[]): string {
  if (outcomes.includes('retry_later')) {
    throw new SmtpReplyError(
      451,
      '4.3.0',
      'The delivery that this is about has not ended yet. Send it again later.',
    );
  }
  if (outcomes.includes('not_a_report')) {
    throw new SmtpReplyError(
      550,
      '5.7.1',
      'Only reports are taken here. Nobody would read your mail: write to the address in From or Reply-To.',
    );
  }
  return '2.0.0 Taken';
}
