import type { AddressInfo, Socket } from 'node:net';
import type { Registry } from 'prom-client';
import type { ReportOutcome } from '../bounces/report-outcome.ts';
import { MemoryBudget } from '../lib/memory-budget.ts';
import type { ClientOrigin } from './client-origin.ts';
import { SmtpReplyError } from './error-replies.ts';
import type { MessageData } from './message-data.ts';
import { rejectSmuggling, withReceivedData } from './receive-data.ts';
import {
  createReturnPathMetrics,
  createSmtpServiceMetrics,
  type ReturnPathMetrics,
} from './smtp-metrics.ts';
import { type ListenAddress, SmtpService, type SmtpServiceParts } from './smtp-service.ts';
import { type SessionRules, type SessionTimeouts, SmtpSession } from './smtp-session.ts';
import { type Certificate, type CertificateFiles, readCertificate } from './tls-certificate.ts';

/**
 * The listener for bounces and complaints, which other mail servers deliver here as to any MX (RFC
 * 5321). There is no authentication and no relaying: a recipient is either a return path that we
 * issued or the complaint address, and every other recipient is rejected. `250` to the final dot
 * means that the report is committed; if it cannot be, the sender is asked to retry.
 */

/** What processes the reports: this node, or the cells behind a router. */
export interface ReportReceiver<Address> {
  /** Undefined if the address is not one of ours. */
  resolveAddress(address: string): Promise<Address | undefined>;
  /** Everything is committed when it resolves. */
  process(
    data: Buffer,
    envelope: { from: string; to: readonly Address[] },
  ): Promise<ReportOutcome[]>;
}

export interface ReturnPathListenerParts<Address> extends Omit<SmtpServiceParts, 'label'> {
  registry: Registry;
  reports: ReportReceiver<Address>;
  /** The host name in the greeting. */
  hostname: string;
  /** Where a person can find the operator. */
  baseUrl: string;
  certificate: CertificateFiles | undefined;
  /** The largest mail we send: some servers return all of it. */
  sentBytesMax: number;
  limits?: Partial<ReturnPathLimits>;
}

export interface ReturnPathLimits extends SessionTimeouts {
  /** Only the beginning of a report is kept: status and headers precede the returned mail. */
  reportBytesKept: number;
  /** Memory limit for all reports that are being received. */
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

/** Size that a report adds to the mail it returns. */
const REPORT_OVERHEAD_BYTES = 1024 * 1024;
/** RFC 5321 section 4.5.3.1.8. */
const RECIPIENTS_MAX = 100;
/** A client that tries more unknown addresses than this is guessing. */
const UNKNOWN_RECIPIENTS_MAX = 10;

export class ReturnPathListener<Address> {
  readonly #parts: ReturnPathListenerParts<Address>;
  readonly #limits: ReturnPathLimits;
  readonly #service: SmtpService<ReturnPathSession<Address>>;
  readonly #memory: MemoryBudget;
  readonly #metrics: ReturnPathMetrics;

  static async open<Address>(
    parts: ReturnPathListenerParts<Address>,
  ): Promise<ReturnPathListener<Address>> {
    const certificate = parts.certificate && (await readCertificate(parts.certificate));
    return new ReturnPathListener(parts, certificate);
  }

