import { createHash } from 'node:crypto';
import { encodeId } from '../lib/ids.ts';
import type { Log } from '../lib/log.ts';
import { type FeedbackReport, readFeedbackReport } from '../mail/reports/arf.ts';
import { isAutoReply } from '../mail/reports/auto-reply.ts';
import { readBounceReport } from '../mail/reports/bounce-report.ts';
import type { DeliveryReport } from '../mail/reports/dsn.ts';
import { type MailStructure, parseMailStructure } from '../mail/reports/mime-structure.ts';
import {
  domainPart,
  findReturnPaths,
  isComplaintsAddress,
  parseReturnPath,
  parseUnsubscribeAddress,
  type ReturnPath,
} from '../mail/return-path-address.ts';
import { recordBounces } from './record-bounces.ts';
import { recordComplaint } from './record-complaint.ts';
import type { RecordReportParts, ReportOutcome } from './report-outcome.ts';
import { findSentMessage, type SentMessage } from './report-store.ts';

/**
 * Processes bounces and complaints that arrive by mail. In come the bytes of a message and the
 * addresses it was sent to; out goes what it meant: a delivery that bounced after all, a complaint,
 * or nothing. A signed return path identifies its delivery and proves that we sent it. Nothing else
 * in a report selects a row, and a complaint without one changes nothing. A report counts once,
 * however often it arrives. Nothing is ever sent in reply.
 */

/** An address that accepts reports. */
export type ReportAddress =
  | { kind: 'return_path'; sent: SentMessage }
  | { kind: 'unsubscribe'; sent: SentMessage }
  /** `anyHost`: the return path in the complaint may have the bounce host of another cell. */
  | { kind: 'complaints'; anyHost: boolean };

export interface InboundReportsParts extends RecordReportParts {
  log: Log;
  returnPathKey: Buffer;
  bounceHost: string;
  /** The recipient of a message leaves its stream. */
  unsubscribe(sent: SentMessage): Promise<void>;
  /** Called after events were appended. */
  onEventsAppended: () => void;
}

/**
 * RFC 5965 section 7.3, and `opt-out` of its drafts. `not-spam` means the opposite, and the other
 * types are not complaints.
 */
const COMPLAINT_TYPES = new Set(['abuse', 'fraud', 'virus', 'opt-out', 'opt-out-list']);

export class InboundReports {
  readonly #parts: InboundReportsParts;

  constructor(parts: InboundReportsParts) {
    this.#parts = parts;
  }

  /**
   * Undefined: not one of our addresses, or its message is no longer stored. Throws if its workspace is
   * on its way to another installation.
   */
  resolveAddress(address: string): Promise<ReportAddress | undefined> {
    return this.#resolve(address, { anyHost: false });
  }

  /** The same for a router: the address may have the bounce host of the cell from which the mail was sent. */
  resolveRouted(address: string): Promise<ReportAddress | undefined> {
    return this.#resolve(address, { anyHost: true });
  }

