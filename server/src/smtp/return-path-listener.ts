import type { AddressInfo, Socket } from 'node:net';
import type { Registry } from 'prom-client';
import type { ReportOutcome } from '../bounces/report-outcome.ts';
import type { InboundOutcome } from '../inbound/inbound-receiver.ts';
import type { MailClient } from '../inbound/received-header.ts';
import { MemoryBudget } from '../lib/memory/memory-budget.ts';
import { REPORT_BYTES_KEPT } from '../mail/reports/report-beginning.ts';
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
 * The listener for what other mail servers deliver to us as to any MX (RFC 5321): bounces and complaints,
 * and mail for the domains of workspaces. There is no authentication and no relaying: a recipient is a
 * return path that we issued, the complaint address, or an address at a domain for which receiving is on,
 * and every other recipient is rejected. `250` to the final dot means that everything is committed; if it
 * cannot be, the sender is asked to retry.
 */

/** What processes the mail: this node, or the cells behind a router. */
export interface MailReceiver<Address> {
  /** Undefined if no mail is accepted for the address. */
  resolveAddress(address: string): Promise<Address | undefined>;
  /**
   * Who shares the memory for a mail to these addresses; undefined if they need only the beginning of
   * it, as reports do, whose status and headers precede the returned mail.
   */
  ownerOfWhole(to: readonly Address[]): string | undefined;
  /** Everything is committed when it resolves. */
  process(data: Buffer, envelope: MailEnvelope<Address>): Promise<MailOutcomes>;
}

export interface MailEnvelope<Address> {
  from: string;
  to: readonly Address[];
  client: MailClient;
}

export interface MailOutcomes {
  reports: readonly ReportOutcome[];
  inbound: readonly InboundOutcome[];
}

export interface ReturnPathListenerParts<Address> extends Omit<SmtpServiceParts, 'label'> {
  registry: Registry;
  receiver: MailReceiver<Address>;
  /** The host name in the greeting. */
  hostname: string;
  /** Where a person can find the operator. */
  baseUrl: string;
  certificate: CertificateFiles | undefined;
  /** The largest mail we send: some servers return all of it. Inbound mail can have the same size. */
  sentBytesMax: number;
  limits?: Partial<ReturnPathLimits>;
}

export interface ReturnPathLimits extends SessionTimeouts {
  /** Only the beginning of a report is kept. */
  reportBytesKept: number;
  /** Memory limit for all mail that is being received. */
  memoryBytesMax: number;
}

const RETURN_PATH_LIMITS: ReturnPathLimits = {
  handshakeMs: 20_000,
  dataMs: 300_000,
  sessionMs: 900_000,
  idleMs: 120_000,
  reportBytesKept: REPORT_BYTES_KEPT,
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
        acceptMail: (data: MessageData, envelope: MailEnvelope<Address>) =>
          this.#acceptMail(data, envelope),
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
    const found = await this.#parts.receiver.resolveAddress(address);
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
        : 'Unknown mailbox.',
    );
  }

  #acceptMail(data: MessageData, envelope: MailEnvelope<Address>): Promise<string> {
    const { receiver } = this.#parts;
    const owner = receiver.ownerOfWhole(envelope.to);
    return withReceivedData(
      data,
      this.#memory.reserve(owner ?? 'reports'),
      async (bytes) => {
        rejectSmuggling(data);
        const outcomes = await receiver.process(bytes, envelope);
        for (const outcome of outcomes.reports) this.#metrics.report(outcome);
        for (const outcome of outcomes.inbound) this.#metrics.inbound(outcome);
        return replyForOutcomes(outcomes);
      },
      owner === undefined ? this.#limits.reportBytesKept : undefined,
    );
  }
}

interface ReturnPathRules<Address> extends SessionRules {
  handlers: {
    /** Rejects when the address is not one of ours. */
    resolveRecipient(address: string): Promise<Address>;
    acceptMail(data: MessageData, envelope: MailEnvelope<Address>): Promise<string>;
  };
}

class ReturnPathSession<Address> extends SmtpSession {
  readonly #rules: ReturnPathRules<Address>;
  /** The recipients of the current mail, by the address as given. */
  readonly #recipients = new Map<string, Address>();
  #unknownRecipients = 0;

  constructor(socket: Socket, rules: ReturnPathRules<Address>, origin: ClientOrigin) {
    super(socket, rules, origin);
    this.#rules = rules;
  }

  protected override async acceptSender(): Promise<void> {
    this.#recipients.clear();
  }

  protected override async acceptRecipient(address: string): Promise<void> {
    const found = await this.#rules.handlers.resolveRecipient(address);
    this.#recipients.set(address.toLowerCase(), found);
  }

  /** Counts unknown mailboxes only, not temporary errors such as an unavailable database. */
  protected override recipientRefused(error: unknown): void {
    if (!(error instanceof SmtpReplyError)) return;
    this.#unknownRecipients += 1;
    if (this.#unknownRecipients < UNKNOWN_RECIPIENTS_MAX) return;
    this.disconnect('4.7.0 Too many unknown recipients.');
  }

  protected override acceptMessage(data: MessageData, from: string): Promise<string> {
    return this.#rules.handlers.acceptMail(data, {
      from,
      to: [...this.#recipients.values()],
      client: { ip: this.remoteAddress, helo: this.helloName, protocol: this.protocolName },
    });
  }
}

/** When recipients differ, an outcome that the sender must act on takes precedence. */
function replyForOutcomes({ reports, inbound }: MailOutcomes): string {
  if (reports.includes('retry_later')) {
    throw new SmtpReplyError(
      451,
      '4.3.0',
      'The delivery that this report is about is still in progress. Try again later.',
    );
  }
  if (inbound.includes('throttled')) {
    const text = 'Too much mail is arriving for this domain. Try again later.';
    throw new SmtpReplyError(451, '4.3.2', text);
  }
  if (inbound.includes('over_quota')) {
    throw new SmtpReplyError(452, '4.2.2', 'The mailbox is full. Try again later.');
  }
  if (inbound.includes('loop')) {
    throw new SmtpReplyError(554, '5.4.6', 'The message has passed too many servers: mail loop.');
  }
  if (inbound.includes('malformed')) {
    throw new SmtpReplyError(554, '5.6.0', 'The message cannot be parsed.');
  }
  // With other recipients, a copy of the mail was accepted.
  if (reports.includes('not_a_report') && inbound.length === 0) {
    throw new SmtpReplyError(
      550,
      '5.7.1',
      'Only bounces and complaints are accepted here. Write to the address in From or Reply-To instead.',
    );
  }
  return '2.0.0 Accepted';
}