  private constructor(
    parts: ReturnPathListenerParts<Address>,
    certificate: Certificate | undefined,
  ) {
    this.#parts = parts;
    const limits = { ...RETURN_PATH_LIMITS, ...parts.limits };
    this.#limits = limits;
    this.#memory = new MemoryBudget(limits.memoryBytesMax);
    this.#metrics = createReturnPathMetrics(parts.registry);
    const settings = {
      timeouts: limits,
      hostname: parts.hostname,
      messageBytesMax: parts.sentBytesMax + REPORT_OVERHEAD_BYTES,
      recipientsMax: RECIPIENTS_MAX,
      handlers: {
        resolveRecipient: (address: string) => this.#resolveRecipient(address),
        acceptReport: (data: MessageData, from: string, to: Address[]) =>
          this.#acceptReport(data, from, to),
      },
    };
    this.#service = new SmtpService(
      { ...parts, label: 'return-path' },
      {
        handshakeMs: limits.handshakeMs,
        certificate,
        certificateFiles: parts.certificate,
        // Encryption without authentication: an old version is better than none.
        minTlsVersion: 'TLSv1',
        metrics: (connections) =>
          createSmtpServiceMetrics(parts.registry, 'return_path', 'return-path', connections),
        newSession: (rules, socket, origin) =>
          new ReturnPathSession(socket, { ...rules, ...settings }, origin),
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

  async #resolveRecipient(address: string): Promise<Address> {
    const found = await this.#parts.reports.resolveAddress(address);
    if (found) return found;
    this.#metrics.recipientRefused();
    // RFC 5321 section 4.5.1 requires postmaster mail to reach a person, which is not possible
    // here.
    const forPeople = /^(postmaster|abuse)(@|$)/i.test(address);
    throw new SmtpReplyError(
      550,
      '5.1.1',
      forPeople
        ? `This mailbox is not monitored. Contact the operator of ${this.#parts.baseUrl}`
        : 'Unknown mailbox. This server only accepts reports about its own mail.',
    );
  }

  #acceptReport(data: MessageData, from: string, to: Address[]): Promise<string> {
    return withReceivedData(
      data,
      this.#memory.reserve('reports'),
      async (bytes) => {
        rejectSmuggling(data);
        const outcomes = await this.#parts.reports.process(bytes, { from, to });
        for (const outcome of outcomes) this.#metrics.report(outcome);
        return replyForOutcomes(outcomes);
      },
      this.#limits.reportBytesKept,
    );
  }
}

interface ReturnPathRules<Address> extends SessionRules {
  handlers: {
    /** Rejects when the address is not one of ours. */
    resolveRecipient(address: string): Promise<Address>;
    acceptReport(data: MessageData, from: string, to: Address[]): Promise<string>;
  };
}

class ReturnPathSession<Address> extends SmtpSession {
  readonly #rules: ReturnPathRules<Address>;
  /** The report addresses of the current mail, by the address as given. */
  readonly #reportAddresses = new Map<string, Address>();
  #unknownRecipients = 0;

  constructor(socket: Socket, rules: ReturnPathRules<Address>, origin: ClientOrigin) {
    super(socket, rules, origin);
    this.#rules = rules;
  }

  protected override async acceptSender(): Promise<void> {
    this.#reportAddresses.clear();
  }

  protected override async acceptRecipient(address: string): Promise<void> {
    const found = await this.#rules.handlers.resolveRecipient(address);
    this.#reportAddresses.set(address.toLowerCase(), found);
  }

  /** Counts unknown mailboxes only, not temporary errors such as an unavailable database. */
  protected override recipientRefused(error: unknown): void {
    if (!(error instanceof SmtpReplyError)) return;
    this.#unknownRecipients += 1;
    if (this.#unknownRecipients < UNKNOWN_RECIPIENTS_MAX) return;
    this.disconnect('4.7.0 Too many unknown recipients.');
  }

  protected override acceptMessage(data: MessageData, from: string): Promise<string> {
    return this.#rules.handlers.acceptReport(data, from, [...this.#reportAddresses.values()]);
  }
}

/** When recipients differ, an outcome that the sender must act on takes precedence. */
function replyForOutcomes(outcomes: readonly ReportOutcome[]): string {
  if (outcomes.includes('retry_later')) {
    throw new SmtpReplyError(
      451,
      '4.3.0',
      'The delivery that this report is about is still in progress. Try again later.',
    );
  }
  if (outcomes.includes('not_a_report')) {
    throw new SmtpReplyError(
      550,
      '5.7.1',
      'Only bounces and complaints are accepted here. Write to the address in From or Reply-To instead.',
    );
  }
  return '2.0.0 Accepted';
}