  async #resolve(
    address: string,
    { anyHost }: { anyHost: boolean },
  ): Promise<ReportAddress | undefined> {
    const { returnPathKey, bounceHost } = this.#parts;
    const host = domainPart(address);
    const atBounceHost = host === bounceHost || anyHost;
    if (atBounceHost && isComplaintsAddress(address)) return { kind: 'complaints', anyHost };
    // Verified first, because it needs no database access: forged addresses must not cause queries.
    const leaving = atBounceHost ? parseUnsubscribeAddress(address, returnPathKey) : undefined;
    const path = leaving ?? parseReturnPath(address, returnPathKey);
    if (!path) return undefined;
    const sent = await this.#find(path, host, anyHost);
    return sent && { kind: leaving ? 'unsubscribe' : 'return_path', sent };
  }

  /** Returns the outcome for each address. Everything is committed when it resolves. */
  async process(
    data: Buffer,
    envelope: { from: string; to: readonly ReportAddress[] },
  ): Promise<ReportOutcome[]> {
    const mail = parseMailStructure(data);
    const feedback = readFeedbackReport(mail);
    // Anyone can write to the complaint address. Only complaints count there, so nothing else is
    // read.
    const mayBounce = envelope.to.some(({ kind }) => kind === 'return_path');
    const report = mayBounce && !feedback ? readBounceReport(mail, envelope.from) : undefined;
    const outcomes: ReportOutcome[] = [];
    for (const address of envelope.to) {
      if (address.kind === 'unsubscribe') {
        outcomes.push(await this.#unsubscribe(address.sent, mail, envelope.from));
      } else if (feedback)
        outcomes.push(await this.#recordComplaint(address, feedback, reportIdOf(mail)));
      else if (report && address.kind === 'return_path') {
        outcomes.push(...(await this.#recordBounce(address.sent, report, reportIdOf(mail))));
      } else outcomes.push(classifyOtherMail(mail, envelope.from));
    }
    if (outcomes.some((one) => one === 'bounced' || one === 'complained'))
      this.#parts.onEventsAppended();
    return outcomes;
  }

  /** Only the recipient has the address. An automatic reply is not a decision. */
  async #unsubscribe(sent: SentMessage, mail: MailStructure, from: string): Promise<ReportOutcome> {
    if (isAutoReply(mail.header)) return 'auto_reply';
    if (from === '') return 'unreadable';
    await this.#parts.unsubscribe(sent);
    this.#logOutcome(sent, ['unsubscribed']);
    return 'unsubscribed';
  }

  async #recordBounce(
    sent: SentMessage,
    report: DeliveryReport,
    id: string,
  ): Promise<ReportOutcome[]> {
    const outcomes = await recordBounces(this.#parts, sent, report, id);
    this.#logOutcome(sent, outcomes);
    return outcomes;
  }

  async #recordComplaint(
    address: ReportAddress,
    feedback: FeedbackReport,
    id: string,
  ): Promise<ReportOutcome> {
    if (!COMPLAINT_TYPES.has(feedback.type)) return 'feedback';
    const sent =
      address.kind === 'complaints'
        ? await this.#findByReturnPath(feedback.returned, address)
        : address.sent;
    if (!sent) return 'unverified';
    const outcome = await recordComplaint(this.#parts, sent, feedback, id);
    this.#logOutcome(sent, [outcome]);
    return outcome;
  }

  /** The message whose return path occurs in what the provider returned. */
  async #findByReturnPath(
    returned: string,
    { anyHost }: { anyHost: boolean },
  ): Promise<SentMessage | undefined> {
    for (const { host, ...path } of findReturnPaths(returned, this.#parts.returnPathKey)) {
      const sent = await this.#find(path, host, anyHost);
      if (sent) return sent;
    }
    return undefined;
  }

  #find(path: ReturnPath, host: string, anyHost: boolean): Promise<SentMessage | undefined> {
    const { pool, bounceHost } = this.#parts;
    return findSentMessage(pool, path, host === bounceHost ? undefined : host, { anyHost });
  }

  #logOutcome({ messageId }: SentMessage, outcomes: readonly ReportOutcome[]): void {
    this.#parts.log.debug({ message: encodeId('msg', messageId), outcomes }, 'report processed');
  }
}

function classifyOtherMail(mail: MailStructure, from: string): ReportOutcome {
  if (isAutoReply(mail.header)) return 'auto_reply';
  // Read receipts are reports too, but we never request them.
  const isReport = mail.type.name === 'multipart/report';
  return from === '' || isReport ? 'unreadable' : 'not_a_report';
}

/**
 * Servers on the way may add header fields, but they change neither the Message-ID nor the report
 * itself.
 */
function reportIdOf(mail: MailStructure): string {
  const [report] = mail.parts.filter(({ type }) => /^message\/.*(status|report)$/.test(type.name));
  return createHash('sha256')
    .update(mail.header.get('message-id') ?? '')
    .update('\0')
    .update(report?.body ?? mail.parts[0]?.body ?? '')
    .digest('hex')
    .slice(0, 32);
}
